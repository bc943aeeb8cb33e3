"""`dovetail explain | compare | …` as a user runs it: only the result on stdout, errors as one line on stderr."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

pytestmark = pytest.mark.primary

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "command-line.md"

QUERY = (
    "SELECT count(*) FROM sales s JOIN item i ON s.item_id = i.item_id JOIN store t ON s.store_id = t.store_id "
    "WHERE i.brand = 1;"
)

# All commands run in one process, so that they share one JVM. Each command starts its own session.
COMMANDS = """
import json, os, sys
from pathlib import Path
from pyspark.sql import SparkSession
import dovetail
from command import typed

tables = {
    "sales": "id AS sale, id % 100 AS item_id, id % 10 AS store_id",
    "item": "id AS item_id, id % 20 AS brand",
    "store": "id AS store_id, id % 3 AS region",
}
rows = {"sales": 5000, "item": 100, "store": 10}
spark = dovetail.enable(SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")).getOrCreate()
for name, columns in tables.items():
    spark.sql(f"SELECT {columns} FROM range({rows[name]})").coalesce(1).write.parquet(f"shop/{name}")
spark.sql("SELECT 'a' AS k, 1 AS v").write.csv("lake/words", header=True)
spark.sql("SELECT 2 AS v").coalesce(1).write.json("lake/numbers.json")
spark.sql("SELECT 3 AS v").write.csv("lake/odd [1] {2}*?.csv", header=True)
spark.range(7).coalesce(1).write.json("sevens.json")
Path("mixed/empty").mkdir(parents=True)
Path("broken").mkdir()
Path("broken/history.json").write_text("{")
spark.stop()

quiet = ["--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=1"]
quiet += ["--conf", "spark.sql.codegen.wholeStage=false", "--conf", "spark.sql.codegen.factoryMode=NO_CODEGEN"]
query, typings = sys.argv[1], json.loads(sys.argv[2])
Path("q.sql").write_text(query)
found = {}
for name, words in typings.items():
    if words[0] == "in":
        words = words[1:]
        sys.stdin = open("q.sql")
    found[name] = typed(*words, *quiet)
os.environ["PYSPARK_SUBMIT_ARGS"] = "--master local[5] pyspark-shell"
found["submitted"] = typed("compare", "SELECT DISTINCT spark_partition_id() FROM range(9)", "--no-warmup", *quiet[2:])
print("found:" + json.dumps(found))
"""

# Command lines by a name; a leading "in" passes the query on standard input.
TYPED: dict[str, list[str]] = {
    "explain": ["in", "explain", "-", "--view", "shop"],
    "compare": ["compare", QUERY, "--no-warmup", "--json", "--view", "shop"],
    "differ": ["compare", "SELECT uuid()", "--no-warmup"],
    "advise": ["advise", QUERY, "SELECT 1", "--json", "--view", "shop"],
    "analyze": ["analyze", "parquet.`shop/sales`", "--groups", "item_id,store_id", "--json"],
    "stats": ["stats", "parquet.`shop/sales`", "--json"],
    "analyze a file": ["analyze", "json.`sevens.json`", "--json"],
    "forget a table": ["history", "--forget-table", "my-table", "--view", "my-table=shop/item"],
    "forget a broken file": ["history", "--forget", "--conf", "spark.dovetail.store.path=broken"],
    "formats": ["compare", "SELECT * FROM words JOIN numbers USING (v)", "--json", "--no-warmup", "--view", "lake"],
    "one of a folder": ["stats", "n", "--view", "n=lake/numbers.json", "--json"],
    "no pins": ["pins"],
    "capture": ["pins", "--capture", "nightly", QUERY, "--order", "((sales item) store)", "--view", "shop", "--json"],
    "save": ["pins", "--save", "pins.json"],
    "remove": ["pins", "--remove", "nightly"],
    "load": ["pins", "--load", "pins.json"],
    "set": ["rows", "a b.json", "--set", "1000000", "--table", "item", "--view", "shop"],
    "set a query": ["rows", "a b.json", "--set", "7", "--sql", "SELECT * FROM item WHERE brand = 1", "--view", "shop"],
    "rows": ["rows", "a b.json", "--view", "shop", "--json"],
    "rows left out": ["rows", "a b.json", "--set", "5", "--table", "store", "--view", "store=shop/store"],
    "with rows": ["explain", QUERY, "--rows", "a b.json", "--view", "shop", "--format", "json"],
    "forget": ["rows", "a b.json", "--forget", "--table", "item", "--view", "shop"],
    "no table": ["explain", "SELECT * FROM nosuch"],
    "no target": ["analyze", "nosuch"],
    "no statistics": ["stats", "db.nosuch"],
    "no rows": ["rows", "c.json", "--set", "5", "--table", "nosuch"],
    "no path": ["analyze", "parquet.`/nosuch`"],
    "no pin": ["pins", "--remove", "nosuch"],
    "no statistics of a path": ["stats", "parquet.`/nosuch`"],
    "a folder that is no table": ["explain", QUERY, "--view", "mixed"],
    "no place": ["analyze", "parquet.`shop/sales`", "--conf", "spark.dovetail.store.path=/proc/none"],
}


def of_the_page() -> dict[str, list[str]]:
    """The commands of the page's examples, without the first word."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return {line: shlex.split(line.replace("/data/", ""))[1:] for line in lines}


def test_commands(run_python, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    page = of_the_page()
    assert len(page) > 10
    done = run_python(COMMANDS, QUERY, json.dumps({**TYPED, **page}))
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("found:"))[len("found:") :])
    failing = (
        *("differ", "no table", "no target", "no statistics", "no rows", "no path", "no pin", "no place"),
        *("no statistics of a path", "a folder that is no table", "rows left out"),
    )
    assert {name: code for name, (code, _, _) in found.items() if code != 0} == dict.fromkeys(failing, 1)
    out = {name: text for name, (_, text, _) in found.items()}
    err = {name: text for name, (_, _, text) in found.items()}

    assert out["explain"].startswith("Dovetail ")
    assert " kept the written order: " in out["explain"]
    assert json.loads(out["compare"])["same_answer"] is True
    assert "DIFFERENT ANSWERS" in out["differ"]
    assert {table["state"] for table in json.loads(out["advise"])["tables"]} == {"unknown"}
    assert json.loads(out["analyze"])["rows"] == json.loads(out["stats"])["rows"] == 5000
    assert json.loads(out["stats"])["columns"][0]["source"] == "dovetail"
    assert [group["columns"] for group in json.loads(out["stats"])["groups"]] == [["item_id", "store_id"]]
    assert json.loads(out["analyze a file"])["rows"] == 7
    assert err["forget a table"] == "dovetail: no history\n"
    warned, *rest = err["forget a broken file"].splitlines()
    assert re.match(
        r"dovetail: warning: .*, but not from the store: .*history\.json is left as it is: it is not", warned
    )
    assert rest == ["dovetail: no history"]
    assert json.loads(out["formats"])["same_answer"] is True
    assert [column["name"] for column in json.loads(out["one of a folder"])["columns"]] == ["v"]

    assert (out["no pins"], err["no pins"]) == ("", "dovetail: no pins\n")
    assert [pin["order"] for pin in json.loads(out["capture"])] == ["((sales item) store)"]
    assert out["load"] == out["save"]
    assert out["save"].startswith("nightly  ((sales item) store)  used 0 times, in file:")
    assert (out["remove"], err["remove"]) == ("", "dovetail: no pins\n")

    assert [(known["kind"], known["rows"]) for known in json.loads(out["rows"])] == [("table", 1e6), ("query", 7.0)]
    assert '"given"' in out["with rows"]
    assert out["forget"].startswith("7  query SELECT * FROM item")

    for name in failing[1:]:
        assert out[name] == ""
        assert err[name].count("\n") == 1, err[name]
    assert "nosuch" in err["no table"]
    hinted = {name for name in failing if "a session with an empty catalog. Name files with --view" in err[name]}
    assert hinted == {"no table", "no target", "no statistics", "no rows"}
    assert "a b.json is not changed, because its other row counts cannot be used: left out of" in err["rows left out"]
    assert "there is nothing at /nosuch: check the path" in err["no statistics of a path"]
    assert re.search(r"no table of format parquet at file:///\S+/mixed/empty\. ", err["a folder that is no table"])
    assert "/proc/none: the directory could not be created. Set spark.dovetail.store.path" in err["no place"]

    # without --master, a command runs where the settings say
    assert re.search(r"^rows +5 +5$", out["submitted"], re.MULTILINE)

    # commands of the page: none reports an error, and the output file exists
    assert {name: err[name] for name in page if err[name] and "wrote" not in err[name]} == {
        "dovetail pins --remove nightly": "dovetail: no pins\n",
        # runs of `compare` are measured, but do not enter the history
        "dovetail history": "dovetail: no history\n",
        "dovetail history --forget": "dovetail: no history\n",
    }
    assert (tmp_path / "order.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


IN_A_PROCESS = """
import subprocess, sys
words = [sys.executable, "-m", "dovetail", *sys.argv[1:], "--master", "local[1]"]
done = subprocess.run(words, capture_output=True, text=True, check=False)
print(done.returncode, done.stdout.count("\\n"), done.stderr.count("\\n"))
print(done.stdout, done.stderr)
"""


@pytest.mark.parametrize(
    ("words", "code", "lines"),
    [
        (["explain", "SELECT 1", "--format", "json"], 0, 0),
        (["stats", "nosuch"], 1, 1),
    ],
)
def test_spark_is_not_heard(run_python, words: list[str], code: int, lines: int) -> None:  # type: ignore[no-untyped-def]
    done = run_python(IN_A_PROCESS, *words)
    first, text = done.stdout.split("\n", 1)
    ended, _, told = map(int, first.split())
    assert (ended, told) == (code, lines), text


def test_spark_is_heard_where_asked_for_and_not_on_stdout(run_python) -> None:  # type: ignore[no-untyped-def]
    done = run_python(IN_A_PROCESS, "explain", "SELECT 1", "--format", "json", "--verbose")
    assert "Setting default log level" in done.stdout
    ended, _, told = map(int, done.stdout.split("\n", 1)[0].split())
    assert ended == 0
    assert told > 2


def test_why_spark_did_not_start_is_told(run_python) -> None:  # type: ignore[no-untyped-def]
    done = run_python(IN_A_PROCESS, "stats", "t", "--conf", "spark.submit.deployMode=nosuch")
    assert done.stdout.startswith("1 0 1\n")
    assert "dovetail: Spark did not start: org.apache.spark.SparkException: Deploy mode must be " in done.stdout
