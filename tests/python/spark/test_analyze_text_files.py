"""analyze and advise for CSV and JSON files that are given by path, and the errors for a wrong path or format."""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm
from pathlib import Path

import pytest
from frames import assert_rows
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import dovetail
from dovetail import TableStats, _sql
from dovetail.errors import AnalyzeError, ColumnNotFoundError, NotAnalyzableError, TargetNotFoundError

# names of the columns that Spark gives to the files of a format
COLUMNS = {"csv": ("_c0", "_c1", "_c2"), "json": ("a", "b", "c")}
SALES, DAYS, SHOPS = (5000, 365, 50)


@pytest.fixture(params=["csv", "json"])
def text_format(request: pytest.FixtureRequest) -> str:
    """A format that has no statistics of its own."""
    return str(request.param)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, text_format: str) -> Iterator[Path]:
    """A star of files: sales (number, day, shop), days (day, 1), and shops (shop, 4 for one shop and 3 for the others).

    Dovetail does not read their lines while it plans, so that only analyze counts them.
    """
    for name, rows, columns in (
        ("sales", SALES, ("id AS a", f"id % {DAYS} AS b", f"id % {SHOPS} AS c")),
        ("days", DAYS, ("id AS a", "1 AS b")),
        ("shops", SHOPS, ("id AS a", "if(id = 7, 4, 3) AS b")),
    ):
        spark.range(0, rows, 1, 2).selectExpr(*columns).write.format(text_format).save(str(tmp_path / name))
    with _sql.settings(spark, {"spark.dovetail.sample.files": "false"}):
        yield tmp_path


def star(lake: Path, text_format: str) -> str:
    """The sales of one shop on all days, with the days first: without statistics, `=` seems to keep fewer rows."""
    first, second, third = COLUMNS[text_format]
    return (
        f"SELECT count(*) FROM {text_format}.`{lake}/sales` s "
        f"JOIN {text_format}.`{lake}/days` d ON s.{second} = d.{first} "
        f"JOIN {text_format}.`{lake}/shops` h ON s.{third} = h.{first} WHERE d.{second} = '1' AND h.{second} <> '3'"
    )


def inputs(spark: SparkSession, query: str) -> dict[str, tuple[float, str]]:
    """Estimated rows of the inputs of a query, after their filters, with the source of the estimate."""
    (group,) = dovetail.explain(query, spark).to_dict()["groups"]
    return {one["name"]: (one["rows"]["value"], one["rows"]["source"]) for one in group["relations"]}


