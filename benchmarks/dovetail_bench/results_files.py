"""The results files that figures come from: of each command and data set the newest, by the date in its name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dovetail.errors import DovetailError

_DATED = re.compile(r"\d{4}-\d{2}-\d{2}-(?P<name>.+)")


@dataclass(frozen=True)
class ResultsFile:
    """One report's data.

    Attributes:
        stem: Name of the file without its ending, date first.
        body: What the command wrote.
    """

    stem: str
    body: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Command, data and scale: what is the same in every run of it."""
        found = _DATED.fullmatch(self.stem)
        return found["name"] if found else self.stem

    @property
    def source(self) -> str:
        """For the line below a table."""
        return f"`{self.stem}` (commit {self.body['environment']['commit']})"


class ResultsFiles:
    """All results of a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @cached_property
    def all(self) -> Sequence[ResultsFile]:
        """Every file, oldest first; of one day a file of a part comes after the file of the whole."""
        found = [file for file in self._directory.glob("*.json") if _DATED.fullmatch(file.stem)]
        return [
            ResultsFile(file.stem, json.loads(file.read_text(encoding="utf-8")))
            for file in sorted(found, key=lambda file: file.stem)
        ]

    @cached_property
    def newest(self) -> Mapping[str, ResultsFile]:
        """Name → its newest file, by name."""
        found = {file.name: file for file in self.all}
        return {name: found[name] for name in sorted(found)}

    def of(self, name: str) -> ResultsFile:
        """The newest file of this name."""
        if name not in self.newest:
            raise DovetailError(f"no results file {name!r}; there are {', '.join(self.newest)}")
        return self.newest[name]

    def starting(self, prefix: str) -> Iterator[ResultsFile]:
        """The newest files whose names start so."""
        return (file for name, file in self.newest.items() if name.startswith(prefix))


def sources(*files: ResultsFile) -> str:
    """The line below a table: which files its figures come from."""
    word = "Source" if len(files) == 1 else "Sources"
    return f"{word}: {', '.join(dict.fromkeys(file.source for file in files))}."
