"""Query files: completed with true sizes, and refused with a reason if they are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dovetail.errors import DovetailError
from dovetail_bench.join_order import join, relation
from dovetail_bench.query_file import read_complete
from dovetail_bench.tables import find, views
from dovetail_bench.true_sizes import TrueSizes, main

SQL = "SELECT COUNT(*) FROM t x, t y, u WHERE x.k = y.k AND y.k = u.k AND u.v LIKE 'a%'"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """t: k = 0..9 twice, as a file; u: k = 0..4, as a folder."""
    folder = tmp_path / "tables"
    (folder / "u").mkdir(parents=True)
    duckdb.execute(f"COPY (SELECT i % 10 AS k FROM range(20) r(i)) TO '{folder}/t.parquet'")
    duckdb.execute(f"COPY (SELECT i AS k, 'a' || i AS v FROM range(5) r(i)) TO '{folder}/u/part-0.parquet'")
    return folder


def _completed(tables: Path, entries: list[dict[str, Any]]) -> tuple[Path, list[dict[str, Any]]]:
    file = tables.parent / "queries.json"
    file.write_text(json.dumps(entries))
    assert main(["--tables", str(tables), "--queries", str(file)]) == 0
    return file, json.loads(file.read_text())


def test_true_sizes_complete_a_file_that_is_then_read(tables: Path) -> None:
    file, entries = _completed(tables, [{"name": "q", "sql": SQL}])
    sizes = {"x": 20, "y": 20, "u": 5, "x,y": 40, "u,y": 10, "u,x,y": 20}
    assert entries == [
        {
            "name": "q",
            "n": 3,
            "sql": SQL,
            "true": 20,
            "cout_best": 30,
            "cout_worst_connected": 60,
            "subplans": sizes,
        }
    ]
    (query,) = read_complete(file, find(tables))
    assert query.best == 30
    with views(find(tables)) as connection:
        truth = TrueSizes(connection)
        x, y, u = map(relation, "xyu")
        # x.k = u.k is implied: an order may join by it, or have a cross product instead
        assert truth.of_order(query, join(x, u)) == 10
        assert truth.of_order(query, join(x, u, crossed=True)) == 100
        assert truth.of_order(query, join(join(x, u, crossed=True), y)) == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subplans": {}}, "true_sizes --tables DIR"),
        ({"subplans": {"x": 20}}, "subplans lacks"),
        ({"subplans": {"x,z": 20}}, "subplans names z; aliases: x, y, u"),
        ({"subplans": {"x": "many"}}, "not a number of rows"),
        ({"cout_best": 10}, "the best order by subplans has 30"),
        ({"sql": ""}, "a query without sql"),
        ({"sql": "SELECT * FROM t x, nowhere WHERE x.k = nowhere.k"}, "no table nowhere in the folder"),
        ({"sql": "SELECT * FROM t x, u"}, "no predicate connects x and u"),
        ({"sql": "SELECT * FROM t"}, "no join order"),
        ({"sql": "SELECT * FROM t NATURAL JOIN u"}, "NATURAL is not supported"),
    ],
)
def test_wrong_entries_are_named(tables: Path, change: dict[str, Any], message: str) -> None:
    file, (entry,) = _completed(tables, [{"name": "q", "sql": SQL}])
    file.write_text(json.dumps([entry | change]))
    with pytest.raises(DovetailError, match=message):
        read_complete(file, find(tables))


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "no JSON"), ("{}", "a query file is a list"), ('[{"name": "q"}]', "a query without sql")],
)
def test_wrong_files_are_named(tables: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tables.parent / "wrong.json"
    file.write_text(text)
    assert main(["--tables", str(tables), "--queries", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_wrong_folders_are_named(tables: Path, tmp_path: Path) -> None:
    with pytest.raises(DovetailError, match="no such folder"):
        find(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DovetailError, match="no table in it"):
        find(tmp_path / "empty")
    (tables / "t").mkdir()
    (tables / "t" / "part-0.parquet").touch()
    with pytest.raises(DovetailError, match="table t is there twice"):
        find(tables)


def test_two_queries_of_one_name_are_refused(tables: Path) -> None:
    file, (entry,) = _completed(tables, [{"name": "q", "sql": SQL}])
    file.write_text(json.dumps([entry, entry]))
    with pytest.raises(DovetailError, match="more than one query is called q"):
        read_complete(file, find(tables))