def test_advise_names_the_files_and_a_join_is_reordered_by_their_statistics(
    spark: SparkSession, lake: Path, text_format: str
) -> None:
    query = star(lake, text_format)
    assert not dovetail.explain(query, spark).reordered
    assert {source for _, source in inputs(spark, query).values()} == {"size"}
    advice = dovetail.advise(spark, query)
    first, second, third = COLUMNS[text_format]
    assert {one.table: one.columns for one in advice} == {
        f"{text_format}.`file:{lake}/sales`": (second, third),
        f"{text_format}.`file:{lake}/days`": (first, second),
        f"{text_format}.`file:{lake}/shops`": (first, second),
    }
    assert all(one.state == "unknown" for one in advice)
    assert_rows(spark.sql(query), (SALES // SHOPS,))

    advice.run(spark, progress=False)
    assert inputs(spark, query) == {"s": (SALES, "dovetail"), "d": (DAYS, "dovetail"), "h": (1, "dovetail")}
    explained = dovetail.explain(query, spark)
    assert explained.reordered
    joins = explained.to_dict()["groups"][0]["after"]["joins"]
    assert (joins[0]["relations"], round(joins[0]["rows"]["value"])) == (["s", "h"], SALES // SHOPS)
    assert_rows(spark.sql(query), (SALES // SHOPS,))
    assert dovetail.advise(spark, query).tables == ()


def test_analyze_counts_the_rows_of_a_join_and_reads_only_new_files(
    spark: SparkSession, lake: Path, text_format: str
) -> None:
    first, second, third = COLUMNS[text_format]
    target = f"{text_format}.`{lake}/sales`"
    result = dovetail.analyze(spark, target, columns=[second], groups=[(second, third)], progress=False)
    assert isinstance(result, TableStats)
    assert (result.table, result.rows, result.source, result.fresh) == (target, SALES, "dovetail", True)
    assert (result[second].distinct_count, result[third].distinct_count) == (DAYS, SHOPS)
    assert result[first].source != "dovetail", "it was not asked for"
    (group,) = result.groups
    assert group.columns == (second, third)
    assert group.distinct_count == pytest.approx(lcm(DAYS, SHOPS), rel=0.05)

    dovetail.analyze(spark, f"{text_format}.`{lake}/days`", progress=False)
    joined = f"SELECT 1 FROM {target} s JOIN {text_format}.`{lake}/days` d ON s.{second} = d.{first}"
    assert dovetail.stats(spark, joined).rows == SALES

    more = spark.range(10).selectExpr("id AS a", "id AS b", "id AS c")
    more.write.mode("append").format(text_format).save(str(lake / "sales"))
    assert dovetail.stats(spark, target).fresh is False
    statement = f"DOVETAIL ANALYZE PATH {target} COLUMNS ({second})"
    answer = spark.sql(statement).select("rows", "files_read", "files_kept")
    ((rows, read, kept),) = answer.collect()
    assert rows == SALES + 10
    assert (read > 0, kept) == (True, 2)


def test_columns_that_the_files_do_not_have(spark: SparkSession, lake: Path, text_format: str) -> None:
    first, second, third = COLUMNS[text_format]
    with pytest.raises(ColumnNotFoundError, match=f"{second}x.*Columns: {first}, {second}, {third}"):
        dovetail.analyze(spark, f"{text_format}.`{lake}/sales`", columns=[f"{second}x"], progress=False)


def test_a_path_that_does_not_exist(spark: SparkSession, lake: Path, text_format: str) -> None:
    target = f"{text_format}.`{lake}/nosuch`"
    with pytest.raises(TargetNotFoundError) as caught:
        dovetail.analyze(spark, target, progress=False)
    said = str(caught.value)
    assert said.startswith(f"there are no files at '{lake}/nosuch': the path does not exist.")
    assert f"{target} must name a file or a directory that the session can read, with its scheme" in said
    # advise passes Spark's own error of a query on
    with pytest.raises(AnalysisException, match=f"{lake}/nosuch"):
        dovetail.advise(spark, f"SELECT * FROM {target}")


def test_a_format_that_does_not_exist(spark: SparkSession, lake: Path, text_format: str) -> None:
    wrong = text_format[1:] + text_format[0]
    with pytest.raises(TargetNotFoundError) as caught:
        dovetail.analyze(spark, f"{wrong}.`{lake}/sales`", progress=False)
    assert str(caught.value).startswith(f"there is no file format '{wrong}'. Did you mean {text_format}? Formats: parq")


def test_a_directory_of_another_format(spark: SparkSession, lake: Path, text_format: str) -> None:
    for wrong in ("parquet", "orc"):
        with pytest.raises(AnalyzeError) as caught:
            dovetail.analyze(spark, f"{wrong}.`{lake}/sales`", progress=False)
        assert str(caught.value) == (
            f"{wrong}.`{lake}/sales` could not be analyzed: Spark finds no {wrong} data at this path. If its files "
            f"have another format, name that one in place of {wrong}. Formats: parquet, orc, csv, json, text, avro, "
            "xml, delta."
        )
    (lake / "empty").mkdir()
    with pytest.raises(AnalyzeError, match=f"finds no {text_format} data at this path. If its files"):
        dovetail.analyze(spark, f"{text_format}.`{lake}/empty`", progress=False)


def test_lines_that_are_not_json(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("a,b\nc,d\n")
    with pytest.raises(AnalyzeError, match=r"finds no json data at this path\. If its files have another format, name"):
        dovetail.analyze(spark, f"json.`{tmp_path}/words.csv`", progress=False)


def test_binary_files_are_not_analyzed_as_text(spark: SparkSession, lake: Path, text_format: str) -> None:
    """Spark reads them as lines, and queries that read the files in their format would plan with their number."""
    path = f"{lake}/binary"
    spark.range(3000).write.parquet(path)
    with pytest.raises(NotAnalyzableError) as caught:
        dovetail.analyze(spark, f"{text_format}.`{path}`", progress=False)
    assert f"is read as {text_format}, but all of its files are named .parquet" in str(caught.value)
    assert "Analyze them as parquet.`<path>`." in str(caught.value)
    assert dovetail.stats(spark, f"parquet.`{path}`").rows == 3000
