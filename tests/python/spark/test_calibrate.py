"""`dovetail.calibrate` on a real session: measured, kept, shown, reset, refused."""

import json

import pytest
from pyspark.sql import SparkSession

import dovetail
from dovetail.errors import StatementError


class Whole:
    """A whole number of another library, such as numpy's."""

    def __index__(self) -> int:
        return 100_000


def test_measures_keeps_and_resets(spark: SparkSession) -> None:
    found = dovetail.calibrate(spark, rows=Whole())  # type: ignore[arg-type]
    try:
        names = [one.name for one in found]
        assert names[0] == "rowProduced"
        assert len(set(names)) == len(names) == 11
        assert {"sortCompare", "exchangeByte", "spillByte"} <= set(names)
        # with so few rows, the number of constants above the noise depends on the load of the machine
        assert any(one.measured is not None for one in found)
        assert all(one.default / 10.001 <= one.used <= one.default * 10.001 for one in found)
        assert "exchangeByte" in str(found)
        assert json.loads(json.dumps(found.to_dict()))["constants"][0]["name"] == "rowProduced"
        (key, value), *none = found.to_conf().items()
        assert not none
        assert [part.partition("=")[0] for part in value.split(", ")] == names
        spark.conf.set(key, value)
        spark.conf.unset(key)
    finally:
        back = dovetail.calibrate(spark, reset=True)
    assert all(one.used == one.default and one.measured is None for one in back)


@pytest.mark.parametrize(("rows", "reset"), [(5, False), (200_000, True), (10**9 + 1, False), (10**17, False)])
def test_refuses_wrong_words(spark: SparkSession, rows: int, reset: bool) -> None:
    with pytest.raises(StatementError, match=r"from 100,000 to 1,000,000,000, without reset"):
        dovetail.calibrate(spark, rows=rows, reset=reset)
