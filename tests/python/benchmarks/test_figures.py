"""The figures on the pages agree with the results files."""

from __future__ import annotations

import pytest

from dovetail_bench import figures
from dovetail_bench import figures_data as data

pytestmark = pytest.mark.primary


def test_pages_and_results_agree() -> None:
    assert [path.name for path in figures.stale()] == [], "run `make figures`"


def test_a_changed_number_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    page = figures.ROOT / "docs" / "benchmarks.md"
    text = page.read_text(encoding="utf-8")
    assert figures.filled(text) == text
    wrong = text.replace("| Spark | 1,", "| Spark | 2,", 1)
    assert wrong != text
    assert figures.filled(wrong) == text


def test_a_block_that_nobody_makes_is_an_error() -> None:
    with pytest.raises(KeyError, match="nonsense"):
        figures.filled("<!-- figures: nonsense -->\n<!-- /figures -->")


def test_every_miss_is_on_the_page() -> None:
    page = (figures.ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    missed = [target["target"] for _, target in data.targets() if not target["hit"]]
    assert missed
    assert page.count("**missed**") == len(missed)
