"""Parses query texts into relations, predicates and sub-plans."""

from __future__ import annotations

import pytest

from dovetail.errors import DovetailError
from dovetail_bench.join_query import parse

CHAIN = (
    "SELECT count(*) FROM r a, r AS b, c "
    "WHERE a.x = b.x AND b.x = c.y AND a.z BETWEEN 1 AND 2 AND c.t = 'it''s AND b.q'"
)


def test_relations_predicates_and_texts_of_sub_plans() -> None:
    query = parse(CHAIN)
    assert query.tables == {"a": "r", "b": "r", "c": "c"}
    assert [p.text for p in query.predicates] == [
        "a.x = b.x",
        "b.x = c.y",
        "a.z BETWEEN 1 AND 2",
        "c.t = 'it''s AND b.q'",
    ]
    assert [sorted(p.relations) for p in query.predicates] == [["a", "b"], ["b", "c"], ["a"], ["c"]]
    assert query.sql(frozenset("ab")) == "SELECT * FROM r a, r b WHERE a.x = b.x AND a.z BETWEEN 1 AND 2"
    assert query.sql(frozenset("b"), "count(*)") == "SELECT count(*) FROM r b"
    assert query.sql(frozenset("c"), extra=["c.u = 1"]) == "SELECT * FROM c WHERE c.t = 'it''s AND b.q' AND c.u = 1"


def test_connected_sets_follow_written_predicates_and_implied_ones_are_known() -> None:
    query = parse(CHAIN)
    assert ["".join(sorted(s)) for s in query.connected_sets()] == ["a", "b", "c", "ab", "bc", "abc"]
    assert len(query.components(frozenset("ac"))) == 2
    assert len(query.components(frozenset("ac"), implied=True)) == 1
    assert list(query.implied_equalities(frozenset("ac"))) == [(("a", "x"), ("c", "y"))]


def test_a_predicate_over_three_relations_connects_them_only_together() -> None:
    query = parse("SELECT * FROM a, b, c WHERE a.x + b.x = c.x")
    assert ["".join(sorted(s)) for s in query.connected_sets()] == ["a", "b", "c", "abc"]


def test_joins_with_on_parentheses_case_and_quoted_names() -> None:
    query = parse(
        "select 1 from `Big` a inner join b on a.`x` = b.x and (a.y = 1 or b.y = 2) cross join c\n"
        "where case when a.z = 1 and b.z = 2 then 1 else 0 end = 1 and C.x = B.x;"
    )
    assert query.tables == {"a": "`Big`", "b": "b", "c": "c"}
    assert [sorted(p.relations) for p in query.predicates] == [["a", "b"], ["a", "b"], ["a", "b"], ["b", "c"]]
    assert [bool(p.columns) for p in query.predicates] == [True, False, False, True]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM a LEFT JOIN b ON a.x = b.x", "LEFT is not supported"),
        ("SELECT * FROM a, b WHERE a.x = b.x GROUP BY a.x", "GROUP is not supported"),
        ("SELECT * FROM a, b WHERE a.x = b.x OR a.y = 1", "put an OR"),
        ("SELECT * FROM a, b WHERE x = y", "names no alias of a, b"),
        ("SELECT * FROM a, b WHERE a.x = b.x AND", "a predicate is missing"),
        ("SELECT * FROM a, a WHERE a.x = 1", "alias a is there twice"),
        ("SELECT * FROM (SELECT 1) a, b WHERE a.x = b.x", "FROM takes"),
        ("SELECT * FROM db.a, b WHERE a.x = b.x", "FROM takes"),
        ("SELECT 1", "no FROM"),
    ],
)
def test_other_forms_are_refused_by_name(sql: str, message: str) -> None:
    with pytest.raises(DovetailError, match=message):
        parse(sql)
