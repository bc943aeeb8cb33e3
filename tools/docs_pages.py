"""Pages of the documentation site that are written elsewhere: the changelog, and what was measured.

A hook of MkDocs (mkdocs.yml). The reports in benchmarks/results and the summary in README.md keep their place, and the
site always has those of its commit.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]

_REPORTS = """## Reports

Every report that is in the repository, with its method, its machine and every regression. How to run them again:
benchmarks/README.md in the repository.

"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=changelog))
    listing = f"# Benchmarks\n\n{_measured()}\n{_REPORTS}"
    for report in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        text = report.read_text(encoding="utf-8")
        files.append(File.generated(config, f"results/{report.name}", content=text))
        title = next((line[2:] for line in text.splitlines() if line.startswith("# ")), report.stem)
        listing += f"* [{title}](results/{report.name}) ({report.stem})\n"
    files.append(File.generated(config, "benchmarks.md", content=listing))
    return files


def _measured() -> str:
    """What the README says was measured, but for its last paragraph, which says where the reports are."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("\n## Measured\n")[1].split("\n## ")[0]
    return section.strip().rsplit("\n\n", 1)[0] + "\n"


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Docstrings introduce examples as reStructuredText does, with two colons; the page shows one."""
    return html.replace("<p>Example::</p>", "<p>Example:</p>")
