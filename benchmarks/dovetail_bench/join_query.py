"""A join query taken apart: its relations, the predicates between them, and the text of each of its sub-plans.

Query texts are `SELECT … FROM t a, u b [JOIN v c ON …] WHERE predicate AND predicate …`, with every column qualified by
the alias of its relation. Nothing else is parsed: predicates keep their text, in any dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

from dovetail.errors import DovetailError

Relations = frozenset[str]

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<name>`[^`]+`|\"[^\"]+\"|[^\W\d]\w*)|(?P<other>\d[\w.]*|<>|[<>!=]=|\|\||::|\S))"
)
_OPENING = ("(", "case")
_CLOSING = (")", "end")
_JOINS = ("inner", "cross")
_NOT_SUPPORTED = ("left", "right", "full", "natural", "using", "semi", "anti", "lateral")
_TAIL = ("group", "having", "order", "limit", "window", "union", "intersect", "except", "offset", "qualify")
_FORM = "SELECT … FROM table alias, … WHERE predicate AND …, every column with its alias"


@dataclass(frozen=True)
class Token:
    """A word, literal or sign of the text.

    Attributes:
        word: The token in lower case; a string literal as written.
        start: Offset of its first character.
        end: Offset after its last character.
        depth: Number of parentheses and CASEs around it.
    """

    word: str
    start: int
    end: int
    depth: int


@dataclass(frozen=True)
class Predicate:
    """A conjunct.

    Attributes:
        text: Text as written.
        relations: Aliases that the conjunct names.
        columns: Both columns, as (alias, column), of an equality between two columns; else empty.
    """

    text: str
    relations: Relations
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class JoinQuery:
    """Relations and predicates of a query.

    Attributes:
        tables: Alias → table, in the order of FROM.
        predicates: Conjuncts of WHERE and ON.
    """

    tables: Mapping[str, str]
    predicates: tuple[Predicate, ...]

    @cached_property
    def relations(self) -> Relations:
        """All aliases."""
        return frozenset(self.tables)

    def sql(self, relations: Relations, select: str = "*", extra: Iterable[str] = ()) -> str:
        """Text of the sub-plan of these relations, with all predicates that name only them, and with `extra` ones."""
        sources = [table if table == a else f"{table} {a}" for a, table in self.tables.items() if a in relations]
        kept = [p.text for p in self.predicates if p.relations <= relations] + list(extra)
        return f"SELECT {select} FROM {', '.join(sources)}" + (f" WHERE {' AND '.join(kept)}" if kept else "")

    def connected_sets(self) -> list[Relations]:
        """All sets of relations that the written predicates among them connect, small sets first."""
        names = list(self.tables)
        sets = (frozenset(c) for size in range(1, len(names) + 1) for c in combinations(names, size))
        return [s for s in sets if len(self.components(s)) == 1]

    def components(self, relations: Relations, implied: bool = False) -> list[Relations]:
        """Parts of a set that the predicates among its relations connect; with `implied`, also implied equalities."""
        links = [p.relations for p in self.predicates if len(p.relations) > 1 and p.relations <= relations]
        if implied:
            links += [frozenset((a, b)) for (a, _), (b, _) in self.implied_equalities(relations)]
        parts = [frozenset((a,)) for a in self.tables if a in relations]
        for link in links:
            joined = frozenset().union(*(part for part in parts if part & link))
            parts = [part for part in parts if not part & link] + [joined]
        return parts

    def implied_equalities(self, relations: Relations) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """Equalities between columns of these relations that follow from all written equalities."""
        for members in self._classes:
            inside = [column for column in members if column[0] in relations]
            yield from pairwise(inside)

    @cached_property
    def _classes(self) -> list[list[tuple[str, str]]]:
        """Classes of columns that are equal in every row of the answer."""
        classes: list[list[tuple[str, str]]] = []
        for predicate in self.predicates:
            if predicate.columns:
                touched = [c for c in classes if any(column in c for column in predicate.columns)]
                merged = dict.fromkeys([column for c in touched for column in c] + list(predicate.columns))
                classes = [c for c in classes if c not in touched] + [list(merged)]
        return classes


def parse(sql: str) -> JoinQuery:
    """Parses the text of a query.

    Raises:
        DovetailError: The text has another form.
    """
    tokens = _tokens(sql)
    outer = [t for t in tokens if t.depth == 0]
    for token in outer:
        if token.word in (*_NOT_SUPPORTED, *_TAIL):
            raise DovetailError(f"{token.word.upper()} is not supported; a query is {_FORM}: {sql}")
    start = next((t for t in outer if t.word == "from"), None)
    if start is None:
        raise DovetailError(f"no FROM; a query is {_FORM}: {sql}")
    where = next((t for t in outer if t.word == "where"), None)
    body = [t for t in tokens if t.start >= start.end and (where is None or t.end <= where.start)]
    tables: dict[str, str] = {}
    conditions = []
    for part in _split(body, (",", "join", *_JOINS)):
        source, *on = _split(part, ("on",))
        table, alias = _source(sql, source)
        if alias in tables:
            raise DovetailError(f"alias {alias} is there twice: {sql}")
        tables[alias] = table
        conditions += on
    if where is not None:
        conditions.append([t for t in tokens if t.start >= where.end])
    conjuncts = [c for condition in conditions for c in _conjuncts(sql, condition)]
    return JoinQuery(tables, tuple(_predicate(sql, c, tables) for c in conjuncts))


def _tokens(sql: str) -> list[Token]:
    found, depth = [], 0
    text = sql.rstrip().rstrip(";")
    for match in _TOKEN.finditer(text):
        literal = match["text"]
        word = literal or (match["name"] or match["other"]).lower()
        depth -= word in _CLOSING
        start = match.end() - len(match.group().lstrip())
        found.append(Token(word, start, match.end(), depth))
        depth += word in _OPENING
    return found


def _split(tokens: Sequence[Token], separators: Sequence[str]) -> list[list[Token]]:
    """Parts between separators outside of parentheses, without empty parts."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.depth == 0 and token.word in separators:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _source(sql: str, tokens: Sequence[Token]) -> tuple[str, str]:
    words = [sql[t.start : t.end] for t in tokens if t.word != "as"]
    if not 1 <= len(words) <= 2 or any(t.word in ("(", ".") for t in tokens):
        raise DovetailError(f"FROM takes `table` or `table alias`, not {' '.join(words)!r}: {sql}")
    return words[0], words[-1]


