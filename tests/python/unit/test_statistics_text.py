"""Statistics as values and as text."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dovetail import ColumnStats, DatabaseStats, PartitionStats, TableStats

ITEM = ColumnStats("i_item_sk", "int", 18000, 0, "1", "18000", 4, 4, 254, "catalog", "exact")
NAME = ColumnStats("i_name", "string", None, None, None, None, None, None, None, None, None)
TABLE = TableStats("db.item", 18000, 1_500_000, "catalog", "exact", (ITEM, NAME), (PartitionStats("p=1", None, 10),))


def test_a_table_prints_as_a_table() -> None:
    assert str(TABLE).splitlines() == [
        "db.item: 18,000 rows, 1,500,000 bytes (catalog, exact)",
        "column     type    distinct  nulls  min  max    avg len  bins  source   confidence  frequent",
        "---------  ------  --------  -----  ---  -----  -------  ----  -------  ----------  --------",
        "i_item_sk  int       18,000      0  1    18000        4   254  catalog  exact       -",
        "i_name     string         ?      ?  -    -            ?     -  -        -           -",
        "partition  rows  bytes",
        "---------  ----  -----",
        "p=1           ?     10",
    ]


def test_long_values_are_cut() -> None:
    long = ColumnStats("c", "string", 1, 0, "x\n" * 100, None, 1, 1, None, "catalog", "exact")
    assert max(map(len, str(TableStats("t", 1, 1, "catalog", "exact", (long,))).splitlines())) < 160


def test_columns_are_found_by_name() -> None:
    assert TABLE["i_item_sk"] is ITEM
    assert TABLE["I_ITEM_SK"] is ITEM
    with pytest.raises(KeyError, match="no column 'x'"):
        TABLE["x"]
    with pytest.raises(KeyError, match="the name of a column is expected, got int"):
        TABLE[0]  # type: ignore[index]
    assert list(TABLE) == list(TABLE.columns)
    assert "I_ITEM_SK" in TABLE
    assert ITEM in TABLE
    assert "x" not in TABLE
    assert 0 not in TABLE
    wide = TableStats("t", 1, 1, "catalog", "exact", tuple(replace(NAME, name=f"c{n}") for n in range(30)))
    with pytest.raises(KeyError, match="19 and 10 more"):
        wide["x"]


def test_a_name_in_another_letter_case_must_be_unambiguous() -> None:
    twice = TableStats("t", 1, 1, "catalog", "exact", (replace(NAME, name="AB"), replace(NAME, name="ab")))
    assert twice["ab"].name == "ab"
    with pytest.raises(KeyError, match="several columns that differ from 'Ab' only in letter case: AB, ab"):
        twice["Ab"]


def test_a_dictionary_is_json() -> None:
    plain = json.loads(json.dumps(TABLE.to_dict()))
    assert plain == TABLE.to_dict()
    assert plain["columns"][0]["distinct_count"] == 18000
    assert plain["partitions"] == [{"partition": "p=1", "rows": None, "size_bytes": 10}]


def test_a_database_is_its_tables() -> None:
    database = DatabaseStats("db", (TABLE,))
    assert database["db.item"] is TABLE
    assert list(database) == [TABLE]
    assert str(database).splitlines()[2].split() == ["db.item", "18,000", "1,500,000", "catalog", "exact"]
    assert database.to_dict()["tables"][0]["rows"] == 18000
    with pytest.raises(KeyError, match="no statistics of 'store'"):
        database["store"]
