"""Checks of `dovetail doctor` for the configuration of a new session on this machine and for the statistics store.

The checks start nothing. They read PYSPARK_SUBMIT_ARGS and spark-defaults.conf. They do not see what a program sets on
its session builder; `dovetail.enable` checks that.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from dovetail import _launch
from dovetail._check import Check
from dovetail._settings import PREFIX, STORE_PATH
from dovetail.config import Config
from dovetail.errors import ConfigError, DovetailError
from dovetail.jars import EXTENSION, JAR_PREFIX, SparkLine, line_of, pyspark_version
from dovetail.session import EXTENSIONS_KEY, SUBMITTED_JARS_KEYS

PACKAGES_KEY = "spark.jars.packages"
EXCLUDED_KEY = "spark.sql.optimizer.excludedRules"

# Spark's own join reordering is on only if both settings are true.
SPARK_REORDERING = ("spark.sql.cbo.enabled", "spark.sql.cbo.joinReorder.enabled")

# Prefixes of extension classes that add their own commands and rules, and must come before Dovetail's class.
COME_FIRST = ("io.delta.",)

WAREHOUSE_KEY = "spark.sql.warehouse.dir"
STORE_SUFFIX = ".stats"
DAY_SECONDS = 86_400

Conf = Mapping[str, str]


def examine() -> list[Check]:
    """Runs all checks of this file."""
    conf = _launch.configured()
    return [check(conf) for check in (_extension, _extension_jar, _conflicts, _settings, _store)]


def _extension(conf: Conf) -> Check:
    """The order of spark.sql.extensions."""
    classes = _launch.split_list(conf.get(EXTENSIONS_KEY))
    if EXTENSION not in classes:
        others = f" (and keep {', '.join(classes)})" if classes else ""
        return Check("extension", "ok", f"not configured here: enable() and submit-args add it{others}")
    at = classes.index(EXTENSION)
    late = [name for name in classes[at + 1 :] if name.startswith(COME_FIRST)]
    if late or classes.count(EXTENSION) > 1:
        right = [name for name in dict.fromkeys(classes) if name != EXTENSION]
        found = f"{late[0]} comes after {EXTENSION}" if late else f"{EXTENSION} is listed more than once"
        return Check("extension", "failed", found, f"set {EXTENSIONS_KEY}={','.join([*right, EXTENSION])}")
    return Check("extension", "ok", f"{EXTENSIONS_KEY}={','.join(classes)}")


def _extension_jar(conf: Conf) -> Check:
    """Checks the jars of extension classes. Spark skips a class without its jar, with one line in the log."""
    name = "extension jar"
    entries = [entry for key in SUBMITTED_JARS_KEYS for entry in _launch.split_list(conf.get(key))]
    entries.append(os.environ.get("SPARK_DIST_CLASSPATH", ""))
    names = [name for entry in entries for part in entry.split(os.pathsep) for name in _jars_of(part)]
    home = _launch.spark_home()
    if home is not None and (home / "jars").is_dir():
        names += sorted(file.name for file in (home / "jars").glob(f"{JAR_PREFIX}*.jar"))
    ours = [entry for entry in names if entry.startswith(JAR_PREFIX)]
    try:
        line: SparkLine | None = line_of(pyspark_version())
    except DovetailError:
        line = None
    wrong = [entry for entry in ours if line is not None and line.refuses(entry)]
    if line is not None and wrong:
        fix = f"replace it with the path that `dovetail jar-path` prints: the installed pyspark is Spark {line.name}"
        return Check(name, "failed", f"{wrong[0]} is for another Spark line", fix)
    named = EXTENSION in _launch.split_list(conf.get(EXTENSIONS_KEY))
    if named and not ours and "dovetail" not in (conf.get(PACKAGES_KEY) or ""):
        fix = "add the jar: --jars $(dovetail jar-path), or spark.jars in spark-defaults.conf"
        return Check(name, "failed", f"{EXTENSIONS_KEY} names {EXTENSION}, but no jar contains it", fix)
    return Check(name, "ok", ours[0] if ours else "not configured here: enable() and submit-args add it")


def _jars_of(part: str) -> list[str]:
    """Names of the jars of a part of a class path, which may be all jars of a directory."""
    if part.endswith(f"{os.sep}*"):
        return sorted(file.name for file in Path(part[:-1]).glob("*.jar"))
    return [part.rsplit("/", 1)[-1]]


def _conflicts(conf: Conf) -> Check:
    """Spark settings that conflict with Dovetail or switch it off."""
    name = "spark settings"
    if all(_is_true(conf.get(key)) for key in SPARK_REORDERING):
        fix = f"set {SPARK_REORDERING[1]}=false: otherwise Spark orders the joins that Dovetail leaves alone"
        return Check(name, "warning", "Spark's own cost-based reordering is on, too", fix)
    excluded = [rule for rule in _launch.split_list(conf.get(EXCLUDED_KEY)) if "dovetail" in rule]
    if excluded:
        return Check(name, "failed", f"{EXCLUDED_KEY} excludes {excluded[0]}", f"remove it from {EXCLUDED_KEY}")
    return Check(name, "ok", "no conflict")


def _settings(conf: Conf) -> Check:
    """Dovetail's own settings."""
    name = "dovetail settings"
    found = {key: value for key, value in conf.items() if key.startswith(PREFIX)}
    try:
        Config.check_conf(found)
    except ConfigError as error:
        return Check(name, "failed", str(error), "correct or remove it in spark-defaults.conf or PYSPARK_SUBMIT_ARGS")
    if "spark.dovetail.enabled" in found and not _is_true(found["spark.dovetail.enabled"]):
        return Check(name, "warning", "spark.dovetail.enabled=false", "remove it, or set it to true in the session")
    return Check(name, "ok", ", ".join(f"{key}={value}" for key, value in found.items()) or "all have defaults")


