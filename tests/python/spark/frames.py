"""Shared by tests that compare a DataFrame, classic or Connect, with its expected rows."""

from __future__ import annotations

from typing import Any

from chispa import assert_df_equality
from pyspark.sql import DataFrame


def assert_rows(frame: DataFrame, *rows: tuple[Any, ...]) -> None:
    """Asserts that the frame has exactly these rows, in any order."""
    expected = frame.sparkSession.createDataFrame(list(rows), frame.schema)
    assert_df_equality(frame, expected, ignore_row_order=True, ignore_nullable=True)
