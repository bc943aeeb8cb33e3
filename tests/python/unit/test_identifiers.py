"""Names and literals: parses names that users write, and quotes names and values for Spark."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail._identifiers import Quotes, literal, parse_name, quote, quote_name, string_literal
from dovetail.errors import StatementError

PARTS = st.lists(st.text(min_size=1, max_size=8).filter(str.strip), min_size=1, max_size=4).map(tuple)


@given(PARTS)
def test_a_quoted_name_is_read_back(parts: tuple[str, ...]) -> None:
    assert parse_name(quote_name(parts)) == parts


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("t", ("t",)),
        ("db.t", ("db", "t")),
        ("cat.db.t", ("cat", "db", "t")),
        ("db.`a.b`", ("db", "a.b")),
        ("`a``b`", ("a`b",)),
        (" my-db . t ", ("my-db", "t")),
        ("parquet.`/data/x.parquet`", ("parquet", "/data/x.parquet")),
    ],
)
def test_names(name: str, parts: tuple[str, ...]) -> None:
    assert parse_name(name) == parts


@pytest.mark.parametrize("name", ["", " ", ".", "a.", ".a", "a..b", "`a", "`a`b", "a`b", "``"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(StatementError, match="not a table name"):
        parse_name(name)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's", r"'it\'s'"),
        ("a\\b", r"'a\\b'"),
        (5, "5"),
        (True, "true"),
        (None, "NULL"),
        (1.5, "1.5"),
        (Decimal("1.50"), "1.50"),
        (datetime.date(2024, 2, 29), "DATE'2024-02-29'"),
        (datetime.datetime(2024, 2, 29, 1, 2, 3), "TIMESTAMP'2024-02-29 01:02:03'"),
    ],
)
def test_literals(value: object, text: str) -> None:
    assert literal(value) == text  # type: ignore[arg-type]


def test_other_values_are_refused() -> None:
    with pytest.raises(StatementError, match="cannot be a partition value"):
        literal(["a"])  # type: ignore[arg-type]


def test_without_escapes_quotes_go_between_other_quotes() -> None:
    assert string_literal(r"a'b\c", Quotes.ADJACENT) == """'a' "'" 'b\\c'"""


def test_dovetails_own_statements_double_quotes() -> None:
    assert string_literal(r"a'b\c", Quotes.DOUBLED) == r"'a''b\c'"


def test_quote_doubles_backticks() -> None:
    assert quote("a`b") == "`a``b`"
