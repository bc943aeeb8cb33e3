"""A dbt project with the files on the page on dbt runs with Dovetail, by both methods of connecting.

The page on the Thrift server is tested here as well, because dbt connects to this server.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from environment import Environment, free_port
from page import Page, replaced

import dovetail

pytestmark = pytest.mark.recipes

DBT = Page("dbt.md")
SQL = Page("sql.md")

# The tables that the page's model joins, which the reader has already.
SOURCES = {
    "models/sale.sql": "select id as sale, id % 2000 as item, id % 50 as store, id % 7 as amount from range(30000)",
    "models/item.sql": "select id as item, id % 100 as brand from range(2000)",
    "models/store.sql": "select id as store, id % 5 as region from range(50)",
}

# The answer that the page's model computes from them.
ANSWER = "select item % 50 % 5 as region, sum(sale % 7) as amount from ("
ANSWER += "select id as sale, id % 2000 as item from range(30000)) where item % 100 = 42 group by 1"

THRIFT = "profiles.yml, method thrift"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Both methods of dbt, as the page installs them."""
    home = tmp_path_factory.mktemp("dbt")
    return Environment.of(home, DBT.block("bash", "dbt-spark[session]"), DBT.block("bash", "dbt-spark[PyHive]"))


def project(home: Path, leave_out: str, **other: str) -> Path:
    """A directory with the page's files and the sources."""
    files = SOURCES | {name: text for name, text in DBT.files().items() if name != THRIFT} | other
    for name, text in files.items():
        if name != leave_out:
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text, encoding="utf-8")
    return home


def show(installed: Environment, home: Path, query: str, **env: str) -> list[dict[str, Any]]:
    """Rows of a query that dbt runs."""
    command = f"dbt --quiet show --limit -1 --output json --inline {shlex.quote(query)}"
    out = installed.shell(command, home, **env)
    rows: list[dict[str, Any]] = json.loads(out[out.index("{\n") :])["show"]
    return rows


def test_session(installed: Environment, tmp_path: Path) -> None:
    home = project(tmp_path, leave_out="")
    out = installed.shell(DBT.block("bash", "dbt run"), home)
    assert dovetail.__version__ in out
    assert "PASS=5 WARN=0 ERROR=0" in out

    jar = installed.shell("dovetail jar-path", home).strip()
    orders = ", (select array_join(collect_list(reordered || ' of ' || groups), ', ') from shop.join_orders) as orders"
    assert show(installed, home, wrong_and_all(orders), DOVETAIL_JAR=jar) == [RIGHT | {"orders": "1 of 1"}]


def test_thrift_server(installed: Environment, tmp_path: Path) -> None:
    """Each statement comes from a new client, because Hive closes class loaders when a client disconnects."""
    port = free_port()
    profile = replaced(DBT.file(THRIFT), {"10000": str(port)})
    home = project(tmp_path, leave_out="models/join_orders.sql", **{"profiles.yml": profile})
    command = SQL.block("bash", "HiveThriftServer2").strip()
    with installed.server(f"{command} --hiveconf hive.server2.thrift.port={port}", port, home):
        out = installed.shell("dbt run", home)
        assert "PASS=4 WARN=0 ERROR=0" in out
        (version,) = show(installed, home, "SELECT * FROM dovetail_version()")
        assert version["enabled"] is True
        assert show(installed, home, wrong_and_all()) == [RIGHT]
        model = DBT.file("models/sales_of_brand.sql")
        (explained,) = show(installed, home, f"select * from dovetail_explain('{model}', 'json')")
        (group,) = json.loads(explained["explain"])["groups"]
        assert group["status"] == "reordered"


def wrong_and_all(also: str = "") -> str:
    """A query for the number of wrong rows in the page's model, of all its rows, and of its source's analyzed rows."""
    model = "select * from shop.sales_of_brand"
    return (
        f"select (select count(*) from (({model} except {ANSWER}) union all ({ANSWER} except {model}))) as wrong, "
        f"(select count(*) from ({model})) as `all`, "
        f"(select max(rows) from dovetail_stats('shop.sale') where kind = 'table') as analyzed {also}"
    )


RIGHT = {"wrong": 0, "all": 1, "analyzed": 30000}


def test_spark_sql(installed: Environment, tmp_path: Path) -> None:
    told = replaced(SQL.block("sql", "dovetail_version"), {"SELECT …": "SELECT count(*) FROM db.sales"})
    (tmp_path / "told.sql").write_text(
        f"CREATE DATABASE db; CREATE TABLE db.sales USING parquet AS SELECT id FROM range(10);\n{told}",
        encoding="utf-8",
    )
    out = installed.shell(SQL.block("bash", "spark-sql").strip() + " -f told.sql", tmp_path)
    assert out.startswith(f"{dovetail.__version__}\t")
    assert "spark.dovetail.enabled\tfalse" in out