def _conjuncts(sql: str, tokens: Sequence[Token]) -> Iterator[list[Token]]:
    part: list[Token] = []
    between = False
    for token in tokens:
        if token.depth == 0 and token.word == "or":
            raise DovetailError(f"put an OR of WHERE into parentheses: {sql}")
        if token.depth == 0 and token.word == "and" and not between:
            yield part
            part = []
            continue
        if token.depth == 0 and token.word in ("between", "and"):
            between = token.word == "between"
        part.append(token)
    yield part


def _predicate(sql: str, tokens: Sequence[Token], tables: Mapping[str, str]) -> Predicate:
    aliases = {alias.lower(): alias for alias in tables}
    if not tokens:
        raise DovetailError(f"a predicate is missing next to an AND: {sql}")
    named = [aliases.get(t.word.strip('`"').lower(), "") for t in tokens]
    used = [a for a, after in zip(named, tokens[1:], strict=False) if a and after.word == "."]
    text = sql[tokens[0].start : tokens[-1].end]
    if not used:
        raise DovetailError(f"{text!r} names no alias of {', '.join(tables)}; a query is {_FORM}: {sql}")
    words = [t.word.strip('`"').lower() for t in tokens]
    if len(words) == 7 and words[1] == words[5] == "." and words[3] == "=" and named[0] and named[4]:
        return Predicate(text, frozenset(used), ((named[0], words[2]), (named[4], words[6])))
    return Predicate(text, frozenset(used))
