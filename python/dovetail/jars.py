"""Selects the bundled jar for a Spark version.

There is one jar per Spark line ("4.1": major and minor), because Catalyst's internals change between minor versions and
Scala's binary version between major versions. The build writes the list of lines to jars/lines.json; this module does
not repeat it. A wheel has the jars of all lines; a clone has those that were built there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from dovetail._version import __version__
from dovetail.errors import JarMissingError, PySparkMissingError, UnsupportedSparkError

# The class in each jar that adds Dovetail to a session.
EXTENSION = "dovetail.DovetailExtensions"

JARS = Path(__file__).resolve().parent / "jars"

# How to repair an installed package; in a clone, the jars are built again.
REINSTALL = "reinstall the package: pip install --force-reinstall, with the wheel file"

# What the file name of each jar begins with; the Spark line follows.
JAR_PREFIX = "dovetail-spark-"

# Distributions that contain a `pyspark` module, in the order in which their versions are tried if the module itself has
# no version.
_PYSPARK_DISTRIBUTIONS = ("pyspark", "databricks-connect", "pyspark-client")

_VERSION = re.compile(r"v?(?P<major>\d+)\.(?P<minor>\d+)(?P<rest>(?:[.\-+_]|[a-z]|$).*)", re.IGNORECASE)


@dataclass(frozen=True, order=True)
class SparkLine:
    """One supported Spark line.

    Attributes:
        major: 4 of "4.1".
        minor: 1 of "4.1".
        scala_binary: Binary version of Scala in the default build of that line, "2.13".
        built_for: The Spark release against which the jar was compiled and tested, "4.1.3".
    """

    major: int
    minor: int
    scala_binary: str
    built_for: str

    @property
    def name(self) -> str:
        """Major and minor version, "4.1"."""
        return f"{self.major}.{self.minor}"

    @property
    def jar_name(self) -> str:
        """File name of the jar of this line in this version of the package."""
        return f"{JAR_PREFIX}{self.name}_{self.scala_binary}-{__version__}.jar"

    def refuses(self, file_name: str) -> bool:
        """Whether a file is a Dovetail jar of another Spark line."""
        return file_name.startswith(JAR_PREFIX) and not file_name.startswith(f"{JAR_PREFIX}{self.name}_")


def parse_line(version: str) -> tuple[int, int]:
    """Major and minor version of a Spark version; accepts versions of vendors' builds.

    >>> parse_line("3.5.2-amzn-1"), parse_line("4.1.0.dev0"), parse_line("4.2")
    ((3, 5), (4, 1), (4, 2))

    Raises:
        UnsupportedSparkError: The text is not a version.
    """
    match = _VERSION.fullmatch(version.strip()) if isinstance(version, str) else None
    if match is None:
        raise UnsupportedSparkError(
            f"{version!r} is not a Spark version. Give text with at least major.minor, such as '4.1', '3.5.2' or "
            "'3.5.2-amzn-1'."
        )
    return int(match["major"]), int(match["minor"])


def supported_lines() -> tuple[SparkLine, ...]:
    """The Spark lines for which Dovetail is built, oldest first.

    Raises:
        JarMissingError: jars/lines.json is missing (a source tree in which the jars are not built).
    """
    lines_file = JARS / "lines.json"
    if not lines_file.is_file():
        raise JarMissingError(
            f"no Dovetail jars in {JARS}: the file lines.json is missing. In a clone, run `make jars`; "
            f"otherwise {REINSTALL}."
        )
    lines = json.loads(lines_file.read_text(encoding="utf-8"))
    return tuple(sorted(SparkLine(*parse_line(line["line"]), line["scalaBinary"], line["spark"]) for line in lines))


def line_of(spark_version: str) -> SparkLine:
    """The supported line of a Spark version.

    Raises:
        UnsupportedSparkError: Dovetail has no jar for this line; the message lists the supported lines.
    """
    lines = supported_lines()
    wanted = parse_line(spark_version)
    for line in lines:
        if (line.major, line.minor) == wanted:
            return line
    names = ", ".join(line.name for line in lines)
    # the nearest line: the oldest line that is newer than this Spark, or else the newest line
    nearest = next((line for line in lines if (line.major, line.minor) > wanted), lines[-1])
    install = f"pip install 'pyspark=={nearest.name}.*'"
    advice = (
        f"This Spark is newer than all supported lines. Install the wheel of a newer Dovetail, or use pyspark "
        f"{nearest.name} ({install})."
        if wanted > (nearest.major, nearest.minor)
        else f"Use a supported Spark; the nearest is {nearest.name} ({install})."
    )
    raise UnsupportedSparkError(
        f"Dovetail {__version__} has no jar for Spark {spark_version}. Supported Spark lines: {names}. {advice}"
    )


def pyspark_version() -> str:
    """Version of the installed pyspark; does not start Spark.

    Raises:
        PySparkMissingError: pyspark is not installed.
    """
    try:
        import pyspark
    except ModuleNotFoundError as missing:
        if missing.name != "pyspark":
            raise
        raise PySparkMissingError(
            "pyspark is not installed, so Dovetail cannot select a jar. Install pyspark (pip install "
            "'dovetail-spark[spark]'), or give the Spark version: dovetail.jar_path('4.1')."
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
        "the installed pyspark has no version. Give the Spark version: dovetail.jar_path('4.1') for Spark 4.1."
    )


def jar_path(spark_version: str | None = None) -> str:
    r"""Path of the Dovetail jar for a Spark version, for `spark-submit --jars`.

    Args:
        spark_version: Spark version or line ("4.1", "3.5.2-amzn-1"); default: that of the installed pyspark.

    Returns:
        Absolute path of the jar in the installed package.

    Raises:
        UnsupportedSparkError: Dovetail has no jar for this Spark line.
        PySparkMissingError: No version is given, and pyspark is not installed.
        JarMissingError: The line is supported, but its jar is missing from the installation.

    Example::

        spark-submit --jars $(python -c 'import dovetail; print(dovetail.jar_path())') \
            --conf spark.sql.extensions=dovetail.DovetailExtensions job.py
    """
    line = line_of(spark_version if spark_version is not None else pyspark_version())
    jar = JARS / line.jar_name
    if not jar.is_file():
        raise JarMissingError(
            f"the Dovetail jar for Spark {line.name} is missing: {jar}. In a clone, build it with "
            f"`make jar-{line.name}`. Otherwise {REINSTALL}."
        )
    return str(jar)
