"""Finds the settings outside of the session builder with which pyspark will start the driver's JVM.

pyspark starts the JVM as `spark-submit <builder's options as --conf> $PYSPARK_SUBMIT_ARGS`, and spark-submit adds
conf/spark-defaults.conf beneath. Later values replace earlier ones, and `--jars` replaces `--conf spark.jars`; values
are never merged. To append a value, one must read all of these places. This module reads them, and rewrites
PYSPARK_SUBMIT_ARGS if a value there would hide Dovetail's.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from dovetail.errors import ConfigError

SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"
# Set by spark-submit for the Python process that it starts. In such a process, the JVM already runs.
GATEWAY_PORT = "PYSPARK_GATEWAY_PORT"

# Options of spark-submit that are another spelling of a configuration key.
_OPTION_OF_KEY = {
    "spark.jars": "--jars",
    "spark.master": "--master",
    "spark.remote": "--remote",
    "spark.driver.extraClassPath": "--driver-class-path",
}


def split_list(value: str | None) -> list[str]:
    """Entries of a comma-separated configuration value, without blanks and empty entries.

    >>> split_list(" a.jar, ,b.jar"), split_list(None)
    (['a.jar', 'b.jar'], [])
    """
    return [entry for entry in (part.strip() for part in (value or "").split(",")) if entry]


def append(value: str | None, entry: str) -> str:
    """The comma-separated value with `entry` appended, or unchanged if it contains the entry.

    >>> append("io.delta.sql.DeltaSparkSessionExtension", "dovetail.DovetailExtensions")
    'io.delta.sql.DeltaSparkSessionExtension,dovetail.DovetailExtensions'
    >>> append("a,b", "a")
    'a,b'
    """
    entries = split_list(value)
    return ",".join(entries if entry in entries else [*entries, entry])


def _words(environ: Mapping[str, str]) -> list[str]:
    """The words of PYSPARK_SUBMIT_ARGS.

    Raises:
        ConfigError: A quote is not closed.
    """
    text = environ.get(SUBMIT_ARGS, "")
    try:
        return shlex.split(text)
    except ValueError as wrong:
        raise ConfigError(f"{SUBMIT_ARGS} cannot be read: {wrong}. Its value is {text!r}.") from wrong


def submit_args_value(key: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The value of a configuration key in PYSPARK_SUBMIT_ARGS; None if it is not set there."""
    words = _words(environ)
    values = {option: value for _, option, value in _settings(words, key)}
    return values.get("option", values.get("conf"))


def replace_in_submit_args(key: str, value: str) -> None:
    """Replaces every value of `key` in this process's PYSPARK_SUBMIT_ARGS."""
    words = _words(os.environ)
    for index, option, _ in list(_settings(words, key)):
        joined = words[index].startswith("--") and "=" in words[index]
        flag = words[index].split("=", 1)[0] + "=" if joined else ""
        words[index] = flag + (value if option == "option" else f"{key}={value}")
    os.environ[SUBMIT_ARGS] = shlex.join(words)


def _settings(words: list[str], key: str) -> Iterator[tuple[int, str, str]]:
    """Each setting of `key` in the words, in order: index of the word with the value, "option" or "conf", the value.

    If there are several, spark-submit uses the last one, and an option takes precedence over conf.
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
    """The value of a key in the properties file that spark-submit will read; None if it is not set there."""
    return _defaults(environ).get(key)


def configured(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """All settings of a session from PYSPARK_SUBMIT_ARGS and the properties file."""
    found = _defaults(environ)
    words = _words(environ)
    named = [word.removeprefix("--conf=").partition("=")[0].strip() for word in words]
    for key in (*_OPTION_OF_KEY, *(key for key in named if key.startswith("spark."))):
        value = submit_args_value(key, environ)
        if value is not None:
            found[key] = value
    return found


def _defaults(environ: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in _defaults_files(environ):
        if file.is_file():
            found |= parse_properties(file.read_text(encoding="utf-8", errors="replace"))
    return found


def _defaults_files(environ: Mapping[str, str]) -> list[Path]:
    """The properties files that spark-submit reads; a later one replaces values of an earlier one."""
    words = _words(environ)
    for index, word in enumerate(words):
        flag, joined, file = word.partition("=")
        if flag == "--properties-file" and (joined or index + 1 < len(words)):
            beneath = _usual_defaults(environ) if "--load-spark-defaults" in words else []
            return [*beneath, Path(file if joined else words[index + 1])]
    return _usual_defaults(environ)


def _usual_defaults(environ: Mapping[str, str]) -> list[Path]:
    if environ.get("SPARK_CONF_DIR"):
        return [Path(environ["SPARK_CONF_DIR"]) / "spark-defaults.conf"]
    home = spark_home(environ)
    return [] if home is None else [home / "conf" / "spark-defaults.conf"]


def spark_home(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The Spark installation that pyspark will start: SPARK_HOME, or else the pyspark package itself."""
    if environ.get("SPARK_HOME"):
        return Path(environ["SPARK_HOME"])
    pyspark = sys.modules.get("pyspark")
    if pyspark is not None:
        file = pyspark.__file__
    else:
        found = find_spec("pyspark")
        file = None if found is None else found.origin
    return None if file is None else Path(file).parent


def parse_properties(text: str) -> dict[str, str]:
    r"""Reads a Java properties file: `key value`, `key=value` or `key: value` per line; # and ! start a comment.

    >>> parse_properties("spark.jars  a.jar,\\\n  b.jar\n# no\nspark.x=1")
    {'spark.jars': 'a.jar,b.jar', 'spark.x': '1'}
    """
    properties = {}
    for line in _logical_lines(text):
        match = re.match(r"\s*(?P<key>[^\s#!=:][^\s=:]*)\s*[=:\s]?\s*(?P<value>.*)", line)
        if match:
            properties[match["key"]] = match["value"].strip()
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """The lines of a properties file. A backslash at its end continues a line, but no comment."""
    begun = ""
    for line in text.splitlines():
        if not begun and line.lstrip()[:1] in ("#", "!"):
            continue
        whole = begun + (line.lstrip(" \t") if begun else line)
        if _CONTINUED.search(line):
            begun = whole[:-1]
        else:
            begun = ""
            yield whole
    yield begun


_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")
