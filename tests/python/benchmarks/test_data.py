"""Generated data is complete or does not exist, is kept for the next run, and fits Spark and the queries."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from dovetail.demo import data as module
from dovetail.demo.data import MANIFEST, dataset
from dovetail.errors import DovetailError

SCALE = 0.01


def test_tables_are_complete_and_named_as_the_queries_name_their_columns(data_dir: Path) -> None:
    made = dataset("tpcds", SCALE, data_dir, show=False)
    assert made.directory == data_dir / "tpcds" / "sf0.01"
    assert len(made.tables) == 24
    for table in made.tables:
        files = str(made.location(table) / "*.parquet")
        assert duckdb.sql(f"SELECT count(*) FROM '{files}'").fetchall() == [(made.rows[table],)]
    columns = duckdb.sql(f"SELECT * FROM '{made.location('customer')}/*.parquet' LIMIT 0").columns
    assert "c_last_review_date" in columns
    assert "c_last_review_date_sk" not in columns


def test_the_second_call_generates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = dataset("tpch", SCALE, tmp_path, show=False)
    monkeypatch.setattr(module, "connect", lambda *_: pytest.fail("generated again"))
    assert dataset("tpch", SCALE, tmp_path, show=False) == first


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError("no space left on device")

    monkeypatch.setattr(module, "write_table", full)
    with pytest.raises(OSError, match="no space"):
        dataset("tpch", SCALE, tmp_path, show=False)
    assert list((tmp_path / "tpch").iterdir()) == []


def test_another_process_that_was_faster_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generate = module._generate

    def slower(*arguments: object) -> None:
        monkeypatch.setattr(module, "_generate", generate)
        dataset("tpch", SCALE, tmp_path, show=False)
        generate(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_generate", slower)
    assert dataset("tpch", SCALE, tmp_path, show=False).rows["region"] == 5
    assert [p.name for p in (tmp_path / "tpch").iterdir()] == ["sf0.01"]


@pytest.mark.parametrize("content", [None, "{", json.dumps({"format": 0})])
def test_a_directory_that_is_no_data_set_is_not_touched(tmp_path: Path, content: str | None) -> None:
    place = tmp_path / "tpch" / "sf0.01"
    place.mkdir(parents=True)
    if content is not None:
        (place / MANIFEST).write_text(content)
    before = sorted(place.iterdir())
    with pytest.raises(DovetailError, match="Remove it"):
        dataset("tpch", SCALE, tmp_path, show=False)
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize("scale", [0, -1, 1e6, float("nan")])
def test_a_scale_out_of_range_is_refused(tmp_path: Path, scale: float) -> None:
    with pytest.raises(DovetailError, match="not allowed"):
        dataset("tpcds", scale, tmp_path)
    assert list(tmp_path.iterdir()) == []
