"""Builds the wheel, installs it into a new environment together with pyspark, and runs a user's first lines there.

DOVETAIL_WHEEL_PYSPARK selects the pyspark version (default: that of this run), so that CI can test every Spark line.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import dovetail
from dovetail.errors import UnsupportedSparkError
from dovetail.jars import line_of, pyspark_version, supported_lines

pytestmark = pytest.mark.wheel

PYSPARK = os.environ.get("DOVETAIL_WHEEL_PYSPARK") or pyspark_version()

# Time limit of a command. Building, and installing a pyspark of 450 MB, take minutes without a cache.
SECONDS = 900


def run(*words: str | Path, cwd: Path, **env: str) -> str:
    """The output of a command that must succeed, in an environment without references to this tree."""
    hidden = ("SPARK_", "PYSPARK_", "PYTHONPATH", "DOVETAIL_")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(hidden)} | env
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        cwd=cwd,
        env=environ,
    )
    if done.returncode != 0:
        pytest.fail(f"{words}: exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", dist, root, cwd=dist)
    (built,) = dist.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of a new environment that has the wheel, without an extra, and pyspark."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, with_pip=True)
    run(home / "bin" / "pip", "install", "-q", f"pyspark=={PYSPARK}", wheel, cwd=home)
    return home / "bin"


def supported() -> bool:
    try:
        line_of(PYSPARK)
    except UnsupportedSparkError:
        return False
    return True


needs_a_jar = pytest.mark.skipif(not supported(), reason=f"Dovetail has no jar for pyspark {PYSPARK}")


def license_in(jar: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(jar)) as archive:
        return archive.read("META-INF/LICENSE").decode()


def test_the_wheel_has_every_jar_and_its_types(wheel: Path) -> None:
    assert wheel.name == f"dovetail_spark-{dovetail.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"dovetail_spark-{dovetail.__version__}.dist-info/METADATA").decode()
        licenses = {
            line.jar_name: license_in(archive.read(f"dovetail/jars/{line.jar_name}")) for line in supported_lines()
        }
    assert {f"dovetail/jars/{line.jar_name}" for line in supported_lines()} <= names
    assert {"dovetail/jars/lines.json", "dovetail/py.typed", "dovetail/__init__.py"} <= names
    assert not [name for name in names if name.startswith(("tests", "scala", "python/"))]
    assert {jar: "Apache License" in text for jar, text in licenses.items()} == dict.fromkeys(licenses, True)
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert required == []


@needs_a_jar
def test_one_line_switches_it_on(installed: Path, tmp_path: Path) -> None:
    code = (
        "import dovetail, json\n"
        "from pyspark.sql import SparkSession\n"
        "spark = dovetail.enable(SparkSession.builder).getOrCreate()\n"
        "print(json.dumps([dovetail.__file__, spark.sql('SELECT * FROM dovetail_version()').first().asDict()]))\n"
    )
    file, version = json.loads(run(installed / "python", "-c", code, cwd=tmp_path).splitlines()[-1])
    assert Path(file).is_relative_to(installed.parent)
    assert version["version"] == dovetail.__version__
    assert version["enabled"] is True


@needs_a_jar
def test_spark_submit_with_the_jars_path(installed: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.getOrCreate()\n"
        "print('job says', spark.sql('SELECT version FROM dovetail_version()').first()[0])\n"
    )
    jar = run(installed / "dovetail", "jar-path", cwd=tmp_path).strip()
    words = run(installed / "dovetail", "submit-args", cwd=tmp_path).split()
    assert words == ["--jars", jar, "--conf", "spark.sql.extensions=dovetail.DovetailExtensions"]
    out = run(installed / "spark-submit", *words, job, cwd=tmp_path, PYSPARK_PYTHON=str(installed / "python"))
    assert f"job says {dovetail.__version__}" in out


@needs_a_jar
def test_doctor(installed: Path, tmp_path: Path) -> None:
    checks = json.loads(run(installed / "dovetail", "doctor", "--json", cwd=tmp_path))
    assert {check["name"]: check["status"] for check in checks}["session"] == "ok"


@pytest.mark.skipif(supported(), reason=f"Dovetail has a jar for pyspark {PYSPARK}")
def test_a_pyspark_without_a_jar_is_refused_and_goes_on_without(installed: Path, tmp_path: Path) -> None:
    code = (
        "import dovetail\n"
        "from pyspark.sql import SparkSession\n"
        "builder = SparkSession.builder.config('spark.ui.enabled', 'false')\n"
        "try:\n"
        "    builder = dovetail.enable(builder)\n"
        "except dovetail.errors.UnsupportedSparkError as error:\n"
        "    print(error)\n"
        "print('sum', builder.getOrCreate().range(5).groupBy().sum().first()[0])\n"
    )
    refusal, total = run(installed / "python", "-c", code, cwd=tmp_path).splitlines()[-2:]
    assert refusal.startswith(
        f"Dovetail {dovetail.__version__} has no jar for Spark {PYSPARK}. Supported Spark lines: "
    )
    assert total == "sum 10"
