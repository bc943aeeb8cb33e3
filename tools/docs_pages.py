"""Pages of the documentation site that are written elsewhere: the changelog, and every report in benchmarks/results.

A hook of MkDocs (mkdocs.yml). The reports keep their place, and the site always has the ones of its commit.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]

_BENCHMARKS = """# Benchmarks

Every report that is in the repository, with its method, its machine and every regression. How to run them again:
benchmarks/README.md in the repository.

"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=changelog))
    listing = _BENCHMARKS
    for report in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        text = report.read_text(encoding="utf-8")
        files.append(File.generated(config, f"results/{report.name}", content=text))
        title = next((line[2:] for line in text.splitlines() if line.startswith("# ")), report.stem)
        listing += f"* [{title}](results/{report.name}) ({report.stem})\n"
    files.append(File.generated(config, "benchmarks.md", content=listing))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Docstrings introduce examples as reStructuredText does, with two colons; the page shows one."""
    return html.replace("<p>Example::</p>", "<p>Example:</p>")
