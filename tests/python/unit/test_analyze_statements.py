"""The statements of both modes of analyze: every variant of Spark's and Dovetail's grammar, and refused arguments."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dovetail import _analyze_target
from dovetail._analyze_dovetail import DovetailPass
from dovetail._analyze_mode import TOGGLE_KEY, Mode, Request
from dovetail._analyze_spark import SparkAnalyze
from dovetail._analyze_target import Table
from dovetail._sql import ESCAPED_LITERALS_KEY
from dovetail.errors import ColumnNotFoundError, NotAnalyzableError, PartitionNotFoundError, TargetNotFoundError

COLUMNS = {
    "id": "bigint",
    "Name": "string",
    "a.b": "decimal(7,2)",
    "tags": "array<string>",
    "year": "int",
    "month": "string",
}
SALES = Table(("db", "sales"), COLUMNS, ("year", "month"))
PLAIN = Table(("t",), {"id": "int"}, ())
FILES = Table(("parquet", "/data/x"), {}, (), kind="path", label="parquet.`/data/x`")


def made(mode: Mode, table: Table, **arguments: Any) -> list[str]:
    every = {"columns": None, "partitions": None, "histogram": None, "noscan": False, **arguments}
    request = Request.of(**every)
    mode.check(request)
    mode.refuse(table, request)
    return [statement.sql for statement in mode.statements(table, request)]


def statements(table: Table = SALES, **arguments: Any) -> list[str]:
    return made(SparkAnalyze(), table, **arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "COMPUTE STATISTICS"),
        ({"noscan": True}, "COMPUTE STATISTICS NOSCAN"),
        ({"columns": ["id", "Name"]}, "COMPUTE STATISTICS FOR COLUMNS `id`, `Name`"),
        ({"columns": ["a.b", "NAME", "name"]}, "COMPUTE STATISTICS FOR COLUMNS `a.b`, `Name`"),
        ({"columns": "id"}, "COMPUTE STATISTICS FOR COLUMNS `id`"),
        ({"partitions": {"year": 2024}}, "PARTITION (`year` = 2024) COMPUTE STATISTICS"),
        (
            {"partitions": {"MONTH": "m'1", "year": 2024}},
            r"PARTITION (`year` = 2024, `month` = 'm\'1') COMPUTE STATISTICS",
        ),
        ({"partitions": {"year": None}, "noscan": True}, "PARTITION (`year` = NULL) COMPUTE STATISTICS NOSCAN"),
        ({"partitions": "all"}, "PARTITION (`year`, `month`) COMPUTE STATISTICS"),
    ],
)
def test_variants(arguments: dict[str, Any], expected: str) -> None:
    assert statements(**arguments) == [f"ANALYZE TABLE `db`.`sales` {expected}"]


def test_several_partitions_are_several_statements() -> None:
    assert statements(partitions=[{"year": 2023}, {"year": 2024}]) == [
        "ANALYZE TABLE `db`.`sales` PARTITION (`year` = 2023) COMPUTE STATISTICS",
        "ANALYZE TABLE `db`.`sales` PARTITION (`year` = 2024) COMPUTE STATISTICS",
    ]


def test_all_columns() -> None:
    assert statements(PLAIN, columns="all") == ["ANALYZE TABLE `t` COMPUTE STATISTICS FOR ALL COLUMNS"]


def test_all_columns_names_them_where_some_would_fail_the_statement() -> None:
    (statement,) = statements(columns="all")
    assert statement.endswith("FOR COLUMNS `id`, `Name`, `a.b`, `year`, `month`")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"columns": ["id"], "partitions": {"year": 1}}, "Spark has no column statistics per partition"),
        ({"columns": "all", "partitions": "all"}, "ignore the partitions"),
        ({"columns": ["id"], "noscan": True}, "need a scan"),
        ({"histogram": True}, "histogram=True needs columns"),
        ({"histogram": True, "partitions": "all"}, "histogram=True needs columns"),
        ({"columns": []}, "at least one name"),
        ({"columns": [1]}, "not understood"),
        ({"partitions": {}}, "not understood"),
        ({"partitions": []}, "not understood"),
        ({"partitions": "year=2024"}, "not understood"),
        ({"partitions": ["year"]}, "not understood"),
        ({"partitions": {"year": None}}, "does not count its rows.*partitions='all'"),
    ],
)
def test_what_spark_does_not_have_is_refused(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(NotAnalyzableError, match=reason):
        statements(**arguments)


def test_histogram_false_needs_no_columns() -> None:
    assert statements(histogram=False) == ["ANALYZE TABLE `db`.`sales` COMPUTE STATISTICS"]


def test_a_wrong_column_lists_columns_and_near_ones() -> None:
    with pytest.raises(ColumnNotFoundError) as raised:
        statements(columns=["id", "nane"])
    expected = "table db.sales has no column 'nane'. Did you mean Name? Columns: id, Name, a.b, tags, year, month."
    assert str(raised.value) == expected


def test_letter_case_counts_where_the_session_says_so() -> None:
    strict = Table(SALES.parts, COLUMNS, SALES.partition_columns, case_sensitive=True)
    with pytest.raises(ColumnNotFoundError, match="Did you mean Name"):
        statements(strict, columns=["name"])


def test_a_column_of_a_type_without_statistics_is_refused() -> None:
    with pytest.raises(ColumnNotFoundError, match=r"types: tags \(array<string>\).*can be analyzed: id, Name"):
        statements(columns=["id", "tags"])


@pytest.mark.parametrize(
    ("partitions", "reason"),
    [
        ({"yaer": 1}, r"not partitioned by 'yaer'\. Did you mean year\? Partition columns: year, month"),
        ({"month": "m1"}, r"without a gap.*Give also year\."),
    ],
)
def test_a_wrong_partition_lists_the_partition_columns(partitions: Any, reason: str) -> None:
    with pytest.raises(PartitionNotFoundError, match=reason):
        statements(partitions=partitions)


@pytest.mark.parametrize("partitions", ["all", {"id": 1}])
def test_partitions_of_a_table_without(partitions: Any) -> None:
    with pytest.raises(PartitionNotFoundError, match="t is not partitioned"):
        statements(PLAIN, partitions=partitions)


@pytest.mark.parametrize(
    ("table", "arguments", "expected"),
    [
        (SALES, {}, ["TABLE `db`.`sales`"]),
        (SALES, {"columns": "all", "partitions": "all", "histogram": True}, ["TABLE `db`.`sales`"]),
        (SALES, {"columns": ["id", "NAME"]}, ["TABLE `db`.`sales` COLUMNS (`id`, `NAME`)"]),
        (SALES, {"groups": [["id", "a.b"]]}, ["TABLE `db`.`sales` GROUPS ((`id`, `a.b`))"]),
        (
            SALES,
            {"partitions": [{"MONTH": None}, {"year": 2024}]},
            ["TABLE `db`.`sales` PARTITION (`month` = NULL)", "TABLE `db`.`sales` PARTITION (`year` = 2024)"],
        ),
        (
            FILES,
            {"columns": ["x"], "groups": [["x", "y"]]},
            ["PATH `parquet`.`/data/x` COLUMNS (`x`) GROUPS ((`x`, `y`))"],
        ),
        (FILES, {"partitions": {"p": "it's"}}, [r"PATH `parquet`.`/data/x` PARTITION (`p` = 'it\'s')"]),
    ],
)
def test_statements_of_the_one_pass(table: Table, arguments: dict[str, Any], expected: list[str]) -> None:
    assert made(DovetailPass(), table, **arguments) == [f"DOVETAIL ANALYZE {words}" for words in expected]


@pytest.mark.parametrize("histogram", [True, False, None])
def test_the_pass_collects_quantiles_as_asked_for_this_call(histogram: bool | None) -> None:
    request = Request(histogram=histogram)
    expected = {} if histogram is None else {TOGGLE_KEY: str(histogram).lower()}
    assert DovetailPass().settings(None, request) == expected  # type: ignore[arg-type]


class Column:
    """Behaves as a Column of pyspark where it is compared or iterated."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise ValueError("cannot convert a column into bool")

    def __iter__(self) -> Any:
        raise TypeError("Column is not iterable")


