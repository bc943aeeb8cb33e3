"""Wheel build hook: refuses to build a wheel that lacks the jar of any supported Spark line.

Runs inside hatchling (pyproject.toml, [tool.hatch.build.targets.wheel.hooks.custom]). `make jars` writes the jars and
`lines.json`, the list of lines, into python/dovetail/jars. This hook only checks them, so that no wheel is built that
cannot start. It accepts an editable install without jars: the jars may be built later, and `dovetail.jar_path()` names
a missing jar.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

JARS = Path("python") / "dovetail" / "jars"


def missing_files(root: Path, version: str) -> list[str]:
    """Names of the files that a wheel of this version needs and that are not under python/dovetail/jars.

    Args:
        root: The project's root directory.
        version: The version being built; it is part of every jar's name, so jars of an older build count as missing.

    Returns:
        File names, empty when the wheel can be built.
    """
    lines_file = root / JARS / "lines.json"
    if not lines_file.is_file():
        return ["lines.json"]
    lines = json.loads(lines_file.read_text(encoding="utf-8"))
    if not lines:
        return ["lines.json (it lists no Spark line)"]
    jars = [f"dovetail-spark-{line['line']}_{line['scalaBinary']}-{version}.jar" for line in lines]
    return [jar for jar in jars if not (root / JARS / jar).is_file()]


class JarHook(BuildHookInterface):  # type: ignore[type-arg]
    """Stops the build if files are missing; the error names them and the command that builds them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects files; `version` is the kind of wheel, "standard" or "editable"."""
        if version == "editable":
            return
        missing = missing_files(Path(self.root), self.metadata.version)
        if missing:
            raise RuntimeError(
                f"cannot build the dovetail-spark wheel: missing in {JARS.as_posix()}: {', '.join(missing)}. "
                "Run `make jars` first (it builds the jar of every Spark line)."
            )
        # The wheel is pure Python plus JVM bytecode: one wheel for every platform.
        build_data["tag"] = "py3-none-any"
