"""`dovetail explain | analyze | compare` from the outside: the answer alone on stdout, errors in one line on stderr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dovetail.cli import app

QUERY = "SELECT count(*) FROM f JOIN d ON f.k = d.k JOIN p ON f.o = p.o WHERE p.x = 1;"

# All in one process, for the sake of one JVM: each command starts a session of its own in it.
COMMANDS = """
import json, os, sys
from pyspark.sql import SparkSession
from typer.testing import CliRunner
import dovetail
from dovetail.cli import app

quiet = ["--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=1", "--conf", "spark.driver.memory=1g"]
names = {"f": "id AS o, id % 100 AS k", "d": "id % 100 AS k, id AS v", "p": "id AS o, id % 2000 AS x"}
spark = dovetail.enable(SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")).getOrCreate()
for name, columns in names.items():
    spark.sql(f"SELECT {columns} FROM range(5000)").coalesce(1).write.parquet(f"{name}.parquet")
spark.stop()
views = [word for name in names for word in ("--view", f"{name}={name}.parquet")]
query = sys.argv[1]

def run(*words, input=None):
    done = CliRunner().invoke(app, [*words, *quiet], input=input)
    return [done.exit_code, done.stdout, done.stderr]

print("found:" + json.dumps({
    "analyze": run("analyze", f"parquet.`{os.getcwd()}/f.parquet`", "--json"),
    "explain": run("explain", "-", *views, input=query),
    "html": run("explain", query, "--output", "order.html", *views),
    "compare": run("compare", query, "--no-warmup", "--json", *views),
    "differ": run("compare", "SELECT uuid()", "--no-warmup"),
    "no table": run("explain", "SELECT * FROM nosuch"),
    "no target": run("analyze", "nosuch"),
}))
"""


@pytest.mark.primary
def test_commands(run_python, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = run_python(COMMANDS, QUERY)
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("found:"))[len("found:") :])
    assert {name: code for name, (code, _, _) in found.items() if code != 0} == {
        "differ": 1,
        "no table": 1,
        "no target": 1,
    }
    assert json.loads(found["analyze"][1])["rows"] == 5000
    assert found["explain"][1].startswith("Dovetail ")
    assert "Group 1: " in found["explain"][1]
    assert (found["html"][1], found["html"][2]) == ("", "wrote order.html\n")
    assert (tmp_path / "order.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert json.loads(found["compare"][1])["same_answer"] is True
    assert "DIFFERENT ANSWERS" in found["differ"][1]
    for name in ("no table", "no target"):
        assert found[name][1] == ""
        assert "nosuch" in found[name][2]
        assert found[name][2].count("\n") == 1, found[name]
    assert "--view NAME=PATH" in found["no table"][2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["explain"], "give the query either as SQL text ('-' for standard input) or with --file"),
        (["explain", "SELECT 1", "--file", "x.sql"], "not both or none"),
        (["compare", "--file", "nosuch.sql"], "--file nosuch.sql cannot be read: No such file or directory"),
        (["explain", "SELECT 1", "--format", "pdf"], "Formats: 'text', 'html', 'json', 'mermaid'"),
        (["explain", "SELECT 1", "--output", "x.pdf"], "unknown suffix of 'x.pdf'"),
        (["explain", "SELECT 1", "--view", "sales"], "such as --view sales=/data/sales.parquet"),
        (["analyze", "t", "--conf", "x"], "such as --conf spark.sql.shuffle.partitions=8"),
        (["explain", " ; "], "the query is empty"),
        (["explain", "SELECT 1", "--output", "no/such/x.html"], "the directory no/such does not exist"),
        (
            ["explain", "SELECT 1", "--remote", "sc://127.0.0.1:1"],
            "no Spark Connect server answers at sc://127.0.0.1:1: Connection",
        ),
    ],
)
def test_wrong_words_are_refused_before_a_session_starts(words: list[str], message: str) -> None:
    result = CliRunner().invoke(app, words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr
