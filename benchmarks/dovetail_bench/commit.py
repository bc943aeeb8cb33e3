"""Which version is measured: the commit, whether the tree differs from it, and the jar that runs.

`report` writes this into every page and refuses a tree that differs.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dovetail.errors import DovetailError
from dovetail.jars import jar_path

ROOT = Path(__file__).resolve().parents[2]

# Paths that a measurement depends on. Reports and pages are made from measurements, so they may differ.
MEASURED = ("python", "scala", "project", "build.sbt", "VERSION", "benchmarks", ":!benchmarks/results", ":!*.md")

# Names of versions that are no commit: the files differ from it (as an ending), or it is not known.
CHANGED = " with changes"
UNKNOWN = "unknown"

# Number of characters shown of a hash: enough to be unique here.
SHOWN = 12


@dataclass(frozen=True)
class State:
    """The version that is measured.

    Attributes:
        name: Commit, marked if the files differ from it; "unknown" outside of a clone.
        reason: Why the figures belong to no commit, in words; empty if they belong to one.
    """

    name: str
    reason: str = ""

    @property
    def dirty(self) -> bool:
        """Whether the figures belong to no commit."""
        return bool(self.reason)


def is_dirty(name: str) -> bool:
    """Whether this name of a version, as reports have it, is no commit."""
    return name == UNKNOWN or name.endswith(CHANGED)


@cache
def state() -> State:
    """State of this clone when the command began."""
    return read(ROOT)


def read(root: Path) -> State:
    """State of a clone."""
    git = shutil.which("git")
    if git is None:
        return State(UNKNOWN, "the commit is not known, because there is no git")

    def ask(*arguments: str) -> str:
        command = [git, *arguments]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    try:
        commit = ask("rev-parse", f"--short={SHOWN}", "HEAD")
        changed = ask("status", "--porcelain", "--untracked-files=normal", "--", *MEASURED)
    except subprocess.CalledProcessError:
        return State(UNKNOWN, "the commit is not known, because this is no clone")
    if not changed:
        return State(commit)
    return State(f"{commit}{CHANGED}", f"the tree differs from its commit in {len(changed.splitlines())} places")


@cache
def jar_digest() -> str:
    """Start of the SHA-256 of the jar that runs, or "none". The jar may be older than the commit."""
    try:
        return hashlib.sha256(Path(jar_path()).read_bytes()).hexdigest()[:SHOWN]
    except DovetailError:
        return "none"
