"""A small run of `dovetail_bench.fuzz`: generated queries return the rows of Spark and DuckDB, and plans change."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from benchmark_process import python

from dovetail_bench.fuzz_dialects import DIALECTS
from dovetail_bench.random_queries import duckdb_text
from dovetail_bench.random_tables import seeded

# Number of queries per dialect. The groupings dialect makes its joins like the shared dialect.
QUERIES = {"groupings": 25, "spark": 15}


def texts(count: int, dialect: str = "shared") -> list[str]:
    return [DIALECTS[dialect].text(seeded(f"test {i}")) for i in range(count)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_seed_gives_the_same_queries_again(dialect: str) -> None:
    assert texts(20, dialect) == texts(20, dialect)
    assert len(set(texts(20, dialect))) == 20


def test_every_kind_of_sparks_own_dialect_comes() -> None:
    everything = texts(400, "spark")
    missing = [
        name
        for name, kind in DIALECTS["spark"].features.items()
        if not any(re.search(kind, text) for text in everything)
    ]
    assert missing == []
    for words in (
        "BROADCAST(",
        "MERGE(",
        "SHUFFLE_HASH(",
        "COALESCE(1)",
        "DOVETAIL_ORDER(",
        "DOVETAIL_OFF",
        "FULL JOIN",
    ):
        assert any(words in text for text in everything), words
    assert not any(re.search(r"\b(LIMIT|RAND)\b", text) for text in everything)


def test_every_kind_of_join_and_predicate_comes() -> None:
    everything = "\n".join(texts(300))
    wanted = (
        *(f"{kind} JOIN " for kind in ("LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI", "CROSS")),
        *(
            "NOT EXISTS (",
            "NOT IN (SELECT",
            "IN (SELECT",
            " <=> ",
            " OR ",
            "IS NULL",
            "coalesce(",
            "GROUP BY",
            "UNION ALL",
        ),
    )
    assert [words for words in wanted if words not in everything] == []
    assert not re.search(r"\b(LIMIT|ORDER BY)\b", everything)


def test_what_duckdb_writes_otherwise() -> None:
    text = "t0 a LEFT SEMI JOIN t1 b ON a.k <=> b.k LEFT ANTI JOIN t2 c ON a.k = c.k LEFT JOIN t3 d ON a.k = d.k"
    expected = (
        "t0 a SEMI JOIN t1 b ON a.k IS NOT DISTINCT FROM b.k ANTI JOIN t2 c ON a.k = c.k LEFT JOIN t3 d ON a.k = d.k"
    )
    assert duckdb_text(text) == expected


@pytest.mark.primary  # on the other lines, DifferentialSuite runs generated queries
@pytest.mark.parametrize("dialect", QUERIES)
def test_no_answer_differs(tmp_path: Path, dialect: str) -> None:
    options = ("--dirty", "--dialect", dialect, "--queries", str(QUERIES[dialect]), "--results", str(tmp_path))
    run = python("-m", "dovetail_bench.fuzz", *options)
    files = list(tmp_path.glob("*.json"))
    assert len(files) == 1, run.stderr[-5000:]
    report = json.loads(files[0].read_text())
    assert report["not the same"] == []
    assert [target["target"] for target in report["targets"] if not target["hit"]] == []
    assert run.returncode == 0
