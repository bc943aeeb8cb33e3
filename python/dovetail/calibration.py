"""`calibrate`: measures the constants of the cost model on the session's cluster (`DOVETAIL CALIBRATE`)."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dovetail import _sql
from dovetail._table_text import table_text
from dovetail.errors import StatementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEWEST_ROWS = 100_000
"""Smallest input that can be measured, in rows: the time of a task is counted in milliseconds."""

MOST_ROWS = 1_000_000_000
"""Largest input, in rows: more take hours and measure the same."""


@dataclass(frozen=True)
class CostConstant:
    """One constant of the cost model, in nanoseconds of one core.

    Attributes:
        name: Name of the constant in `spark.dovetail.cost.constants`.
        default: The built-in value.
        measured: The measured value; None if it was not measured, or if the measurement was lost in noise.
        used: The value that prices plans: the measured value, limited to a factor of ten from the default.
    """

    name: str
    default: float
    measured: float | None
    used: float


@dataclass(frozen=True)
class Calibration:
    """The constants of the cost model on a cluster. `print` shows them."""

    constants: tuple[CostConstant, ...]

    def __iter__(self) -> Iterator[CostConstant]:
        return iter(self.constants)

    def to_conf(self) -> dict[str, str]:
        """The constants as a setting, for clusters that do not share the statistics store."""
        values = ", ".join(f"{one.name}={one.used:g}" for one in self.constants)
        return {"spark.dovetail.cost.constants": values}

    def to_dict(self) -> dict[str, Any]:
        """The constants as plain dictionaries, lists, strings and numbers (JSON-ready)."""
        return {"constants": [asdict(one) for one in self.constants]}

    def __str__(self) -> str:
        cells = [
            (one.name, f"{one.default:g}", None if one.measured is None else f"{one.measured:.2f}", f"{one.used:.2f}")
            for one in self.constants
        ]
        return table_text(("constant, ns", "default", "measured", "used"), cells, right={1, 2, 3})


def calibrate(spark: SparkSession, rows: int | None = None, reset: bool = False) -> Calibration:
    """Measures the constants of the cost model with a few small queries, and stores them with the statistics.

    Calibration is optional. Only the ratios of the constants decide which plan is chosen, and these differ little
    between clusters unless a network or disk is much slower than usual. The measurement takes about one minute on two
    cores.

    Args:
        spark: A session with Dovetail.
        rows: Rows of the larger inputs, from 100,000 to a billion; default: 2 million.
        reset: Restore the built-in constants without a measurement.

    Raises:
        StatementError: `rows` is no whole number, or too small or too large, or given together with `reset`.
        NotEnabledError: The session does not have Dovetail.
    """
    if rows is not None:
        try:
            # numpy's whole numbers, too
            count = operator.index(rows)
        except TypeError:
            count = 0
        if reset or not FEWEST_ROWS <= count <= MOST_ROWS:
            raise StatementError(
                f"rows={rows!r} is not allowed: give a whole number from {FEWEST_ROWS:,} to {MOST_ROWS:,}, without "
                "reset. More rows take hours and measure the same."
            )
    _sql.require_dovetail(spark)
    words = " RESET" if reset else "" if rows is None else f" {count} ROWS"
    found = _sql.statement_rows(spark, f"DOVETAIL CALIBRATE{words}")
    return Calibration(tuple(CostConstant(r["constant"], r["default"], r["measured"], r["used"]) for r in found))
