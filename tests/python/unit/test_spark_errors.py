"""Errors of the JVM by their condition, with pyspark's own exceptions."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from pyspark.errors import PySparkException

from dovetail import DatabaseStats, TableStats, errors
from dovetail._spark_errors import CLASSES, PREFIX, condition, is_lost_jvm, is_not_found, own_error
from dovetail.errors import AnalyzeIncompleteError, ColumnNotFoundError, DovetailError

NAME = "DOVETAIL_COLUMN_NOT_FOUND"
SAYS = "db.item has no column nmae. Columns: id, name."
PARAMETERS = {"column": "nmae", "table": "db.item"}


class Raised(PySparkException):
    """An error like those of the JVM, with a text and a condition; the constructor of pyspark 3.5 takes one of them."""

    def __init__(self, text: str, name: str | None, parameters: dict[str, str] | None) -> None:
        super().__init__(text)
        self._name, self._parameters = name, parameters

    def getCondition(self) -> str | None:  # noqa: N802
        return self._name

    def getErrorClass(self) -> str | None:  # noqa: N802
        return self._name

    def getMessageParameters(self) -> dict[str, str] | None:  # noqa: N802
        return self._parameters

    def getSqlState(self) -> str | None:  # noqa: N802
        return None


def raised(text: str, name: str | None = None, parameters: dict[str, str] | None = None) -> PySparkException:
    return Raised(text, name, parameters)


def over_connect(text: str, name: str | None, state: str | None, kind: str = "IllegalArgumentException") -> Any:
    """The exception that the client of Spark Connect makes from an error of its server."""
    pytest.importorskip("grpc", reason="Spark Connect's Python client needs it: pip install 'pyspark[connect]'")
    from pyspark.errors.exceptions import connect

    made = getattr(connect, kind)
    return made(text, errorClass=name, messageParameters=PARAMETERS if name else None, sql_state=state)


def test_condition_and_parameters_make_the_error() -> None:
    found = own_error(raised(SAYS, NAME, PARAMETERS))
    assert type(found) is ColumnNotFoundError
    assert str(found) == SAYS
    assert (found.condition, found.sql_state, found.parameters) == (NAME, "", PARAMETERS)


def test_over_connect(spark_line: tuple[int, int]) -> None:
    if spark_line < (4, 0):
        pytest.skip("the client of 3.5 gets no condition from the server: it is in the text")
    found = own_error(over_connect(f"[{NAME}] {SAYS} SQLSTATE: 42703", NAME, "42703"))
    assert type(found) is ColumnNotFoundError
    assert str(found) == SAYS
    assert (found.condition, found.sql_state, found.parameters) == (NAME, "42703", PARAMETERS)


@pytest.mark.parametrize(
    "text",
    [
        f"[{NAME}] {SAYS} SQLSTATE: 42703",
        f"org.apache.spark.SparkException: [{NAME}] {SAYS} SQLSTATE: 42703",
        f"(org.apache.spark.SparkException) [{NAME}] {SAYS} SQLSTATE: 42703\n\nJVM stacktrace:\n  at a.b.c",
        f"An error occurred while calling o1.sql.\n: X: Job aborted\nCaused by: Y: [{NAME}] {SAYS} SQLSTATE: 42703",
    ],
)
def test_an_error_without_its_condition_has_it_in_its_text(text: str) -> None:
    found = own_error(WithoutCondition(text))
    assert type(found) is ColumnNotFoundError
    assert str(found) == SAYS
    assert (found.condition, found.sql_state, found.parameters) == (NAME, "42703", {})


class WithoutCondition(PySparkException):
    """An error with text only, as pyspark makes it from an exception of a class that it does not know."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return self.text


def test_a_condition_below_another_is_of_its_class() -> None:
    found = own_error(raised("no", f"{NAME}.IN_GROUP", {}))
    assert type(found) is ColumnNotFoundError
    assert found.condition == f"{NAME}.IN_GROUP"


def test_a_condition_of_a_newer_jar_is_a_dovetail_error() -> None:
    found = own_error(raised("no", "DOVETAIL_NEVER_HEARD_OF", {}))
    assert type(found) is DovetailError
    assert str(found) == "no"


@pytest.mark.parametrize(
    "error",
    [
        raised("there is no DOVETAIL_COLUMN_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", {}),
        WithoutCondition("[TABLE_OR_VIEW_NOT_FOUND] The table `[DOVETAIL_COLUMN_NOT_FOUND] x` is not there"),
        ValueError(f"[{NAME}] of Python"),
    ],
)
def test_other_errors_stay_what_they_are(error: Exception) -> None:
    assert own_error(error) is None


def test_conditions_without_a_name_are_empty() -> None:
    assert condition(WithoutCondition("nothing")) == ""
    assert condition(raised("x", "SOME_NAME", {})) == "SOME_NAME"


@pytest.mark.parametrize(
    "name", ["TABLE_OR_VIEW_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE", "SCHEMA_NOT_FOUND", "PATH_NOT_FOUND"]
)
def test_every_wrong_part_of_a_name_is_not_found(name: str) -> None:
    assert is_not_found(raised("x", name, {}))
    assert not is_not_found(raised("x", "PARSE_SYNTAX_ERROR", {}))


def test_every_condition_is_an_error_that_users_can_import() -> None:
    for name, kind in CLASSES.items():
        assert name.startswith(PREFIX)
        assert getattr(errors, kind.__name__) is kind


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301
def test_errors_can_be_copied_and_sent_to_other_processes(copied: Any) -> None:
    done = DatabaseStats("db", (TableStats("a", 1, 2, "dovetail", "exact"),))
    error = AnalyzeIncompleteError("1 of 2 tables", done, {"b": "no files"})
    error.condition = "DOVETAIL_X"
    found = copied(error)
    assert (type(found), str(found), found.condition) == (AnalyzeIncompleteError, "1 of 2 tables", "DOVETAIL_X")
    assert (found.done, found.failures) == (done, {"b": "no files"})
    own = own_error(raised(SAYS, NAME, PARAMETERS))
    assert own is not None
    assert (str(copied(own)), copied(own).parameters) == (SAYS, PARAMETERS)


def test_a_jvm_that_has_ended_is_told_from_calls_that_do_not_exist() -> None:
    from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]

    assert is_lost_jvm(Py4JNetworkError("Answer from Java side is empty"))
    assert is_lost_jvm(ConnectionRefusedError(111, "Connection refused"))
    assert is_lost_jvm(Py4JError("An error occurred while calling o59.collectToPython"))
    assert not is_lost_jvm(Py4JError("An error occurred while calling o1.f. Trace:\nMethod f([]) does not exist"))
    assert not any(is_lost_jvm(error) for error in (ValueError("no"), FileNotFoundError("gone")))
