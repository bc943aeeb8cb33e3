"""Parts of error messages: lists of names, and what is told about an argument of a wrong type."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Advice, TableAdvice, _sql
from dovetail._error_text import did_you_mean, got, listing
from dovetail._query import query_text
from dovetail.errors import StatementError


def frame_of(module: str) -> Any:
    """A DataFrame of another library."""
    return type("DataFrame", (), {"__module__": module})()


def test_lists_in_errors_are_short() -> None:
    assert listing(str(n) for n in range(30)).endswith("18, 19 and 10 more")
    assert did_you_mean("STORE", ["store", "item"]) == " Did you mean store?"


@pytest.mark.parametrize(
    ("module", "advice"),
    [
        ("pandas.core.frame", "Make a DataFrame of Spark from it: spark.createDataFrame(frame)."),
        ("polars.dataframe.frame", "Make a DataFrame of Spark from it: spark.createDataFrame(frame.to_pandas())."),
        ("pyspark.pandas.frame", "Call to_spark() on it."),
    ],
)
def test_a_frame_of_another_library_can_become_one_of_spark(module: str, advice: str) -> None:
    assert got(frame_of(module)) == f"got {module}.DataFrame. {advice}"
    with pytest.raises(StatementError) as caught, query_text(frame_of(module), None, "compare"):
        pass
    told = "compare takes a DataFrame of Spark or the text of a query, got "
    assert str(caught.value) == f"{told}{module}.DataFrame. {advice}"


def test_what_is_no_frame_gets_no_advice() -> None:
    series: Any = type("Series", (), {"__module__": "pandas.core.series"})()
    assert (got(series), got("x")) == ("got pandas.core.series.Series.", "got str.")


def test_a_session_is_expected() -> None:
    with pytest.raises(StatementError, match=r"a Spark session is expected, got str: pass the session that Spark"):
        _sql.require_running("SELECT 1")  # type: ignore[arg-type]


def test_advice_by_an_ambiguous_or_unknown_name() -> None:
    tables = (
        TableAdvice(f"{name}.sales", "unknown", (), (), (0,), None, 1, "footer", "", None) for name in ("old", "new")
    )
    advice = Advice(1, tuple(tables))
    assert advice["new.sales"].table == "new.sales"
    assert "sales" in advice
    assert advice.tables[0] in advice
    assert "new.sale" not in advice
    with pytest.raises(KeyError, match=r"several tables have the name 'sales': old\.sales, new\.sales"):
        advice["sales"]
    with pytest.raises(KeyError, match=r"no advice on 'new\.sale'\. Did you mean new\.sales"):
        advice["new.sale"]
    with pytest.raises(KeyError, match="the name of a table is expected, got int"):
        advice[0]  # type: ignore[index]
