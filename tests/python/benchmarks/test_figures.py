"""The figures on the pages agree with the results files."""

from __future__ import annotations

import pytest

from dovetail_bench import figures, figures_generated, figures_targets
from dovetail_bench import figures_data as data
from dovetail_bench.fuzz_dialects import DIALECTS
from dovetail_bench.fuzz_runner import DIFFERENT, NOT_ASKED, SAME, CheckResult, answers_target
from dovetail_bench.session import DOVETAIL, DOVETAIL_BARE
from dovetail_bench.times_report import late

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


def test_every_target_is_listed_and_every_miss_is_on_the_page() -> None:
    targets = [target for _, target in data.targets()]
    missed = [figures_targets.words(target) for target in targets if not target["hit"]]
    assert missed
    listed = figures_targets.FILE.read_text(encoding="utf-8")
    assert listed.count("| hit |") + listed.count("**missed**") == len(targets)
    assert listed.count("**missed**") == len(missed)
    page = (figures.ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    on_page = page.partition("<!-- figures: targets -->")[2].partition("Missed:")[2].partition("<!-- /figures -->")[0]
    assert [line.split(" | ")[1] for line in on_page.splitlines() if ": " in line] == missed


def test_pages_and_reports_have_the_same_totals() -> None:
    for suite in ("tpcds", "tpch"):
        times = data.times(suite, 10)
        told = {target["target"]: target["measured"] for target in data.load(f"times-{suite}-sf10")["targets"]}
        assert told["Dovetail: time at most 0.75 of Spark"] == pytest.approx(times.share(DOVETAIL, data.SECONDS))


def test_clearly_faster_and_slower_queries_are_counted() -> None:
    times = data.times("tpcds", 10)
    speedups = [times.speedup(query, DOVETAIL_BARE) for query in times.results.complete]
    faster, slower = times.changed(DOVETAIL_BARE)
    assert faster == sum(speedup > 1 / 0.9 for speedup in speedups)
    assert slower == sum(speedup < 1 / 1.1 for speedup in speedups)
    assert slower >= len(late(times.results, DOVETAIL_BARE)) > 0


def test_pages_name_the_measure_in_one_way() -> None:
    for page in (figures.ROOT / "README.md", figures.ROOT / "docs" / "benchmarks.md"):
        text = page.read_text(encoding="utf-8")
        assert "rows out of joins" not in text.lower()
        assert text.count("C_out") <= 1


def test_generated_queries_count_once_per_line() -> None:
    big, part, other = (
        figures_generated.Run(spark, "shared", range(first, last), 1, 1, 1, 0, "2026-11-22")
        for spark, first, last in (("4.1.4", 0, 10), ("4.1.4", 2, 5), ("3.5.9", 2, 5))
    )
    assert part.repeats(big)
    assert not big.repeats(part)
    assert not other.repeats(big)


def test_pages_say_when_their_figures_were_measured() -> None:
    times = data.times("tpcds", 10)
    table = " ".join(figures.readme_table().split())
    assert f"on {times.date} (commit {times.commit})" in table
    real = [day for name in (*data.REAL, *data.MORE_REAL) for day in data.cout_dates(name, (DOVETAIL, DOVETAIL_BARE))]
    assert f"Real data: {figures_generated.period(real)}." in table
    assert f"In runs {figures_generated.period(run.date for run in figures_generated.runs())}, " in table
    assert figures_generated.period(["2026-11-27", "2026-11-22"]) == "from 2026-11-22 to 2026-11-27"
    assert figures_generated.period(["2026-11-22", "2026-11-22"]) == "on 2026-11-22"


def test_targets_tell_answers_of_duckdb_from_those_of_spark() -> None:
    differ = [
        CheckResult(1, "SELECT 1", {}, True, 1, SAME, DIFFERENT),
        CheckResult(2, "SELECT 2", {}, True, 1, DIFFERENT, SAME),
    ]
    both = answers_target(differ, DIALECTS["shared"])
    assert both["target"].startswith("answers that differ from Spark's or DuckDB's, ")
    assert (both["measured"], both["hit"]) == ("2, of them 1 from Spark's", False)
    alone = answers_target([CheckResult(3, "SELECT 3", {}, True, 1, DIFFERENT, NOT_ASKED)], DIALECTS["spark"])
    assert alone["target"].startswith("answers that differ from Spark's, ")
    assert (alone["measured"], alone["hit"]) == (1, False)
    none = answers_target([], DIALECTS["shared"])
    assert (none["measured"], none["hit"]) == (0, True)


def test_old_results_get_the_present_name_of_the_target_for_answers() -> None:
    told = {name: target for name, target in data.targets() if target["target"].startswith("answers that differ from")}
    assert set(told) == {name for name, _ in data.targets() if name.startswith("fuzz-")}
    for name, target in told.items():
        stored = next(t for t in data.load(name)["targets"] if t["target"].startswith("answers that differ"))
        assert stored["hit"] == target["hit"]
        assert str(stored["measured"]) == str(target["measured"]).partition(", of them")[0].replace(",", "")


def test_a_table_of_a_page_is_read() -> None:
    page = "## Kinds\n\n| with | queries |\n|---|---|\n| all | 1,200 |\n\n## Next\n\n| a |\n|---|\n| b |\n"
    assert figures_generated._table(page, "Kinds") == [{"with": "all", "queries": "1,200"}]
