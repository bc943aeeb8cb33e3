"""Queries whose text allows several answers, beyond ties in ORDER BY and LIMIT, with the reason.

An entry turns a difference into the verdict "open", which every report lists. The query still runs and is compared:
nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping

# (suite, query) → reason. No such query is known so far.
REASONS: Mapping[tuple[str, str], str] = {}
