"""`_sql` with a session made by hand: rows as values, the switch of two threads, stopped sessions, wrong statements."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from dovetail import _sql, _watch
from dovetail.errors import NotEnabledError, SessionStoppedError, StatementError


class Conf:
    """Settings of a session."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, key: str, default: str | None) -> str | None:
        return self.values.get(key, default)

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    def unset(self, key: str) -> None:
        self.values.pop(key)


class Session:
    """A session whose statements return these rows, or raise this error."""

    def __init__(self, *rows: dict[str, Any], error: Exception | None = None, context: Any = True) -> None:
        self.rows, self.error, self.conf = rows, error, Conf()
        self.sparkContext = SimpleNamespace(_jsc=context)

    def sql(self, statement: str) -> Any:
        if self.error is not None and "dovetail_version" not in statement:
            raise self.error
        return SimpleNamespace(collect=lambda: [SimpleNamespace(asDict=lambda row=row: row) for row in self.rows])


@dataclass(frozen=True)
class Known:
    """A value with two fields."""

    name: str
    relations: tuple[str, ...]


def test_columns_of_a_newer_jar_are_left_out() -> None:
    session: Any = Session({"name": "a", "relations": ["x", "y"], "later": 5})
    assert _sql.records(session, "dovetail_pins", Known) == [Known("a", ("x", "y"))]


@pytest.mark.parametrize("uri", ["s3a://bucket/x", "hdfs://host:8020/x"])
def test_a_uri_that_a_path_object_has_changed_is_refused(uri: str) -> None:
    session: Any = Session()
    with pytest.raises(StatementError, match="Pass the URI as a str"):
        _sql.path_literal(session, Path(uri))
    assert _sql.path_literal(session, uri) == f"'{uri}'"


def test_path_objects_of_files_and_paths_with_all_slashes_pass() -> None:
    class Remote:
        def __fspath__(self) -> str:
            return "s3a://bucket/x"

    session: Any = Session()
    paths = (Path("/data/x"), Path("x"), Path("a/b:/c"), PureWindowsPath("C:/x"), Remote())
    texts = [_sql.path_literal(session, path) for path in paths]
    assert texts == ["'/data/x'", "'x'", "'a/b:/c'", "'C:\\\\x'", "'s3a://bucket/x'"]
    assert [_sql.path_literal(session, Path(p)) for p in ("C:/x", "file:///x")] == ["'C:/x'", "'file:/x'"]


def test_a_thread_waits_until_another_one_has_put_the_switch_back() -> None:
    session: Any = Session()
    inside = threading.Event()

    def other() -> None:
        with _sql.switched(session, True):
            inside.set()

    thread = threading.Thread(target=other)
    with _sql.switched(session, False):
        thread.start()
        assert not inside.wait(0.2)
        assert session.conf.values == {_sql.ENABLED_KEY: "false"}
    thread.join(timeout=10)
    assert inside.is_set()
    assert session.conf.values == {}


def test_a_wrong_value_of_a_file_is_unset_and_all_others_are_put_back() -> None:
    session: Any = Session()
    session.conf.values = {"spark.dovetail.enabled": "yes", "spark.x": "1", "spark.dovetail.z": "2"}

    def checked(key: str, value: str) -> None:
        if value == "yes":
            raise ValueError("spark.dovetail.enabled is no boolean")
        session.conf.values[key] = value

    session.conf.set = checked
    with _sql.settings(session, {"spark.dovetail.enabled": "true", "spark.x": "8", "spark.dovetail.z": "9"}):
        assert session.conf.values == {"spark.dovetail.enabled": "true", "spark.x": "8", "spark.dovetail.z": "9"}
    assert session.conf.values == {"spark.x": "1", "spark.dovetail.z": "2"}


def test_a_stopped_session_is_told() -> None:
    stopped: Any = Session(context=None)
    with pytest.raises(SessionStoppedError, match=r"the session is stopped\. Start one with"):
        _sql.function_rows(stopped, "dovetail_version")
    with pytest.raises(SessionStoppedError, match="the session is stopped"), _watch.cancellable(stopped):
        pass


class Refused(PySparkException):
    """The error of a parser."""

    def getCondition(self) -> str:  # noqa: N802
        return "PARSE_SYNTAX_ERROR"

    def getErrorClass(self) -> str:  # noqa: N802
        return self.getCondition()


def test_only_an_unknown_statement_is_an_error_of_the_session() -> None:
    unknown: Any = Session(error=Refused("[PARSE_SYNTAX_ERROR] Syntax error at or near 'DOVETAIL'. SQLSTATE: 42601"))
    with pytest.raises(NotEnabledError, match=r"rows\.tell, forget, save and load\. Use the session that attach"):
        _sql.statement_rows(unknown, "DOVETAIL HELP")
    wrong: Any = Session(error=Refused("[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'.\nSELECT 'DOVETAIL' FRO x"))
    with pytest.raises(Refused):
        _sql.statement_rows(wrong, "DOVETAIL PROFILE SELECT 'DOVETAIL' FRO x")


class UnknownFunction(Refused):
    """The error of a session without Dovetail."""

    def getCondition(self) -> str:  # noqa: N802
        return "UNRESOLVABLE_TABLE_VALUED_FUNCTION"


class ClientSession(Session):
    """A client of Spark Connect."""

    __module__ = "pyspark.sql.connect.session"


def test_a_client_of_a_server_is_told_how_the_server_starts() -> None:
    function = UnknownFunction("no function dovetail_conf")
    client: Any
    classic: Any
    client, classic = ClientSession(error=function), Session(error=function)
    told = []
    for session in (client, classic):
        with pytest.raises(NotEnabledError) as caught:
            _sql.function_rows(session, "dovetail_conf")
        told.append(str(caught.value))
    assert "start-connect-server.sh --jars <path of the jar> --conf spark.sql.extensions=" in told[0]
    assert "dovetail jar-path --spark-version" in told[0]
    assert "dovetail init-script --platform databricks" in told[0]
    assert ["dovetail.attach(spark)" in text for text in told] == [False, True]


def test_a_literal_is_made_of_text() -> None:
    session: Any = Session()
    with pytest.raises(StatementError, match=r"text is expected, got 5 \(int\)"):
        _sql.text_literal(session, 5)  # type: ignore[arg-type]
    with pytest.raises(StatementError, match=r"text is expected for path, got 5 \(int\)"):
        _sql.path_literal(session, 5)  # type: ignore[arg-type]
