"""Footers of files that Arrow wrote: rows, NULLs, bounds and distinct values from them are right or unknown."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import dovetail

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow: the files are Arrow's")

ROWS = 3000
PARTS = 3

# Options of the writer that change the content of a footer.
WRITERS: dict[str, dict[str, Any]] = {
    "default": {},
    "pages of version 2": {"data_page_version": "2.0", "compression": "zstd", "version": "2.6"},
    "no dictionaries": {"use_dictionary": False},
    "no statistics": {"write_statistics": False},
    "small row groups": {"row_group_size": 100},
    "dictionaries given up": {"dictionary_pagesize_limit": 512},
    "INT96": {"use_deprecated_int96_timestamps": True},
}


def table(start: int) -> Any:
    """ROWS / PARTS rows with the numbers from `start` on."""
    numbers = range(start, start + ROWS // PARTS)
    epoch = datetime.datetime(1969, 12, 31, 23, 0, tzinfo=datetime.timezone.utc)
    columns: dict[str, Any] = {
        "id": pa.array(numbers, pa.int64()),
        "unsigned": pa.array([4_000_000_000 + i for i in numbers], pa.uint32()),
        "tiny": pa.array([i % 200 - 100 for i in numbers], pa.int8()),
        "half": pa.array([i if i % 2 else None for i in numbers], pa.int32()),
        "price": pa.array([Decimal(i - 1500) / 4 for i in numbers], pa.decimal128(9, 2)),
        "wide": pa.array([Decimal(i - 1500) * 10**20 for i in numbers], pa.decimal128(38, 4)),
        "day": pa.array([datetime.date(1969, 6, 1) + datetime.timedelta(days=i % 400) for i in numbers], pa.date32()),
        "at": pa.array([epoch + datetime.timedelta(seconds=i) for i in numbers], pa.timestamp("us", "UTC")),
        "flag": pa.array([i % 3 == 0 for i in numbers], pa.bool_()),
        "word": pa.array([f"word {i % 50}" for i in numbers]),
        "link": pa.array(["https://" * 20 + str(i) for i in numbers]),
        "nothing": pa.nulls(len(numbers), pa.int32()),
    }
    return pa.table(columns)


@pytest.mark.parametrize("how", WRITERS)
def test_parquet(spark: SparkSession, tmp_path: Path, how: str) -> None:
    import pyarrow.parquet as pq

    for part in range(PARTS):
        pq.write_table(table(part * ROWS // PARTS), tmp_path / f"{part}.parquet", **WRITERS[how])
    pq.write_table(table(0).slice(0, 0), tmp_path / "empty.parquet", **WRITERS[how])
    check(spark, f"parquet.`{tmp_path}`", statistics=how != "no statistics")


def test_orc(spark: SparkSession, tmp_path: Path) -> None:
    orc = pytest.importorskip("pyarrow.orc")
    for part in range(PARTS):
        # Spark has no types for ORC's unsigned numbers and instants
        columns = table(part * ROWS // PARTS).drop_columns(["unsigned", "at"])
        orc.write_table(columns, str(tmp_path / f"{part}.orc"))
    check(spark, f"orc.`{tmp_path}`", statistics=True)


def check(spark: SparkSession, target: str, statistics: bool) -> None:
    found = dovetail.stats(spark, target)
    assert (found.rows, found.source) == (ROWS, "footer")
    names = [column.name for column in found.columns]
    aggregates = (f"count({n}), size(collect_set({n})), min({n}), max({n})" for n in names)
    truth = spark.sql(f"SELECT {', '.join(aggregates)} FROM {target}").head()
    assert truth is not None
    for i, name in enumerate(names):
        values, distinct, low, high = truth[4 * i : 4 * i + 4]
        column = found[name]
        said = f"{column}, of {values} values, {distinct} of them distinct, from {low} to {high}"
        assert column.null_count in (None, ROWS - values), said
        for end, told in ((low, column.min), (high, column.max)):
            assert told is None or same(end, told), said
        if statistics and name in ("id", "tiny", "half", "price", "day"):
            assert None not in (column.null_count, column.min, column.max), said
        # unknown, or right within a factor; without value ranges, the overlap of the files is unknown
        if column.distinct_count is not None:
            assert distinct / (2 if statistics else PARTS) <= column.distinct_count <= max(2 * distinct, 1), said


def same(value: Any, text: str) -> bool:
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, (int, float, Decimal)):
        return abs(float(text) - float(value)) <= 1e-9 * abs(float(value))
    if isinstance(value, datetime.datetime):
        # Spark's rows have the machine's time zone, statistics are in UTC
        return datetime.datetime.fromisoformat(text) == value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return text == str(value)
