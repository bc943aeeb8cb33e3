"""`dovetail doctor`: checks everything that Dovetail needs, starts a session, and names the fix of each fault.

The session starts in a separate process, because a process that has started a JVM cannot start one with another class
path.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from dovetail import _launch, _py4j, _surroundings
from dovetail._check import Check as Check  # re-exported for users of this module
from dovetail.errors import DovetailError, PySparkMissingError, UnsupportedSparkError
from dovetail.jars import EXTENSION, REINSTALL, jar_path, line_of, parse_line, pyspark_version, supported_lines

OLDEST_PYTHON = (3, 10)

# Java releases by Spark's major version: those of Spark's documentation, except Java 8. Spark 3.5 runs on Java 8, but
# Dovetail's jar for it calls methods of Java 11. Newer releases may work; for them, the session check decides.
JAVA_FOR_SPARK = {3: (11, 17), 4: (17, 21)}

# Time limit for the start of a session, in seconds. On a loaded machine, a start takes about 10 s; a session that takes
# this long is stuck.
SESSION_SECONDS = 180

# A line of a Java stack trace that is not an exception.
_JAVA_FRAME = re.compile(r"\s+(at |\.\.\. \d+ more)")

# Settings for a session that lives only seconds: it compiles as little as possible, which saves a third of its time.
_LEAN = {
    "spark.ui.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_JVM_OPTIONS = "SPARK_SUBMIT_OPTS"
_LEAN_JVM = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1"

# Begins the line with the probe's answer, which sets it apart from Spark's output.
_MARK = "dovetail-doctor:"
_PROBE = f"""
import json, sys
sys.path.append({str(Path(__file__).resolve().parents[1])!r})
import dovetail
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").appName("dovetail doctor").config(map={_LEAN!r})
spark = dovetail.enable(builder).getOrCreate()
print("{_MARK}" + json.dumps(dovetail.status(spark).to_dict()))
spark.stop()
"""


def examine(session: bool = True) -> list[Check]:
    """Runs all checks; later checks depend on earlier ones.

    Args:
        session: Whether to start a session; the other checks are fast.
    """
    checks = [check() for check in (_python, _pyspark, _java, _spark_home, _jar)]
    checks += _surroundings.examine()
    if not session:
        return checks
    if _is_client_only():
        note = "not started: this is a client of Spark Connect. dovetail.status(spark) shows what its server has"
        return [*checks, Check("session", "skipped", note)]
    broken = [check.name for check in checks if check.status == "failed"]
    checks.append(Check("session", "skipped", f"not started: first fix {', '.join(broken)}") if broken else _session())
    return checks


def _python() -> Check:
    found = f"{sys.version.split()[0]} ({sys.executable})"
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return Check("python", "ok", found)
    return Check("python", "failed", found, "use Python 3.10 or newer")


def _pyspark() -> Check:
    try:
        version = pyspark_version()
    except PySparkMissingError:
        return Check("pyspark", "failed", "not installed", "pip install 'dovetail-spark[spark]'")
    try:
        line = line_of(version)
    except DovetailError as error:
        return Check("pyspark", "failed", version, str(error))
    return Check("pyspark", "ok", f"{version} (Spark line {line.name}, Scala {line.scala_binary})")


def _java() -> Check:
    if _is_client_only():
        return Check("java", "skipped", "a client of Spark Connect needs no Java")
    home = os.environ.get("JAVA_HOME")
    # on Windows, the file has an extension
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    install = "install Java 17 (apt-get install openjdk-17-jre-headless, or brew install openjdk@17)"
    if java is None:
        where = f"JAVA_HOME={home} has no bin/java" if home else "java is not on the PATH"
        return Check("java", "failed", where, install + ("" if not home else ", and set JAVA_HOME to it"))
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("java", "failed", f"{java} does not run: {error}", install)
    release = java_release(output)
    if release is None:
        return Check(
            "java",
            "warning",
            f"{java} prints an unknown version: {output.strip()[:80]!r}",
            "see the session check below",
        )
    allowed = _java_allowed()
    found = f"{release} ({java})"
    if release in allowed:
        return Check("java", "ok", found)
    names = " or ".join(map(str, allowed))
    if release > max(allowed):
        return Check(
            "java", "warning", found, f"Spark supports Java {names}; if the session check below fails, {install}"
        )
    fix = f"Dovetail on this Spark needs Java {names}: {install}, and set JAVA_HOME to it"
    return Check("java", "failed", found, fix)


def _is_client_only() -> bool:
    """Whether the installed pyspark is the package `pyspark-client`, which cannot start a Spark of its own."""
    try:
        pyspark_version()
    except PySparkMissingError:
        return False
    return not _py4j.has_contexts()


def java_release(output: str) -> int | None:
    """The feature release in the output of `java -version`: 8 for 1.8.0_402, 17 for 17.0.9.

    >>> java_release('openjdk version "17.0.9" 2023-10-17'), java_release('java version "1.8.0_402"')
    (17, 8)
    """
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else None


def _java_allowed() -> tuple[int, ...]:
    try:
        major, _ = parse_line(pyspark_version())
    except DovetailError:
        major = max(JAVA_FOR_SPARK)
    return JAVA_FOR_SPARK.get(major, JAVA_FOR_SPARK[max(JAVA_FOR_SPARK)])


def _spark_home() -> Check:
    """Checks SPARK_HOME: pyspark starts the Spark there, which may differ from its own."""
    home = os.environ.get("SPARK_HOME")
    if not home:
        return Check("spark home", "ok", "not set: pyspark starts its own Spark")
    core = next(iter(sorted((Path(home) / "jars").glob("spark-core_*.jar"))), None)
    if core is None:
        return Check(
            "spark home",
            "warning",
            f"{home} has no jars/spark-core_*.jar",
            "unset SPARK_HOME, or set it to a Spark installation",
        )
    _, scala, release = re.split("[_-]", core.stem.removeprefix("spark-"), maxsplit=2)
    try:
        line = line_of(pyspark_version())
        same = parse_line(release) == (line.major, line.minor)
    except DovetailError:
        return Check("spark home", "skipped", f"{home} is Spark {release}; the line of pyspark is unknown")
    if same and scala != line.scala_binary:
        fix = f"use Spark {line.name} with Scala {line.scala_binary}: a jar supports only one Scala version"
        return Check("spark home", "failed", f"{home} is built with Scala {scala}", fix)
    if same:
        return Check("spark home", "ok", f"{home} (Spark {release}, Scala {scala})")
    fix = "unset SPARK_HOME, or install the pyspark of that Spark: the version of pyspark selects the jar"
    return Check("spark home", "failed", f"{home} is Spark {release}, which is not the line of pyspark", fix)


def _jar() -> Check:
    try:
        lines = ", ".join(line.name for line in supported_lines())
        jar = jar_path()
    except (PySparkMissingError, UnsupportedSparkError):
        return Check("jar", "skipped", "pyspark selects the jar: first fix pyspark")
    except DovetailError as error:
        return Check("jar", "failed", "missing", str(error))
    try:
        with zipfile.ZipFile(jar) as archive:
            archive.getinfo(EXTENSION.replace(".", "/") + ".class")
            broken = archive.testzip()
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        broken = str(error)
    if broken:
        return Check("jar", "failed", f"{jar} is broken: {broken}", f"{REINSTALL}; in a clone, run `make jars`")
    return Check("jar", "ok", f"{jar} (lines in this package: {lines})")


def _session() -> Check:
    try:
        stdout, stderr = _probed()
    except subprocess.TimeoutExpired:
        fix = "check for a proxy or firewall between Python and its JVM on localhost, and for a lack of memory"
        return Check("session", "failed", f"did not start within {SESSION_SECONDS} s", fix)
    for line in stdout.splitlines():
        if line.startswith(_MARK):
            status = json.loads(line.removeprefix(_MARK))
            return Check(
                "session", "ok", f"dovetail_version() returns {status['version']} on Spark {status['spark_version']}"
            )
    # Python's error comes last, and a Java stack trace may follow it: the last line that is not a frame has the cause
    told = [line.strip() for line in stderr.splitlines() if line.strip() and not _JAVA_FRAME.match(line)]
    return Check("session", "failed", (told or ["no output"])[-1], _session_fix(stderr))


def _probed() -> tuple[str, str]:
    """Runs the probe; returns its stdout and stderr. On a timeout or Ctrl-C, kills its process group, with its JVM.

    The probe writes to files, because the JVM ends two seconds after Python and would keep pipes open until then.
    """
    environ = {**os.environ, _JVM_OPTIONS: f"{os.environ.get(_JVM_OPTIONS, '')} {_LEAN_JVM}".strip()}
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        command = [sys.executable, "-c", _PROBE]
        with subprocess.Popen(command, stdout=stdout, stderr=stderr, env=environ, start_new_session=True) as probe:
            try:
                probe.wait(timeout=SESSION_SECONDS)
            except BaseException:
                if hasattr(os, "killpg"):
                    os.killpg(probe.pid, signal.SIGKILL)
                probe.kill()
                raise
        for file in (stdout, stderr):
            file.seek(0)
        return stdout.read(), stderr.read()


def _session_fix(stderr: str) -> str:
    if os.environ.get("SPARK_REMOTE"):
        return "SPARK_REMOTE names a Spark Connect server: unset it to check this machine"
    if "NotEnabledError" in stderr:
        return (
            "the session runs without Dovetail: search the log of one of your sessions for 'Dovetail' or 'Cannot use "
            "dovetail'; another value of spark.sql.extensions or spark.jars may replace that of enable()"
        )
    if _launch.SUBMIT_ARGS in os.environ:
        return f"unset {_launch.SUBMIT_ARGS} and try again, or run `pyspark` and read its first error"
    return "run `pyspark` and read its first error"
