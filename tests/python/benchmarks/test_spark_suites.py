"""`dovetail_bench.spark_suites`: how the files of Spark's SQL suites are read, and one of them under Dovetail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmark_process import python

from dovetail_bench import suite_files
from dovetail_bench.suite_files import INPUTS
from dovetail_bench.suite_runner import _row

MAIN = """-- a comment
--SET spark.a=1, spark.b = two
--IMPORT other.sql
--CONFIG_DIM1 spark.c=1,spark.sql.codegen.wholeStage=true
--CONFIG_DIM1 spark.c=1,spark.sql.codegen.wholeStage=false
--CONFIG_DIM1 spark.c=2
--CONFIG_DIM2 spark.d=3
SELECT * FROM a JOIN b USING (k);
SELECT 'x\\;y'
-- in between
FROM a;
--QUERY-DELIMITER-START
SELECT 1; /* ; */
SELECT 2;
--QUERY-DELIMITER-END
SELECT 3
"""


def test_rows_of_text_have_as_many_values_as_there_are_columns() -> None:
    assert _row("1.5\tNULL\ta", 3) == (1.5, None, "a")
    # a tab within a value
    assert _row("1.5\ta\tb", 2) == ("1.5\ta\tb", None)


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    """Files as in Spark's tests jar."""
    files = {
        "main.sql": MAIN,
        "other.sql": "CREATE TABLE a (k INT);\n",
        "nonansi/in.sql": "SELECT 1 WHERE 2 IN (SELECT 3);\n",
        "udf/join.sql": "SELECT udf(1) FROM a JOIN b;\n",
        "alone.sql": "SELECT 1 FROM a;\n",
    }
    for name, text in files.items():
        path = tmp_path / INPUTS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_files_with_joins_or_subqueries_are_read_as_spark_reads_them(suites: Path) -> None:
    main, nonansi = suite_files.load(suites)
    assert main.name == "main.sql"
    assert main.statements == (
        "CREATE TABLE a (k INT)",
        "SELECT * FROM a JOIN b USING (k)",
        "SELECT 'x\\;y'\nFROM a",
        "SELECT 1; /* ; */\nSELECT 2",
        "SELECT 3",
    )
    settings = {"spark.a": "1", "spark.b": "two"}
    assert main.runs == ({**settings, "spark.c": "1", "spark.d": "3"}, {**settings, "spark.c": "2", "spark.d": "3"})
    assert (nonansi.name, nonansi.runs) == ("nonansi/in.sql", ({"spark.sql.ansi.enabled": "false"},))
    assert suite_files.left_out(suites) == 1


@pytest.mark.slow
@pytest.mark.primary
@pytest.mark.usefixtures("maven")
def test_a_file_gives_the_same_with_dovetail(tmp_path: Path) -> None:
    name = "subquery/in-subquery/not-in-joins.sql"
    # one set of wrong statistics, with broadcasts and without
    options = ("--dirty", "--files", name, "--passes", "1", "2", "--processes", "1", "--results", str(tmp_path))
    run = python("-m", "dovetail_bench.spark_suites", *options)
    files = list(tmp_path.glob("*.json"))
    assert len(files) == 1, run.stderr[-5000:]
    report = json.loads(files[0].read_text())
    assert report["wrong"] == []
    complete, same, reordered = report["targets"]
    assert complete["hit"]
    assert same["hit"]
    assert "groups reordered" in reordered["target"]
    assert reordered["measured"] > 0
