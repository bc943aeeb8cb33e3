"""Queries whose text leaves the answer open beyond ties in ORDER BY and LIMIT, with the reason.

An entry turns a difference into the verdict "open", which every report lists. The query is run and compared all the
same: nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping

# (suite, query) → reason. None found so far.
REASONS: Mapping[tuple[str, str], str] = {}
