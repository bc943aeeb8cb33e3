"""The Python examples of the quick start, the guides and some other pages run unchanged; the reference is complete."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import dovetail
from dovetail import _sql
from dovetail.cli import commands

pytestmark = pytest.mark.primary

DOCS = Path(__file__).resolve().parents[3] / "docs"

PAGES = [
    "../README.md",
    "quickstart.md",
    "install/notebooks.md",
    "install/uninstall.md",
    *sorted(f"guide/{page.name}" for page in (DOCS / "guide").glob("*.md")),
]

# Python blocks of a page, also blocks that are indented in a list.
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)

# Directory of the reader's files on the pages.
FILES = "/data/"


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Creates the tables that the guides use; yields the directory of their files."""
    files = tmp_path_factory.mktemp("data")
    for statement in (
        "CREATE DATABASE db",
        "CREATE TABLE db.sales USING parquet PARTITIONED BY (year) AS SELECT id % 20 AS item_id, id % 5 AS store_id, "
        "id % 100 AS price, 2023 + id % 2 AS year FROM range(1000)",
        "CREATE TABLE db.item USING parquet AS SELECT id AS item_id, id % 3 AS brand FROM range(20)",
        "CREATE TABLE db.store USING parquet AS SELECT id AS store_id FROM range(5)",
        "CREATE TABLE db.returns USING parquet AS SELECT id % 20 AS item_id, id AS ticket FROM range(100)",
        "CREATE VIEW db.some_view AS SELECT * FROM db.item",
    ):
        spark.sql(statement)
    spark.table("db.item").write.parquet(str(files / "sales"))
    yield files
    for database in ("db", "shop"):
        spark.sql(f"DROP DATABASE IF EXISTS {database} CASCADE")


def blocks(page: str) -> list[tuple[int, str]]:
    """Line and text of a page's Python blocks."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, found.start()) + 2, re.sub(f"^{found[1]}", "", found[2], flags=re.MULTILINE))
        for found in BLOCK.finditer(text)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(
    page: str, spark: SparkSession, shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(page)
    assert found, f"{page} has no Python example: is it still a guide?"
    names = {"spark": spark, "dovetail": dovetail, "SparkSession": SparkSession, "df": spark.table("db.sales")}
    for line, code in found:
        # with as many lines above it as on the page, so that a traceback names the line of the page
        padded = "\n" * (line - 1) + code.replace(FILES, f"{shop}/")
        exec(compile(padded, str(DOCS / page), "exec"), names)  # noqa: S102 - the project's own pages


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def test_the_sql_reference_has_every_function_and_column(spark: SparkSession) -> None:
    page = re.sub("</?code>", "`", text("reference/functions.md"))
    functions = [row[0].rsplit(".", 1)[-1] for row in _sql.rows(spark, "SHOW FUNCTIONS LIKE 'dovetail_*'")]
    assert len(functions) == 10
    for function in functions:
        assert f"`{function}(" in page, function
        argument = "" if f"`{function}()`" in page else "'t'"
        columns = [row[0] for row in _sql.rows(spark, f"DESCRIBE QUERY SELECT * FROM {function}({argument})")]
        assert columns
        # a function without its own section has its columns in its line of the table
        own = page.split(f"### {function}(")[1].split("\n#")[0] if f"### {function}(" in page else ""
        about = own or next(line for line in page.splitlines() if line.startswith(f"| `{function}("))
        if columns != ["explain"]:
            assert [column for column in columns if f"`{column}`" not in about] == [], function


def test_the_sql_reference_has_every_statement(spark: SparkSession) -> None:
    statements = [row["statement"] for row in _sql.rows(spark, "DOVETAIL HELP")]
    assert statements
    # within a table, statements with a bar are in HTML
    page = html.unescape(re.sub("</?code>", "`", text("reference/functions.md")))
    assert [statement for statement in statements if f"`{statement}`" not in page] == []


def test_pages_name_only_settings_that_exist() -> None:
    known = {setting.key for setting in dovetail.Config.SETTINGS}
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md", DOCS.parent / "benchmarks" / "README.md"]
    named = {
        key: page.name
        for page in pages
        for key in re.findall(r"spark\.dovetail\.\w+(?:\.\w+)*", page.read_text(encoding="utf-8"))
    }
    assert known <= set(named)
    assert {key: page for key, page in named.items() if key not in known} == {}


def test_the_python_reference_has_every_public_name() -> None:
    page = text("reference/python.md").splitlines()
    errors = {"DovetailError", "DovetailWarning", "NotEnabledError"}  # beneath dovetail.errors
    public = set(dovetail.__all__) - errors - {"__version__"}
    assert public == {line.removeprefix("::: dovetail.") for line in page if line.startswith("::: ")}


def test_the_command_line_page_has_every_command() -> None:
    page = text("reference/command-line.md")
    assert len(commands().names) > 10
    assert [name for name in commands().names if f"| `dovetail {name}" not in page] == []
