"""Instances of a query: its text with other constants, drawn from the values of the columns they are compared with.

`constants` measures whether what Dovetail learns from a query helps the same query with other constants. Only
predicates on one column of one relation change: comparisons, BETWEEN, IN and LIKE. The given random numbers decide
everything.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dovetail._identifiers import Quotes, string_literal
from dovetail_bench.join_query import JoinQuery, Predicate

# Table and column → values of the column without NULLs, as many as the caller wants to choose from.
Values = Callable[[str, str], Sequence[Any]]

_LITERAL = re.compile(r"'(?:[^']|'')*'|(?<![\w.'])-?\d+(?:\.\d+)?(?![\w.'])")
_COLUMN = re.compile(r"(?<![\w.'])([^\W\d]\w*)\.(`[^`]+`|[^\W\d]\w*)")
_WILDCARDS = re.compile(r"[%_]")


def can_change(query: JoinQuery) -> bool:
    """Whether at least one constant of the query can change."""
    return any(_column(p) is not None for p in query.predicates)


def instance(query: JoinQuery, values: Values, chance: random.Random) -> JoinQuery:
    """The query with other constants."""
    return replace(query, predicates=tuple(_changed(query, p, values, chance) for p in query.predicates))


def _column(predicate: Predicate) -> tuple[str, str] | None:
    """Alias and column of a predicate whose constants can change; None for other predicates."""
    text = _LITERAL.sub("?", predicate.text)
    columns = {(match[1], match[2]) for match in _COLUMN.finditer(text)}
    if len(predicate.relations) != 1 or len(columns) != 1 or "?" not in text:
        return None
    return columns.pop()


def _changed(query: JoinQuery, predicate: Predicate, values: Values, chance: random.Random) -> Predicate:
    column = _column(predicate)
    known = [] if column is None else values(query.tables[column[0]], column[1])
    if not known:
        return predicate
    literals = _LITERAL.findall(predicate.text)
    drawn = [chance.choice(known) for _ in literals]
    if re.search(r"\bBETWEEN\b", predicate.text, re.IGNORECASE):
        drawn.sort()
    if re.search(r"\bLIKE\b", predicate.text, re.IGNORECASE):
        new = [_pattern(old, str(value), chance) for old, value in zip(literals, drawn, strict=True)]
    else:
        new = [_literal(old, value) for old, value in zip(literals, drawn, strict=True)]
    rest = iter(new)
    return replace(predicate, text=_LITERAL.sub(lambda _: next(rest), predicate.text))


def _literal(old: str, value: Any) -> str:
    """A value, written like the literal that it replaces."""
    return string_literal(str(value), Quotes.DOUBLED) if old.startswith("'") else str(value)


def _pattern(old: str, value: str, chance: random.Random) -> str:
    """A LIKE pattern of the shape of the old one. Its text is a piece of the value, as long as the old text."""
    body = old[1:-1].replace("''", "'")
    text = _WILDCARDS.sub("", value)
    length = len(_WILDCARDS.sub("", body))
    start = chance.randrange(max(1, len(text) - length + 1)) if body.startswith("%") else 0
    piece = text[start : start + length]
    pattern = f"{'%' if body.startswith('%') else ''}{piece}{'%' if body.endswith('%') else ''}"
    return string_literal(pattern, Quotes.DOUBLED)
