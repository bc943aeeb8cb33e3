"""Writes the figures of README.md and docs from the results files: no figure in a page is typed by hand.

    python -m dovetail_bench.figures [--check]

A page marks where a figure belongs:

    <!-- figures: headlines -->
    (a table, written by this command)
    <!-- /figures -->

or within a line: `takes <!-- figures: one-pass-share -->0.23<!-- /figures --> of the time`. The names are in
`figure_blocks` and `figure_values`. Blocks do not depend on each other and may be moved, in a page or to another one.
With --check nothing is written, and the exit code is 1 where a page and its results files disagree.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from dovetail.errors import DovetailError
from dovetail_bench import figure_picture
from dovetail_bench.figure_blocks import BLOCKS
from dovetail_bench.figure_values import VALUES
from dovetail_bench.report import RESULTS
from dovetail_bench.results_files import ResultsFiles

ROOT = Path(__file__).resolve().parents[2]

_OPENING = re.compile(r"<!-- figures: (?P<name>\S+) -->")
_BLOCK = re.compile(_OPENING.pattern + r"(?P<body>.*?)<!-- /figures -->", re.DOTALL)
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def pages(root: Path) -> Iterator[Path]:
    """The pages that may hold figures."""
    yield root / "README.md"
    yield from sorted((root / "docs").rglob("*.md"))


def rendered(page: Path, text: str, results: ResultsFiles, root: Path) -> str:
    """The text with every marked figure as the results files have it now."""
    openings = len(_OPENING.findall(_FENCE.sub("", text)))
    if openings != len(_BLOCK.findall(_FENCE.sub("", text))):
        raise DovetailError(f"{page.name}: a block of figures has no end")
    return _BLOCK.sub(lambda found: _figure(found, page, results, root), text)


def _figure(found: re.Match[str], page: Path, results: ResultsFiles, root: Path) -> str:
    name, body = found["name"], found["body"]
    if "<!-- figures:" in body:
        raise DovetailError(f"{page.name}: figures {name!r} has no end")
    opening = f"<!-- figures: {name} -->"
    if name in VALUES:
        if found.string.rfind("\n", 0, found.start()) == found.start() - 1:
            raise DovetailError(f"{page.name}: {name} begins a line, and the rest of that line would be HTML")
        return f"{opening}{VALUES[name](results)}<!-- /figures -->"
    if name == figure_picture.NAME:
        return f"{opening}\n{figure_picture.markdown(results, page, root)}\n<!-- /figures -->"
    if name not in BLOCKS:
        known = ", ".join((figure_picture.NAME, *BLOCKS, *VALUES))
        raise DovetailError(f"{page.name}: no figures {name!r}; there are {known}")
    return f"{opening}\n\n{BLOCKS[name](results)}\n\n<!-- /figures -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m dovetail_bench.figures", description=lines[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is not up to date")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are (benchmarks/results)")
    parser.add_argument("--root", type=Path, default=ROOT, help="where README.md and docs are (this clone)")
    options = parser.parse_args(arguments)
    results = ResultsFiles(options.results)
    stale = []
    try:
        for page in pages(options.root):
            text = page.read_text(encoding="utf-8")
            new = rendered(page, text, results, options.root)
            if new != text:
                stale.append(page)
                if not options.check:
                    page.write_text(new, encoding="utf-8")
        picture = options.root / figure_picture.PLACE
        if not figure_picture.up_to_date(picture, results):
            stale.append(picture)
            if not options.check:
                figure_picture.draw(picture, results)
    except DovetailError as error:
        print(error, file=sys.stderr)
        return 2
    word = "not up to date" if options.check else "written"
    for place in stale:
        print(f"{place.relative_to(options.root)}: {word}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
