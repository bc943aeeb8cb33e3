"""Which bundled jar belongs to which Spark.

One jar per Spark line ("4.1": major and minor), because Catalyst's internals change between minors and Scala's binary
version between majors. The list of lines is jars/lines.json, written by the build beside the jars; nothing here repeats
it. A wheel has the jars of all lines; a clone has those that were built there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from dovetail._version import __version__
from dovetail.errors import JarMissingError, PySparkMissingError, UnsupportedSparkError

JARS = Path(__file__).resolve().parent / "jars"

# Distributions that bring a `pyspark` module, in the order in which they are asked for a version when the module itself
# has none.
_PYSPARK_DISTRIBUTIONS = ("pyspark", "databricks-connect", "pyspark-client")

_VERSION = re.compile(r"v?(?P<major>\d+)\.(?P<minor>\d+)(?P<rest>(?:[.\-+_]|[a-z]|$).*)", re.IGNORECASE)


@dataclass(frozen=True, order=True)
class SparkLine:
    """One supported Spark line.

    Attributes:
        major: 4 of "4.1".
        minor: 1 of "4.1".
        scala_binary: Scala's binary version in that line's default build, "2.13".
        built_for: The Spark release that the jar was compiled and tested against, "4.1.3".
    """

    major: int
    minor: int
    scala_binary: str
    built_for: str

    @property
    def name(self) -> str:
        """Major and minor as users write them, "4.1"."""
        return f"{self.major}.{self.minor}"

    @property
    def jar_name(self) -> str:
        """File name of this line's jar in this version of the package."""
        return f"dovetail-spark-{self.name}_{self.scala_binary}-{__version__}.jar"


def parse_line(version: str) -> tuple[int, int]:
    """Major and minor of a Spark version, of vendors' builds too.

    >>> parse_line("3.5.2-amzn-1"), parse_line("4.1.0.dev0"), parse_line("4.2")
    ((3, 5), (4, 1), (4, 2))

    Raises:
        UnsupportedSparkError: This is not a version.
    """
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        raise UnsupportedSparkError(
            f"'{version}' is not a Spark version. Expected major.minor or more, such as 4.1, 3.5.2 or 3.5.2-amzn-1."
        )
    return int(match["major"]), int(match["minor"])


def supported_lines() -> tuple[SparkLine, ...]:
    """The Spark lines that Dovetail is built for, oldest first.

    Raises:
        JarMissingError: jars/lines.json is not there (a source tree in which the jars have not been built).
    """
    lines_file = JARS / "lines.json"
    if not lines_file.is_file():
        raise JarMissingError(
            f"no Dovetail jars in {JARS}: lines.json is missing there. In a clone run `make jars`; "
            "otherwise install the wheel again: pip install --force-reinstall dovetail-spark."
        )
    lines = json.loads(lines_file.read_text(encoding="utf-8"))
    return tuple(sorted(SparkLine(*parse_line(line["line"]), line["scalaBinary"], line["spark"]) for line in lines))


def line_of(spark_version: str) -> SparkLine:
    """The supported line that a Spark version belongs to.

    Raises:
        UnsupportedSparkError: No jar for this line; the message lists the supported ones.
    """
    lines = supported_lines()
    wanted = parse_line(spark_version)
    for line in lines:
        if (line.major, line.minor) == wanted:
            return line
    names = ", ".join(line.name for line in lines)
    newer = wanted > (lines[-1].major, lines[-1].minor)
    advice = (
        f"It is newer than every Spark this Dovetail ({__version__}) was built for: upgrade dovetail-spark (pip "
        f"install -U dovetail-spark), or use pyspark {lines[-1].name} (pip install 'pyspark=={lines[-1].name}.*')."
        if newer
        else f"Use one of the supported Spark versions (pip install 'pyspark=={lines[-1].name}.*')."
    )
    raise UnsupportedSparkError(
        f"Dovetail {__version__} has no jar for Spark {spark_version}. Supported Spark lines: {names}. {advice}"
    )


def pyspark_version() -> str:
    """Version of the installed pyspark, found without starting anything.

    Raises:
        PySparkMissingError: There is none.
    """
    try:
        import pyspark
    except ModuleNotFoundError as missing:
        if missing.name != "pyspark":
            raise
        raise PySparkMissingError(
            "pyspark is not installed, so Dovetail cannot tell which jar is needed. Install it (pip install "
            "'dovetail-spark[spark]'), or name the Spark version: dovetail.jar_path('4.1')."
        ) from None
    version = getattr(pyspark, "__version__", None)
    if version:
        return str(version)
    for distribution in _PYSPARK_DISTRIBUTIONS:
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    raise PySparkMissingError(
        "the installed pyspark does not tell its version; name it: dovetail.jar_path('4.1') for Spark 4.1."
    )


def jar_path(spark_version: str | None = None) -> str:
    r"""Path of the Dovetail jar for a Spark version, for `spark-submit --jars`.

    Args:
        spark_version: A Spark version or line ("4.1", "3.5.2-amzn-1"); by default that of the installed pyspark.

    Returns:
        Absolute path of a jar inside the installed package.

    Raises:
        UnsupportedSparkError: No jar for this Spark line.
        PySparkMissingError: No version given and no pyspark installed.
        JarMissingError: The line is supported, but its jar is missing from the installation.

    Example::

        spark-submit --jars $(python -c 'import dovetail; print(dovetail.jar_path())') \
            --conf spark.sql.extensions=dovetail.DovetailExtensions job.py
    """
    line = line_of(spark_version if spark_version is not None else pyspark_version())
    jar = JARS / line.jar_name
    if not jar.is_file():
        raise JarMissingError(
            f"the Dovetail jar for Spark {line.name} is missing: {jar}. In a clone it was not built: run "
            f"`make jar-{line.name}`. Otherwise install the wheel again: pip install --force-reinstall dovetail-spark."
        )
    return str(jar)
