"""Adds pages to the documentation site that are stored elsewhere: the changelog, and the reports of the benchmarks.

This is a hook of MkDocs (mkdocs.yml). The reports stay in benchmarks/results; docs/benchmarks.md, which summarizes
them, gets a list of them at its end.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=changelog))
    for report in _reports():
        files.append(File.generated(config, f"results/{report.name}", content=report.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adds the list of reports to the page of the benchmarks."""
    if page.file.src_uri != "benchmarks.md":
        return markdown
    listed = "".join(f"* [{report.stem}](results/{report.name})\n" for report in _reports())
    return f"{markdown}\n## Reports\n\n{listed}"


def _reports() -> list[Path]:
    return sorted((ROOT / "benchmarks" / "results").glob("*.md"))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replaces the two colons with which docstrings introduce examples (as in reStructuredText) by one."""
    return html.replace("<p>Example::</p>", "<p>Example:</p>")
