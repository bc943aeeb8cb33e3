"""The demo from scratch: data, session, statistics, queries in all modes, and the exit code."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_process import python
from rich.console import Console

from dovetail.comparison import Run
from dovetail.demo.measure import MODES, Result
from dovetail.demo.queries import NOT_IN_SPARK, SELECTION, texts
from dovetail.demo.run import exit_code
from dovetail.demo.show import LOG_WIDTH, SHORT, Show, sentence
from dovetail.errors import DovetailError


@pytest.mark.primary
@pytest.mark.slow
def test_the_demo_shows_all_modes_and_the_same_answers(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "demo.html"
    metastore = tmp_path / "metastore"
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.sql.catalogImplementation hive\nspark.sql.defaultCatalog absent\n"
        f"spark.hadoop.javax.jdo.option.ConnectionURL jdbc:derby:;databaseName={metastore};create=true\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    options = ("--scale", "0.01", "--data-dir", str(data_dir), "--queries", "q72,q3", "--page", str(page))
    done = python("-m", "dovetail", "demo", *options)
    assert done.returncode == 0, done.stderr[-5000:]
    assert "All 2 answers are the same." in done.stdout
    assert "Dovetail's joins return" in done.stdout
    assert f"Bars and join orders: {page}" in done.stdout.replace("\n", "")
    # the user's own catalogs are left alone
    assert not metastore.exists()
    # q72's written order joins inventory first; no cost model keeps this order
    q72 = next(line for line in done.stdout.splitlines() if line.startswith("q72"))
    assert re.search(r"([\d,]+ → ){2}[\d,]+ rows out of joins, order changed, same", q72)
    html = page.read_text()
    assert html.count('class="bar"') == 2 * 2 * len(MODES)
    assert html.count("inventory") >= len(MODES)


def test_the_selection_has_the_queries_of_the_main_job() -> None:
    assert {"q72", "q25"} <= set(SELECTION)
    assert 8 <= len(SELECTION) <= 10
    assert list(texts(None)) == list(SELECTION)
    assert list(texts(["q3", "q1", "Q3"])) == ["q3", "q1"]


@pytest.mark.parametrize("name", ["q100", "72", next(iter(NOT_IN_SPARK))])
def test_a_query_that_cannot_run_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(DovetailError, match=name):
        texts([name])


RAN = Run(rows=1, seconds=(1.0,), planning_ms=1, dovetail_ms=0, join_rows=1, shuffle_bytes=0, orders=("(a b)",))


def test_one_different_answer_is_a_failure() -> None:
    same = Result("q1", dict.fromkeys(MODES, RAN), ())
    assert exit_code([same, same]) == 0
    assert exit_code([same, replace(same, differences=("values",))]) == 1


@pytest.mark.parametrize(("seconds", "said"), [(SHORT / 2, True), (SHORT * 2, False)])
def test_short_queries_are_said_to_show_nothing_by_their_time(seconds: float, said: bool) -> None:
    ran = replace(RAN, seconds=(seconds,))
    assert (
        "the times do not show the effect of the order" in sentence([Result("q1", dict.fromkeys(MODES, ran), ())])
    ) == said


@pytest.mark.parametrize("width", [40, 80, LOG_WIDTH])
def test_the_table_shows_whole_figures_at_any_width(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    ran = replace(RAN, seconds=(1234.5,), join_rows=1_234_567_890, shuffle_bytes=12_345 << 20)
    shown = Show()
    shown.console = Console(width=width)
    shown.summary([Result(f"q{number}", dict.fromkeys(MODES, ran), ()) for number in (1, 2)], 1.0)
    out = capsys.readouterr().out
    # two queries in three modes
    for figure in ("1,234,567,890", "12,345.0", "1234.50"):
        assert out.count(figure) == 2 * len(MODES)
    assert "2,469,135,780" in out
    assert "…" not in out
