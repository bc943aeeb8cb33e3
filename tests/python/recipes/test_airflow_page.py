"""The DAG on the page of Airflow runs its job with Dovetail, submitted by Airflow's own operator."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from environment import Environment
from page import Page, replaced

pytestmark = pytest.mark.recipes

PAGE = Page("airflow.md")

# Directories of Spark and of the data on the page.
SPARK, DATA = "/opt/spark", "/data/shop"

# The tables that the job joins, which the reader has already, and the right answer.
TABLES = {
    "sale": "select id as sale, id % 2000 as item, id % 50 as store, id % 7 as amount from range(30000)",
    "item": "select id as item, id % 100 as brand from range(2000)",
    "store": "select id as store, id % 5 as region from range(50)",
}
ANSWER = "select item % 50 % 5 as region, sum(sale % 7) as amount from ("
ANSWER += "select id as sale, id % 2000 as item from range(30000)) where item % 100 = 42 group by 1"

WRITE = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").getOrCreate()
for name, query in json.loads(sys.argv[2]).items():
    spark.sql(query).write.parquet(f"{sys.argv[1]}/{name}")
"""
READ = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").getOrCreate()
found, right = spark.read.parquet(sys.argv[1]), spark.sql(sys.argv[2])
print("rows", found.count(), "wrong", found.exceptAll(right).count() + right.exceptAll(found).count())
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("airflow")


@pytest.fixture(scope="module")
def airflow(home: Path) -> Environment:
    return Environment.of(home / "airflow", PAGE.block("bash", "apache-airflow-providers").strip())


@pytest.fixture(scope="module")
def spark(home: Path) -> Environment:
    """The environment into which the page installs Spark and Dovetail."""
    _, install = PAGE.block("bash", "python3 -m venv").splitlines()
    return Environment.of(home / "spark", install.removeprefix(f"{SPARK}/bin/"))


def test_the_dag(airflow: Environment, spark: Environment, home: Path) -> None:
    here = {SPARK: str(home / "spark"), DATA: str(home / "shop")}
    dag, job = PAGE.file("dags/shop.py"), PAGE.file("jobs/sales_of_brand.py")
    for name, text in {
        "dags/shop.py": replaced(dag, {SPARK: here[SPARK]}),
        "jobs/sales_of_brand.py": replaced(job, {DATA: here[DATA]}),
        "write.py": WRITE,
        "read.py": READ,
    }.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    (home / "tables.json").write_text(json.dumps(TABLES), encoding="utf-8")
    (home / "answer.sql").write_text(ANSWER, encoding="utf-8")
    spark.shell('python write.py shop "$(cat tables.json)"', home)

    exported = replaced(PAGE.block("bash", "SPARK_HOME"), {SPARK: here[SPARK]})
    own = {"AIRFLOW_HOME": str(home / "own"), "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags")}
    own |= {"AIRFLOW__CORE__LOAD_EXAMPLES": "false", "HOME": str(home)}
    log = airflow.shell(f"{exported}\n({PAGE.block('bash', 'airflow dags test')}) 2>&1", home, **own)
    # one query, one group of joins, which was reordered: | 1| 1| 1| 0.2|
    assert re.search(r"\| +\d+\| +1\| +1\| *0\.\d+\|", log), log[-4000:]

    told = spark.shell('python read.py shop/sales_of_brand "$(cat answer.sql)"', home)
    assert "rows 1 wrong 0" in told
