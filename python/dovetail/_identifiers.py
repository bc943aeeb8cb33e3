"""Names and values as SQL text: parses names that users write, and quotes names and values for Spark."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from enum import Enum

from dovetail._error_text import files_hint
from dovetail.errors import StatementError

# Text up to a comma that is not between backticks.
_LISTED = re.compile(r"(?:`(?:[^`]|``)*`|[^,`])+")

_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")

PartitionValue = str | int | float | bool | Decimal | datetime.date | datetime.datetime | None


def parse_name(name: str) -> tuple[str, ...]:
    """Splits a table name at its dots; backticks quote a part, and a doubled backtick stands for one.

    Parts without backticks may contain any characters except dots, because users copy names from other places.

    >>> parse_name("spark_catalog.db.`a.b`"), parse_name("my-table")
    (('spark_catalog', 'db', 'a.b'), ('my-table',))

    Raises:
        StatementError: The name is not text, or has an empty part or an open backtick.
    """
    if not isinstance(name, str):
        raise StatementError(f"the name of a table is expected, got {type(name).__name__}.")
    parts: list[str] = []
    text = name.strip()
    position = 0
    while True:
        match = _PART.match(text, position)
        if match is None:
            break
        parts.append(match[1].replace("``", "`") if match[1] is not None else match[2].strip())
        position = match.end()
        if position == len(text) and all(parts):
            return tuple(parts)
        if position == len(text) or text[position] != ".":
            break
        position += 1
    if "/" in name:
        raise StatementError(f"'{name}' is not a table name.{files_hint(text)}")
    raise StatementError(
        f"'{name}' is not a table name. Expected table, database.table or catalog.database.table; "
        "parts that hold a dot go between backticks, e.g. db.`2024.sales`."
    )


def check_columns(names: str) -> None:
    """Checks a comma-separated list of column names, each with or without the name of its table.

    >>> check_columns("email, hr.people.`date of birth`")

    Raises:
        StatementError: A name has an empty part or an open backtick.
    """
    rest = _LISTED.sub("", names)
    entries = [entry for entry in _LISTED.findall(names) if entry.strip()]
    for entry in [*entries, *(["`"] if "`" in rest else [])]:
        try:
            parse_name(entry)
        except StatementError:
            raise StatementError(
                f"'{entry.strip()}' is not a column name: write column, table.column or database.table.column, with "
                "backticks around names with characters other than letters, digits and _."
            ) from None


def quote(part: str) -> str:
    """One identifier between backticks.

    >>> quote("a`b")
    '`a``b`'
    """
    return "`" + part.replace("`", "``") + "`"


def quote_name(parts: tuple[str, ...]) -> str:
    """A name of several parts, each between backticks.

    >>> quote_name(("db", "a.b"))
    '`db`.`a.b`'
    """
    return ".".join(quote(part) for part in parts)


class Quotes(Enum):
    """How a parser reads a single quote within a string literal."""

    BACKSLASH = "escaped by a backslash: Spark's default"
    ADJACENT = "between double quotes, in a literal of its own: Spark with spark.sql.parser.escapedStringLiterals"
    DOUBLED = "doubled: DuckDB"


def string_literal(text: str, style: Quotes = Quotes.BACKSLASH) -> str:
    r"""A string as a SQL literal, in the style of the parser that will read it.

    Spark replaces variables such as ${day} in the text of a statement, in literals too. The literal keeps them as they
    are, because the value may have quotes, and the reader of the string replaces them itself.

    >>> for style in Quotes:
    ...     print(string_literal("O'Neil ${day}", style))
    'O\'Neil \u0024{day}'
    'O' "'" 'Neil $' '{day}'
    'O''Neil ${day}'
    """
    if style is Quotes.BACKSLASH:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{") + "'"
    if style is Quotes.DOUBLED:
        return "'" + text.replace("'", "''") + "'"
    # Spark concatenates adjacent literals. The parser skips the character after a backslash, but keeps both.
    return "'" + _APART.sub(lambda found: _JOINED.get(found[0], found[0]), text) + "'"


_APART = re.compile(r"\\.|'|\$\{", re.DOTALL)
_JOINED = {"'": """' "'" '""", "${": "$' '{"}


def literal(value: PartitionValue, style: Quotes = Quotes.BACKSLASH) -> str:
    r"""A Python value as a SQL literal, for partition specifications; `style` as in `string_literal`.

    >>> print(literal("O'Neil"), literal(5), literal(None), literal(True))
    'O\'Neil' 5 NULL true

    Raises:
        StatementError: The value is of another type, or a number that is not finite.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (float, Decimal)) and not math.isfinite(value):
        raise StatementError(
            f"{value!r} cannot be a partition value: a number must be finite. For a partition of a floating-point "
            "column, give 'NaN', 'Infinity' or '-Infinity' as text."
        )
    if isinstance(value, (int, Decimal)):
        return str(value)
    if isinstance(value, float):
        # numpy's floats are floats whose repr is a call
        return repr(float(value))
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP'{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE'{value.isoformat()}'"
    if isinstance(value, str):
        return string_literal(value, style)
    raise StatementError(
        f"{value!r} cannot be a partition value. Allowed: str, int, float, bool, Decimal, date, datetime, and None for "
        "the NULL partition."
    )
