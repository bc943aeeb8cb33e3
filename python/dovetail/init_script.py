"""Cluster init scripts for platforms that start Spark themselves: `dovetail init-script`.

A library that is installed through the platform's user interface arrives after Spark has read `spark.sql.extensions`.
An init script runs before that.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from dovetail.errors import StatementError
from dovetail.jars import EXTENSION, jar_path
from dovetail.session import EXTENSIONS_KEY

PLATFORMS = ("databricks",)
DEFAULT_VOLUME = "/Volumes/main/default/dovetail"

SCRIPT_NAME = "dovetail-init.sh"
CONF_NAME = "spark.conf"


@dataclass(frozen=True)
class InitScript:
    """The files for a cluster.

    Attributes:
        script: The init script, a bash script.
        conf: The setting that the script makes, as a line of the cluster's Spark configuration.
        jar: The jar to upload to the volume.
        volume: Directory on the cluster for the jar and the script.
    """

    script: str
    conf: str
    jar: Path
    volume: str

    def steps(self) -> str:
        """The remaining steps, as text for users."""
        return (
            f"1. Upload {self.jar.name} and the script, as {SCRIPT_NAME}, to {self.volume}\n"
            f"   The jar is here: {self.jar}. With --output, both are in that directory.\n"
            f"2. Add {self.volume}/{SCRIPT_NAME} to the cluster's init scripts (Advanced, Init scripts).\n"
            "   In standard access mode, an administrator adds the script to the metastore's allowlist.\n"
            f"   If the cluster's Spark configuration already sets {EXTENSIONS_KEY}, append to that value:\n"
            f"     ,{EXTENSION}\n"
            "3. Restart the cluster and check it: dovetail.status(spark), or dovetail_version() in SQL"
        )

    def write(self, directory: Path) -> list[Path]:
        """Writes the script, the configuration and the jar to a directory, ready to upload.

        Returns:
            The files.
        """
        directory.mkdir(parents=True, exist_ok=True)
        files = [directory / SCRIPT_NAME, directory / CONF_NAME, directory / self.jar.name]
        # newline="": bash on the cluster does not accept carriage returns, which this machine might write
        with files[0].open("w", encoding="utf-8", newline="") as script:
            script.write(self.script)
        files[1].write_text(self.conf + "\n", encoding="utf-8")
        files[2].write_bytes(self.jar.read_bytes())
        return files


def databricks(volume: str = DEFAULT_VOLUME, spark_version: str | None = None) -> InitScript:
    """The init script of a Databricks cluster.

    Args:
        volume: Directory of a Unity Catalog volume.
        spark_version: Spark version of the cluster's runtime; default: that of the installed pyspark.

    Raises:
        StatementError: The volume is not an absolute path.
        UnsupportedSparkError: Dovetail has no jar for this Spark line.
    """
    if not re.fullmatch(r"(/[^/\x00-\x1f]+)+/?", volume) or ".." in volume.split("/"):
        raise StatementError(
            f"volume '{volume}' is not a directory on a cluster. Give an absolute path such as {DEFAULT_VOLUME}."
        )
    jar = Path(jar_path(spark_version))
    template = resources.files("dovetail").joinpath("databricks_init.sh").read_text(encoding="utf-8")
    directory = volume.rstrip("/")
    filled = {"@JAR@": shlex.quote(jar.name), "@VOLUME@": shlex.quote(directory)}
    filled |= {"@KEY@": EXTENSIONS_KEY, "@VALUE@": EXTENSION}
    script = template
    for place, text in filled.items():
        script = script.replace(place, text)
    return InitScript(script, f"{EXTENSIONS_KEY} {EXTENSION}", jar, directory)