def _store(conf: Conf) -> Check:
    """The statistics store: whether it is writable, and whether it has statistics."""
    name = "statistics"
    location = conf.get(STORE_PATH) or f"{conf.get(WAREHOUSE_KEY) or 'spark-warehouse'}/.dovetail/statistics"
    url = urlsplit(location)
    if url.scheme not in ("", "file"):
        return Check(name, "ok", f"{location} (not checked: not on a disk of this machine)")
    directory = Path(url2pathname(url.path)).absolute()
    if problem := _unwritable(directory):
        fix = f"make it writable, or set {STORE_PATH} to a writable directory; until then dovetail.analyze fails"
        return Check(name, "warning", f"{directory}: {problem}", fix)
    stored = sorted(directory.glob(f"*{STORE_SUFFIX}")) if directory.is_dir() else []
    if not stored:
        fix = (
            'dovetail.analyze(spark, "database") or `dovetail analyze` collects them; until then, sizes come from the '
            "files"
        )
        return Check(name, "ok", f"none yet in {directory}", fix)
    days = (time.time() - min(file.stat().st_mtime for file in stored)) / DAY_SECONDS
    found = f"for {len(stored)} tables in {directory}, the oldest {days:.0f} days old"
    return Check(name, "ok", found + "; dovetail.stats(spark, table) shows whether those of a table are stale")


def _unwritable(directory: Path) -> str:
    """Why a directory cannot be written or created; empty if it can."""
    # below a directory that cannot be read, os.path.exists is false; Path.exists raises an error before Python 3.14
    there = next(parent for parent in (directory, *directory.parents) if os.path.exists(parent))  # noqa: PTH110
    if not there.is_dir():
        return f"{there} is a file"
    return "" if os.access(there, os.W_OK | os.X_OK) else f"no permission to write to {there}"


def _is_true(value: str | None) -> bool:
    return (value or "").lower() == "true"
