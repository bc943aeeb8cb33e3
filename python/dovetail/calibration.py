"""`calibrate`: measures the constants of the cost model on the session's cluster (`DOVETAIL CALIBRATE`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dovetail import _sql
from dovetail._table_text import table_text
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEWEST_ROWS = 100_000
"""Fewer rows say nothing: the time of a task is counted in milliseconds."""


@dataclass(frozen=True)
class CostConstant:
    """One constant of the cost model, in nanoseconds of one core.

    Attributes:
        name: What `spark.dovetail.cost.constants` calls it.
        default: Dovetail's own.
        measured: What was measured; None where nothing was, or it was lost in the noise.
        used: What plans are priced with: the measured one, at most ten times away from the default.
    """

    name: str
    default: float
    measured: float | None
    used: float


@dataclass(frozen=True)
class Calibration:
    """The constants of the cost model as they hold for a cluster. `print` shows them."""

    constants: tuple[CostConstant, ...]

    def __iter__(self) -> Iterator[CostConstant]:
        return iter(self.constants)

    def to_conf(self) -> dict[str, str]:
        """The constants as a setting, for clusters that do not share the store's directory."""
        values = ", ".join(f"{one.name}={one.used:g}" for one in self.constants)
        return {"spark.dovetail.cost.constants": values}

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        return {"constants": [asdict(one) for one in self.constants]}

    def __str__(self) -> str:
        cells = [
            (one.name, f"{one.default:g}", None if one.measured is None else f"{one.measured:.2f}", f"{one.used:.2f}")
            for one in self.constants
        ]
        return table_text(("constant, ns", "default", "measured", "used"), cells, right={1, 2, 3})


def calibrate(spark: SparkSession, rows: int | None = None, reset: bool = False) -> Calibration:
    """Measures the constants of the cost model with a few small queries, and keeps them beside the statistics.

    It is never needed: only the ratios of the constants decide which plan wins, and these differ little between
    clusters, unless a network or disk is far slower than others. It takes about a minute of work of two cores.

    Args:
        spark: A session with Dovetail.
        rows: Rows of the larger inputs, 100,000 or more; None is 2 million.
        reset: Measure nothing; go back to Dovetail's own constants.

    Raises:
        StatementError: `rows` is too small, or given together with `reset`.
        NotEnabledError: The session does not have Dovetail.
    """
    if rows is not None and (reset or rows < FEWEST_ROWS):
        raise StatementError(f"rows={rows} is not allowed: {FEWEST_ROWS:,} or more, and not together with reset.")
    _sql.require_dovetail(spark)
    words = " RESET" if reset else "" if rows is None else f" {rows} ROWS"
    found = _sql.rows(spark, f"DOVETAIL CALIBRATE{words}")
    return Calibration(tuple(CostConstant(r["constant"], r["default"], r["measured"], r["used"]) for r in found))
