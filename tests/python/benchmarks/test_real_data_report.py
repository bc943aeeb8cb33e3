"""The page of `real_data`: means, targets, misses and failures by name."""

from __future__ import annotations

import pytest

from dovetail_bench.accuracy import EstimatePair
from dovetail_bench.real_data import main
from dovetail_bench.real_data_report import Measurement, Results, misses, targets, write_page
from dovetail_bench.report import Page


def _results(ours: dict[str, float], values: list[float], failures: dict[str, str] | None = None) -> Results:
    best = {"near": 100.0, "far": 10.0, "none": 0.0}
    dovetail = Measurement(
        "Dovetail",
        couts=ours,
        orders={q: f"({q} order)" for q in ours},
        estimates=[EstimatePair("near", "a,b", 1, v, 100) for v in values],
        failures=failures or {},
    )
    spark = Measurement("Spark", couts={"near": 200.0, "far": 20.0, "none": 0.0}, unknown=1)
    return Results(best, dict.fromkeys(best, 3), {"spark": spark, "dovetail": dovetail})


def test_targets_are_judged_by_means_and_q_errors() -> None:
    good = _results({"near": 100.0, "far": 11.0, "none": 0.0}, [100.0, 120.0])
    assert good.ratios("dovetail") == {"near": 1.0, "far": 1.1, "none": 1.0}
    assert [t["hit"] for t in targets(good, {"dovetail": 1.15})] == [True] * 7
    assert not misses(good, "dovetail")
    bad = _results({"near": 100.0, "far": 90.0, "none": 0.0}, [1.0, 1.0])
    assert [t["hit"] for t in targets(bad, {"dovetail": 1.15})] == [False] * 7
    assert [(line["query"], line["C_out / best"]) for line in misses(bad, "dovetail")] == [("far", 9.0)]


def test_a_failure_misses_every_target_and_is_named() -> None:
    failed = _results({"near": 100.0, "none": 0.0}, [100.0], {"far": "boom"})
    assert [t["hit"] for t in targets(failed, {"dovetail": 1.15})] == [False] * 7
    page = Page("real_data", "Title", "x")
    write_page(page, failed, {"dovetail": 1.15})
    text = "\n".join(page._parts)
    assert "| Dovetail | far | boom |" in text
    assert "| Spark |  | 3 | 1.59 |" in text
    assert "| far | 3 | 10 | 2.00 |  |" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engines", "oracle"], "no engine oracle; there are spark, dovetail_bare"),
        (["--max-ratio", "dovetail"], "is not ENGINE=RATIO"),
    ],
)
def test_wrong_options_are_named(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--dirty", "--tables", "x", "--queries", "y", *options])
    assert message in capsys.readouterr().err


def test_a_folder_that_is_not_there_ends_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dirty", "--tables", "/nowhere/at/all", "--queries", "y"]) == 2
    assert "no such folder" in capsys.readouterr().err
