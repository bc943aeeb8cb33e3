"""The commands on the page on spark-submit: run in local mode; for clusters, only spark-submit's settings are checked.

There is no cluster: with --verbose, spark-submit prints the job that it is about to submit, and then cannot connect.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from page import Page, replaced

import dovetail

pytestmark = [pytest.mark.primary, pytest.mark.slow]

PAGE = Page("spark-submit.md")

JOB = """from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
print("on", *spark.sql("SELECT version, enabled FROM dovetail_version()").head())
"""

ON = f"on {dovetail.__version__} True"

# YARN configuration for a resource manager that does not exist, so that spark-submit does not wait for it.
NOWHERE = """<configuration>
  <property><name>yarn.resourcemanager.address</name><value>127.0.0.1:1</value></property>
  <property><name>yarn.resourcemanager.connect.max-wait.ms</name><value>1000</value></property>
  <property><name>yarn.resourcemanager.connect.retry-interval.ms</name><value>500</value></property>
  <property><name>yarn.client.failover-no-ha-proxy-provider</name>
    <value>org.apache.hadoop.yarn.client.DefaultNoHARMFailoverProxyProvider</value></property>
</configuration>
"""

SECONDS = 240


def submitted(command: str, home: Path, job: str = JOB, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the page, with the job in its directory."""
    (home / "job.py").write_text(job, encoding="utf-8")
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    binaries = Path(sys.executable).parent
    environ |= {
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(dovetail.__file__).parents[1]),
        **env,
    }
    words = ["bash", "-e", "-c", command]
    return subprocess.run(
        words,
        cwd=home,
        env=environ,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def settings(verbose: str) -> dict[str, str]:
    """The settings that spark-submit prints."""
    told = verbose[verbose.index("Spark config:") :]
    return dict(re.findall(r"^\((spark\.[\w.]+),(.*)\)$", told, re.MULTILINE))


def test_local_mode(tmp_path: Path) -> None:
    command = PAGE.block("bash", "$(dovetail jar-path)")
    done = submitted(replaced(command, {"spark-submit": "spark-submit --master 'local[2]'"}), tmp_path)
    assert ON in done.stdout, done.stderr[-3000:]


def test_a_driver_with_the_jar_on_its_class_path(tmp_path: Path) -> None:
    """As in an image that has the jar below jars/: no setting names it. The job calls `enable`, which is allowed."""
    (setting,) = re.findall(r"--conf spark\.sql\.extensions=\S+", PAGE.block("bash", "k8s://"))
    job = JOB.replace(
        'SparkSession.builder.config("spark.ui.enabled", "false")', "dovetail.enable(SparkSession.builder)"
    )
    command = f"spark-submit --master 'local[2]' --conf spark.ui.enabled=false {setting} job.py"
    done = submitted(command, tmp_path, f"import dovetail\n{job}", SPARK_DIST_CLASSPATH=dovetail.jar_path())
    assert ON in done.stdout, done.stderr[-3000:]


def test_yarn(tmp_path: Path) -> None:
    (tmp_path / "yarn-site.xml").write_text(NOWHERE, encoding="utf-8")
    command = replaced(PAGE.block("bash", "yarn"), {"spark-submit": "spark-submit --verbose"})
    done = submitted(command, tmp_path, HADOOP_CONF_DIR=str(tmp_path))
    found = settings(done.stdout + done.stderr)
    assert found["spark.sql.extensions"] == "dovetail.DovetailExtensions"
    assert found["spark.submit.deployMode"] == "cluster"
    # spark-submit ships the jar: this is the key on YARN for --jars
    assert found["spark.yarn.dist.jars"].endswith(Path(dovetail.jar_path()).name)


def test_kubernetes(tmp_path: Path) -> None:
    nowhere = {"https://cluster:6443": "https://127.0.0.1:1", "spark-submit": "spark-submit --verbose"}
    done = submitted(replaced(PAGE.block("bash", "k8s://"), nowhere), tmp_path)
    found = settings(done.stdout + done.stderr)
    assert found["spark.sql.extensions"] == "dovetail.DovetailExtensions"
    assert found["spark.kubernetes.container.image"] == "registry/spark-with-dovetail:4.1"
    assert "local:///opt/jobs/job.py" in done.stdout + done.stderr
