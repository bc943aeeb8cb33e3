"""What tests share that compare a DataFrame, classic or Connect, with the rows that it has to have."""

from __future__ import annotations

from typing import Any

from chispa import assert_df_equality
from pyspark.sql import DataFrame


def assert_rows(frame: DataFrame, *rows: tuple[Any, ...]) -> None:
    """The frame has these rows, in any order, and no others."""
    expected = frame.sparkSession.createDataFrame(list(rows), frame.schema)
    assert_df_equality(frame, expected, ignore_row_order=True, ignore_nullable=True)
