"""What the driver's JVM will be started with, from everything that decides it outside the session builder.

pyspark starts the JVM as `spark-submit <builder's options as --conf> $PYSPARK_SUBMIT_ARGS`, and spark-submit adds
conf/spark-defaults.conf beneath. What comes later wins, `--jars` wins over `--conf spark.jars`, and nothing is ever
merged: so whoever wants to append has to read all of it. This module reads, and rewrites PYSPARK_SUBMIT_ARGS where a
value in it would hide ours.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"
# Set by spark-submit for the Python process it starts: the JVM is older than this process.
GATEWAY_PORT = "PYSPARK_GATEWAY_PORT"

# Options of spark-submit that are another spelling of a configuration key.
_OPTION_OF_KEY = {"spark.jars": "--jars", "spark.master": "--master", "spark.remote": "--remote"}


def split_list(value: str | None) -> list[str]:
    """Entries of a comma separated configuration value, without blanks and empty entries.

    >>> split_list(" a.jar, ,b.jar"), split_list(None)
    (['a.jar', 'b.jar'], [])
    """
    return [entry for entry in (part.strip() for part in (value or "").split(",")) if entry]


def append(value: str | None, entry: str) -> str:
    """The comma separated value with `entry` at its end, unchanged where it is in it already.

    >>> append("io.delta.sql.DeltaSparkSessionExtension", "dovetail.DovetailExtensions")
    'io.delta.sql.DeltaSparkSessionExtension,dovetail.DovetailExtensions'
    >>> append("a,b", "a")
    'a,b'
    """
    entries = split_list(value)
    return ",".join(entries if entry in entries else [*entries, entry])


def submit_args_value(key: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The value that PYSPARK_SUBMIT_ARGS gives a configuration key, None where it gives none."""
    words = shlex.split(environ.get(SUBMIT_ARGS, ""))
    values = {option: value for _, option, value in _settings(words, key)}
    return values.get("option", values.get("conf"))


def replace_in_submit_args(key: str, value: str) -> None:
    """Gives `key` another value in this process's PYSPARK_SUBMIT_ARGS, at every place where it is set there."""
    words = shlex.split(os.environ.get(SUBMIT_ARGS, ""))
    for index, option, _ in list(_settings(words, key)):
        joined = words[index].startswith("--") and "=" in words[index]
        flag = words[index].split("=", 1)[0] + "=" if joined else ""
        words[index] = flag + (value if option == "option" else f"{key}={value}")
    os.environ[SUBMIT_ARGS] = shlex.join(words)


def _settings(words: list[str], key: str) -> Iterator[tuple[int, str, str]]:
    """Each setting of `key` in the words, in order: index of the word with the value, "option" or "conf", the value.

    Of several, spark-submit takes the last; options come before conf.
    """
    own_option = _OPTION_OF_KEY.get(key)
    for index, word in enumerate(words):
        flag, joined, value = word.partition("=")
        at = index
        if not joined:
            if index + 1 == len(words):
                return
            value, at = words[index + 1], index + 1
        if own_option is not None and flag == own_option:
            yield at, "option", value
        elif flag in ("--conf", "-c") and value.partition("=")[0].strip() == key:
            yield at, "conf", value.partition("=")[2].strip()


def defaults_value(key: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The value of a key in the properties file that spark-submit will read, None where it has none."""
    return _defaults(environ).get(key)


def configured(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """All that PYSPARK_SUBMIT_ARGS and the properties file beneath it give a session."""
    found = _defaults(environ)
    words = shlex.split(environ.get(SUBMIT_ARGS, ""))
    named = [word.removeprefix("--conf=").partition("=")[0].strip() for word in words]
    for key in (*_OPTION_OF_KEY, *(key for key in named if key.startswith("spark."))):
        value = submit_args_value(key, environ)
        if value is not None:
            found[key] = value
    return found


def _defaults(environ: Mapping[str, str]) -> dict[str, str]:
    file = _defaults_file(environ)
    if file is None or not file.is_file():
        return {}
    return parse_properties(file.read_text(encoding="utf-8", errors="replace"))


def _defaults_file(environ: Mapping[str, str]) -> Path | None:
    words = shlex.split(environ.get(SUBMIT_ARGS, ""))
    for index, word in enumerate(words[:-1]):
        if word == "--properties-file":
            return Path(words[index + 1])
    if environ.get("SPARK_CONF_DIR"):
        return Path(environ["SPARK_CONF_DIR"]) / "spark-defaults.conf"
    home = spark_home(environ)
    return None if home is None else home / "conf" / "spark-defaults.conf"


def spark_home(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The Spark installation whose JVM pyspark will start: SPARK_HOME, else the pyspark package itself."""
    if environ.get("SPARK_HOME"):
        return Path(environ["SPARK_HOME"])
    pyspark = sys.modules.get("pyspark")
    return None if pyspark is None or pyspark.__file__ is None else Path(pyspark.__file__).parent


def parse_properties(text: str) -> dict[str, str]:
    r"""Reads a Java properties file: `key value`, `key=value` or `key: value` per line; # and ! start a comment.

    >>> parse_properties("spark.jars  a.jar,\\\n  b.jar\n# no\nspark.x=1")
    {'spark.jars': 'a.jar,b.jar', 'spark.x': '1'}
    """
    properties = {}
    for line in re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text).splitlines():
        match = re.match(r"\s*(?P<key>[^\s#!=:][^\s=:]*)\s*[=:\s]?\s*(?P<value>.*)", line)
        if match:
            properties[match["key"]] = match["value"].strip()
    return properties
