"""One thing that `dovetail doctor` looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Check:
    """One thing looked at.

    Attributes:
        name: What, "java".
        status: "ok"; "warning" where it may work; "failed"; "skipped" where an earlier failure leaves nothing to look
            at.
        found: What was found.
        fix: What to do about it, empty where nothing needs to be done.
    """

    name: str
    status: Literal["ok", "warning", "failed", "skipped"]
    found: str
    fix: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain dictionary."""
        return asdict(self)