@pytest.mark.parametrize(
    "arguments",
    [
        {"columns": Column()},
        {"columns": [Column()]},
        {"partitions": Column()},
        {"partitions": 2024},
        {"partitions": {5: 1}},
        {"groups": None},
        {"groups": 5},
        {"groups": "ab"},
        {"groups": [5]},
        {"groups": [["a", 5]]},
        {"groups": ["ab"]},
    ],
    ids=str,
)
def test_arguments_of_other_types_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(NotAnalyzableError, match=f"{next(iter(arguments))}=.* is not understood: pass"):
        made(DovetailPass(), PLAIN, **arguments)


class Nothing:
    """A session whose catalog has no table and no database."""

    def __init__(self) -> None:
        self.conf = {ESCAPED_LITERALS_KEY: "false"}


def test_files_of_a_path_without_a_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(spark: object, parts: tuple[str, ...]) -> Table:
        raise TargetNotFoundError(f"there is no {'.'.join(parts)}")

    monkeypatch.setattr(_analyze_target, "table", missing)
    monkeypatch.setattr(_analyze_target, "database", missing)
    spark: Any = Nothing()
    with _analyze_target.resolved(spark, "Parquet.`sales.parquet`") as found:
        assert made(DovetailPass(), found) == ["DOVETAIL ANALYZE PATH `Parquet`.`sales.parquet`"]  # type: ignore[arg-type]
    with pytest.raises(TargetNotFoundError), _analyze_target.resolved(spark, "sales.parquet"):
        pass


def test_a_frame_is_analyzed_in_its_own_session() -> None:
    own, other, frame = (SimpleNamespace() for _ in range(3))
    frame.sparkSession, frame.createOrReplaceTempView = own, None
    assert _analyze_target.session_of(other, frame) is own  # type: ignore[arg-type, comparison-overlap]
    assert _analyze_target.session_of(other, "t") is other  # type: ignore[arg-type, comparison-overlap]
