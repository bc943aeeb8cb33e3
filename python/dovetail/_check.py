"""The result of one check of `dovetail doctor`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        name: Name of the check, e.g. "java".
        status: "ok"; "warning" if it may work; "failed"; "skipped" if an earlier failure prevents the check.
        found: What the check found.
        fix: What to do about it; empty if nothing needs to be done.
    """

    name: str
    status: Literal["ok", "warning", "failed", "skipped"]
    found: str
    fix: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The result as a plain dictionary."""
        return asdict(self)
