"""The command line without a session: only results on stdout, exit codes, and no optional dependency."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from command import typed
from line_table import LISTED
from pyspark.sql import SparkSession
from users import as_a_user

import dovetail
from dovetail import doctor, jars
from dovetail.cli import commands, tables, views
from dovetail.cli import session as sessions
from dovetail.cli.session import cause
from dovetail.cli.steering import load_rows
from dovetail.cli.words import check_output
from dovetail.errors import DovetailError
from dovetail.jars import pyspark_version

# Seconds within which a JVM ends after its Python process, on a loaded machine.
JVM_SECONDS = 30

# Hides rich, typer, click and duckdb, as on a machine without them.
WITHOUT_EXTRAS = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"rich", "typer", "click", "duckdb"}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Absent())
from dovetail.__main__ import main
sys.argv[0] = "dovetail"
main()
"""


def test_version() -> None:
    assert typed("--version") == (0, f"dovetail {dovetail.__version__}\n", "")


def test_jar_path_alone_on_stdout() -> None:
    assert typed("jar-path") == (0, dovetail.jar_path() + "\n", "")
    line = pyspark_version().rsplit(".", 1)[0]
    assert typed("jar-path", "--spark-version", f"{line}.2-amzn-1").out == dovetail.jar_path(line) + "\n"


def test_jar_path_of_an_unknown_spark() -> None:
    code, out, err = typed("jar-path", "--spark-version", "9.9.0")
    assert (code, out) == (1, "")
    assert f"Supported Spark lines: {LISTED}" in err


