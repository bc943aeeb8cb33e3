"""Names and literals: parses names that users write, and quotes names and values for Spark."""

from __future__ import annotations

import datetime
import re
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


@pytest.mark.parametrize("value", [["a"], float("nan"), float("-inf"), Decimal("NaN")])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(StatementError, match=rf"^{re.escape(repr(value))} cannot be a partition value"):
        literal(value)  # type: ignore[arg-type]


def test_a_float_of_numpy_is_a_number() -> None:
    class Float64(float):
        def __repr__(self) -> str:
            return f"np.float64({float(self)!r})"

    assert literal(Float64(1.5)) == "1.5"


@pytest.mark.parametrize("name", ["../sales.db/x", "./sales"])
def test_a_path_that_is_no_name_is_told_how_to_write_it(name: str) -> None:
    with pytest.raises(StatementError, match=rf"not a table name\. Files are named with .*: parquet\.`{name}`"):
        parse_name(name)


def test_without_escapes_quotes_go_between_other_quotes() -> None:
    assert string_literal(r"a'b\c", Quotes.ADJACENT) == """'a' "'" 'b\\c'"""


def test_without_escapes_a_quote_behind_a_backslash_stays_in_its_literal() -> None:
    # the parser skips the quote, and keeps both characters
    assert string_literal(r"SELECT 'O\'Neil'", Quotes.ADJACENT) == r"""'SELECT ' "'" 'O\'Neil' "'" ''"""


def test_dovetails_own_statements_double_quotes() -> None:
    assert string_literal(r"a'b\c", Quotes.DOUBLED) == r"'a''b\c'"


def test_quote_doubles_backticks() -> None:
    assert quote("a`b") == "`a``b`"
