"""The Databricks init script, run by bash in a directory that looks like a cluster's disk."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from command import typed

from dovetail import init_script
from dovetail.errors import StatementError
from dovetail.jars import line_of, pyspark_version

BASH = shutil.which("bash") or "/bin/bash"
VOLUME = "/Volumes/main/it's here/dovetail"
LINE = line_of(pyspark_version())


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A disk with a runtime, a volume with the jar and the script, and an old Dovetail jar from an image."""
    jars = tmp_path / "databricks" / "jars"
    jars.mkdir(parents=True)
    (jars / f"dovetail-spark-{LINE.name}_{LINE.scala_binary}-0.0.1.jar").write_text("old")
    (jars / "spark-core.jar").write_text("Spark's")
    (tmp_path / "databricks" / "driver" / "conf").mkdir(parents=True)
    init_script.databricks(VOLUME, LINE.name).write(tmp_path / VOLUME[1:])
    return tmp_path


def run(cluster: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BASH, str(cluster / VOLUME[1:] / init_script.SCRIPT_NAME)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"DOVETAIL_ROOT": str(cluster), "PATH": "/usr/bin:/bin", **environment},
    )


def conf(cluster: Path) -> Path:
    return cluster / "databricks" / "driver" / "conf"


def files(cluster: Path) -> dict[str, bytes]:
    return {str(f.relative_to(cluster)): f.read_bytes() for f in cluster.rglob("*") if f.is_file()}


def jars(cluster: Path) -> list[str]:
    return sorted(file.name for file in (cluster / "databricks" / "jars").iterdir())


def test_the_jar_comes_to_the_class_path_and_only_once(cluster: Path) -> None:
    jar = init_script.databricks(VOLUME, LINE.name).jar
    for _ in range(2):
        done = run(cluster)
        assert (done.returncode, done.stderr) == (0, "")
        assert jars(cluster) == [jar.name, "spark-core.jar"]
    assert (cluster / "databricks" / "jars" / jar.name).read_bytes() == jar.read_bytes()


def test_the_driver_gets_the_extension_and_a_second_run_changes_nothing(cluster: Path) -> None:
    first = run(cluster)
    settings = (conf(cluster) / "00-dovetail.conf").read_text()
    assert settings == '[driver] {\n  "spark.sql.extensions" = "dovetail.DovetailExtensions"\n}\n'
    assert "copied to" in first.stdout
    before = files(cluster)
    again = run(cluster)
    assert (again.returncode, again.stderr) == (0, "")
    assert "already" in again.stdout
    assert files(cluster) == before


def test_an_executor_gets_the_jar_alone(cluster: Path) -> None:
    assert run(cluster, DB_IS_DRIVER="FALSE").returncode == 0
    assert list(conf(cluster).iterdir()) == []
    assert len(jars(cluster)) == 2


def test_a_dry_run_says_all_and_does_nothing(cluster: Path) -> None:
    before = files(cluster)
    done = run(cluster, DOVETAIL_DRY_RUN="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(": ")[1] for line in done.stdout.splitlines()] == ["would do"] * 3
    assert files(cluster) == before


def test_extensions_of_somebody_else_are_left_and_named(cluster: Path) -> None:
    theirs = conf(cluster) / "10-ours.conf"
    theirs.write_text('[driver] {\n "spark.sql.extensions" = "io.example.Extensions"\n}\n')
    done = run(cluster)
    assert done.returncode == 0
    assert f"is set in {theirs}: append ,dovetail.DovetailExtensions there" in done.stderr
    assert list(conf(cluster).iterdir()) == [theirs]


def test_without_its_jar_the_extension_goes_too(cluster: Path) -> None:
    run(cluster)
    for file in (cluster / VOLUME[1:]).glob("*.jar"):
        file.unlink()
    assert "starts without Dovetail" in run(cluster).stderr
    assert list(conf(cluster).iterdir()) == []


def test_a_cluster_starts_without_the_jar_and_says_so(cluster: Path) -> None:
    for file in (cluster / VOLUME[1:]).glob("*.jar"):
        file.unlink()
    before = jars(cluster)
    done = run(cluster)
    assert done.returncode == 0
    assert "no readable file" in done.stderr
    assert "starts without Dovetail" in done.stderr
    assert jars(cluster) == before


def test_another_machine_is_left_as_it_is(cluster: Path) -> None:
    (cluster / "databricks").rename(cluster / "other")
    done = run(cluster)
    assert done.returncode == 0
    assert "is this a Databricks runtime?" in done.stderr
    assert not (cluster / "databricks").exists()


def test_command(tmp_path: Path) -> None:
    words = ["init-script", "--platform", "databricks", "--volume", "/Volumes/a/b/c/", "--spark-version", LINE.name]
    printed = typed(*words)
    assert printed.code == 0
    assert printed.out == init_script.databricks("/Volumes/a/b/c", LINE.name).script
    assert "volume=/Volumes/a/b/c\n" in printed.out
    assert "already sets spark.sql.extensions" in printed.err
    assert ",dovetail.DovetailExtensions" in printed.err
    written = typed(*words, "--output", str(tmp_path / "out"))
    assert (written.code, written.out) == (0, "")
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert names == ["dovetail-init.sh", Path(init_script.databricks(VOLUME, LINE.name).jar).name, "spark.conf"]


@pytest.mark.parametrize("volume", ["dbfs:/x", "relative", "/", "/a/../b", "/a\nrm -rf /"])
def test_what_is_no_directory_of_a_cluster(volume: str) -> None:
    with pytest.raises(StatementError, match="Give an absolute path such as /Volumes"):
        init_script.databricks(volume, LINE.name)