def test_submit_args(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    code, out, err = typed("submit-args")
    words = f"--jars {dovetail.jar_path()} --conf spark.sql.extensions=dovetail.DovetailExtensions\n"
    assert (code, out) == (0, words)
    assert "after a comma" in err


def test_submit_args_have_no_blank_in_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setattr(jars, "jar_path", lambda _: "/home/Jane Doe/dovetail.jar")
    assert "--jars file:///home/Jane%20Doe/dovetail.jar " in typed("submit-args").out


def test_submit_args_show_how_to_keep_what_spark_defaults_have(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.sql.extensions io.example.Other\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert "spark.sql.extensions=io.example.Other,dovetail.DovetailExtensions" in typed("submit-args").err


def test_submit_args_show_how_to_keep_the_jars_of_spark_defaults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.jars /opt/site.jar\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    err = typed("submit-args").err
    assert f"--jars /opt/site.jar,{dovetail.jar_path()}" in err
    assert "spark.sql.extensions" not in err


@pytest.mark.parametrize("status", ["ok", "warning", "failed"])
def test_doctor_fails_where_a_check_fails(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    checks = [doctor.Check("java", status, "8 [/usr/bin]", "install Java 17")]  # type: ignore[arg-type]
    monkeypatch.setattr(doctor, "examine", lambda: checks)
    result = typed("doctor")
    assert result.code == (1 if status == "failed" else 0)
    assert result.out.splitlines()[1:] == [f"{status}  java  8 [/usr/bin]", "java: install Java 17"]
    as_json = typed("doctor", "--json")
    assert as_json.code == result.code
    assert json.loads(as_json.out) == [checks[0].to_dict()]


def test_help_lists_the_commands_and_each_has_one() -> None:
    text = typed("--help").out
    for name in commands().names:
        assert f"\n    {name}" in text
        code, out, err = typed(name, "--help")
        assert (code, err) == (0, "")
        assert out.startswith(f"usage: dovetail {name} [-h]")


def test_without_a_command_the_help_is_told_and_nothing_done() -> None:
    code, out, err = typed()
    assert (code, out) == (2, "")
    assert "commands:" in err


@pytest.mark.parametrize(
    "words", [("jar-path",), ("submit-args",), ("init-script", "--platform", "databricks"), ("--help",)]
)
def test_no_extra_is_needed(run_python, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    assert run_python(WITHOUT_EXTRAS, *words).stdout == typed(*words).out


def test_the_doctor_needs_no_extra(run_python) -> None:  # type: ignore[no-untyped-def]
    done = run_python(WITHOUT_EXTRAS, "doctor", env={"JAVA_HOME": "/no/java"}, check=False)
    assert done.returncode == 1
    assert "JAVA_HOME=/no/java has no bin/java" in done.stdout
    assert done.stderr == ""


def test_what_the_locale_cannot_write_is_escaped(run_python) -> None:  # type: ignore[no-untyped-def]
    places = {"JAVA_HOME": "/no/\u0141", "PYTHONIOENCODING": "iso-8859-1", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"}
    done = run_python(WITHOUT_EXTRAS, "doctor", env=places, check=False)
    assert r"JAVA_HOME=/no/\u0141 has no bin/java" in done.stdout
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform != "linux", reason="os.setresuid")
@pytest.mark.parametrize("mode", [0o555, 0o444, 0])
def test_a_file_that_must_not_be_written_is_refused_before_the_work(mode: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(mode)
        with as_a_user(), pytest.raises(DovetailError, match=f"no permission to write to {home}"):
            check_output("--page", Path(home, "demo.html"))
        Path(home).chmod(stat.S_IRWXU)


def test_rows_of_this_machine_are_not_for_another_one(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.touch()
    done = typed("explain", "SELECT 1", "--rows", str(file), "--remote", "sc://elsewhere:15002")
    assert done.code == 2
    assert "a server on another machine cannot read" in done.err


def test_the_demo_names_what_is_missing(run_python) -> None:  # type: ignore[no-untyped-def]
    done = run_python(WITHOUT_EXTRAS, "demo", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(": pip install 'dovetail-spark[demo,spark]'.\n")


WRONG = [
    (["nosuch"], "invalid choice: 'nosuch'"),
    (["jar-path", "--nosuch"], "unrecognized arguments: --nosuch"),
    (["jar-path", "--spark", "4.1"], "unrecognized arguments: --spark 4.1"),
    (["jar-path", "--spark-version", "new"], "'new' is not a Spark version"),
    (["init-script"], "the following arguments are required: --platform"),
    (["init-script", "--platform", "emr"], "invalid choice: 'emr' (choose from "),
    (["init-script", "--platform", "databricks", "--volume", "x"], "volume 'x' is not a directory on a cluster"),
    (["explain"], "give the query either as SQL text ('-' for standard input) or with --file"),
    (["explain", "SELECT 1", "--file", "x.sql"], "give the query either as SQL text"),
    (["explain", " ; "], "the query is empty"),
    (["explain", "SELECT 1", "--format", "pdf"], "invalid choice: 'pdf'"),
    (["explain", "SELECT 1", "--output", "x.pdf"], "unknown suffix of 'x.pdf'"),
    (["explain", "SELECT 1", "--view", "sales"], "such as sales=/data/sales.parquet"),
    (["stats", "t", "--view", "=x"], "such as sales=/data/sales.parquet"),
    (["analyze", "t", "--conf", "x"], "such as spark.sql.shuffle.partitions=8"),
    (["stats", "t", "--conf", "spark.dovetail.enable=true"], "Did you mean spark.dovetail.enabled?"),
    (["stats", "t", "--conf", "spark.dovetail.cost.cardWeight=7"], "expected a number from 0.0 to 1.0"),
    (["compare", "SELECT 1", "--runs", "0"], "'0' is not a whole number, at least 1"),
    (["advise"], "give queries as SQL text or with --file"),
    (["stats", "a..b"], "'a..b' is not a table name"),
    (["stats", "a", "b"], "dovetail stats: unrecognized arguments: b"),
    (["analyze", ""], "'' is not a table name"),
    (["analyze", "SELECT 1"], "it is a query. Name a table or files; `dovetail advise` lists the tables to analyze"),
    (["analyze", "t", "--columns", ","], "',' has no name in it"),
    (["analyze", "t", "--groups", "a"], "'a' is one column; a group has two or more"),
    (["analyze", "t", "--groups", "a,b", "--mode", "spark"], "--groups cannot be combined with --mode spark"),
    (["explain", "SELECT 1", "--remote", "host:15002"], "such as sc://host:15002"),
    (["explain", "SELECT 1", "--remote", "sc://host:port"], "such as sc://host:15002"),
    (["pins", "--remove", ""], "argument --remove: it is empty"),
    (["history", "--forget-table", ""], "'' is not a table name"),
    (["demo", "--scale", "-1"], "'-1' is not a number above 0"),
    (["demo", "--queries", ","], "',' has no name in it"),
    (["analyze", "t", "--mode", "x"], "invalid choice: 'x'"),
    (["pins", "SELECT 1"], "a query and --order belong to --capture NAME"),
    (["pins", "--capture", "nightly"], "give the query either as SQL text"),
    (["pins", "--remove", "a", "--load", "b"], "not allowed with argument --remove"),
    (["rows", "r.json", "--set", "5"], "give --set N or --forget, together with one of --table, --sql and --file"),
    (["rows", "r.json", "--table", "t"], "give --set N or --forget, together with one of --table, --sql and --file"),
    (["rows", "r.json", "--remote", "sc://x"], "unrecognized arguments: --remote sc://x"),
    (["calibrate", "--rows", "5"], "'5' is not a whole number, at least 100000"),
    (["calibrate", "--rows", "200000", "--reset"], "--reset measures nothing"),
]


@pytest.mark.parametrize(
    ("words", "message"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_wrong_words_are_refused_before_anything_starts(words: list[str], message: str) -> None:
    code, out, err = typed(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 2
    assert err.endswith("--help'.\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "--file", "nosuch.sql"], "--file nosuch.sql cannot be read: No such file or directory"),
        (["explain", "SELECT 1", "--output", "no/such/x.html"], "the directory no/such does not exist"),
        (
            ["explain", "SELECT 1", "--output", ".", "--format", "html"],
            "--output . cannot be written: it is a directory",
        ),
        (
            ["rows", "no such.json"],
            "there is no file no such.json. `dovetail rows 'no such.json' --set N --table TABLE` makes it.",
        ),
        (["explain", "SELECT 1", "--rows", "nosuch.json"], "there is no file nosuch.json. `dovetail rows nosuch.json"),
        (["demo", "--page", "no/such/x.html"], "--page no/such/x.html cannot be written: the directory no/such does"),
        (
            ["explain", "SELECT 1", "--remote", "sc://127.0.0.1:1"],
            "no Spark Connect server answers at sc://127.0.0.1:1",
        ),
    ],
)
def test_what_fails_is_one_line(words: list[str], message: str) -> None:
    code, out, err = typed(*words)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_query_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_bytes(b"SELECT '\xe9'")
    code, out, err = typed("explain", "--file", str(tmp_path / "q.sql"))
    assert (code, out) == (1, "")
    assert err == f"dovetail: --file {tmp_path}/q.sql cannot be read: it is not UTF-8 text.\n"
    # how a shell passes such a byte
    assert typed("explain", "SELECT '\udce9'").err == "dovetail: the query cannot be read: it is not UTF-8 text.\n"


def test_a_folder_without_tables_is_no_folder_of_tables(tmp_path: Path) -> None:
    (tmp_path / "part-00000.parquet").touch()
    (tmp_path / "year=2024").mkdir()
    (tmp_path / "notes.md").touch()
    code, out, err = typed("stats", "t", "--view", str(tmp_path))
    assert (code, out) == (2, "")
    assert f"has no tables. If its files form one table, write --view NAME={tmp_path}" in err


def test_views_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "day=1"
    for name in ("a.csv", "b.json.gz", "c.CSV.zst", "d.e.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    for name in ("sales.2024", "f.orc"):
        (folder / name).mkdir()
    (folder / "sales.2024" / "part-0.json.bz2").touch()
    assert [(view.name, view.format) for view in views.wanted([str(folder)])] == [
        ("a", "csv"),
        ("b", "json"),
        ("c", "csv"),
        ("d.e", "parquet"),
        ("f", "orc"),
        ("sales.2024", "json"),
    ]


def test_a_view_has_the_path_after_its_first_equals_sign() -> None:
    (view,) = views.wanted(["sales=/data/year=2024/x.csv.gz"])
    assert view == views.View("sales", "/data/year=2024/x.csv.gz", "csv")


def test_rows_are_read_from_a_file_whose_name_is_not_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(dovetail.rows, "load", lambda spark, path: loaded.append(path))
    spark: Any = None
    load_rows(spark, Namespace(rows=Path("/data/my rows/ü%.json")))
    assert loaded == ["file:///data/my rows/ü%.json"]


def test_analyze_collects_all_columns_in_both_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    def analyze(spark: object, target: str, columns: object, *, mode: str, progress: bool, groups: object) -> Answer:
        calls.append((columns, mode, groups))
        return Answer()

    monkeypatch.setattr(tables, "session", lambda given: nullcontext())
    monkeypatch.setattr(dovetail, "analyze", analyze)
    for words in ([], ["--mode", "spark"], ["--columns", "all"], ["--columns", "a, b", "--groups", "a,b"]):
        assert typed("analyze", "t", *words).code == 0
    assert calls == [
        ("all", "dovetail", []),
        ("all", "spark", []),
        ("all", "dovetail", []),
        (["a", "b"], "dovetail", [["a", "b"]]),
    ]


class Answer:
    """What a call returns."""

    def to_dict(self) -> dict[str, Any]:
        return {}


def test_packages_that_a_remote_session_needs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(builder: object) -> None:
        raise ImportError("grpcio >= 1.48.1 must be installed; however, it was not found.")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", missing)
    monkeypatch.setattr(sessions, "_reach", lambda remote: None)
    code, out, err = typed("explain", "SELECT 1", "--remote", "sc://host:15002")
    assert (code, out) == (1, "")
    told = "grpcio >= 1.48.1 must be installed; however, it was not found"
    assert err == f"dovetail: --remote needs more packages: pip install 'pyspark[connect]'. {told}.\n"


def test_a_reader_that_goes_away_gets_no_traceback() -> None:
    words = [sys.executable, "-m", "dovetail", "init-script", "--platform", "databricks"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True, check=False, env=environment())
    os.close(write)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


# Presses Ctrl-C when Python looks for a module of the command line.
PRESSED_AT_IMPORT = """
import os, signal, sys

# a process that a shell has started in the background ignores it
signal.signal(signal.SIGINT, signal.default_int_handler)

class Pressing:
    def find_spec(self, name, path=None, target=None):
        if name == "dovetail.cli.session":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressing())
from dovetail.__main__ import main
main()
"""


def test_ctrl_c_at_import_is_one_line(run_python) -> None:  # type: ignore[no-untyped-def]
    done = run_python(PRESSED_AT_IMPORT, "jar-path", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "dovetail: interrupted\n")


LONG = ("compare", "SELECT count(*) FROM range(100000000000) WHERE id % 3 = 1")


# Seconds after which Ctrl-C is pressed: while the JVM starts, while the session starts, and later.
@pytest.mark.parametrize(("words", "after"), [(LONG, 2.5), (LONG, 4), (LONG, 8), (("doctor",), 2)])
def test_ctrl_c_is_one_line_and_leaves_no_jvm(words: tuple[str, ...], after: float, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "dovetail", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(),
        start_new_session=True,
        preexec_fn=listening,
    ) as command:
        try:
            time.sleep(after)
            # to the whole process group, as a terminal does
            os.killpg(command.pid, signal.SIGINT)
            out, err = command.communicate(timeout=60)
            assert (command.returncode, out, err) == (130, "", "dovetail: interrupted\n")
            end = time.monotonic() + JVM_SECONDS
            while living(tmp_path) and time.monotonic() < end:
                time.sleep(0.2)
            assert living(tmp_path) == []
        finally:
            for process in living(tmp_path):
                os.kill(process, signal.SIGKILL)


def listening() -> None:
    """Makes this process react to Ctrl-C, which it ignores if a shell started its parent in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def living(directory: Path) -> list[int]:
    """Processes whose working directory is this one; empty on a system without /proc."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        # the process has just ended, or belongs to another user
        with suppress(OSError):
            if (process / "cwd").readlink() == directory:
                found.append(int(process.name))
    return found


def environment() -> dict[str, str]:
    """The environment of this process, with the package on Python's path."""
    package = str(Path(dovetail.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])}


def test_the_cause_is_found_in_what_a_jvm_says() -> None:
    frames = "\tat org.apache.spark.A\n\t... 3 more\n"
    assert cause(f'Exception in thread "main" a.B: one\n{frames}Caused by: c.D: two\n{frames}') == "c.D: two"
