"""Checks that packages import only from lower floors (`tools/floors.toml`); draws the floors into the documentation.

    python tools/floors.py            # fails on an import from the same or a higher floor, and on an outdated picture
    python tools/floors.py --draw     # draws the picture

A package without a floor, and a listed package that does not exist, are errors, too. Packages of one floor must not
import each other. Code without a package (`top`) may import everything, and nothing may import it.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools" / "floors.toml"
PICTURE = ROOT / "docs" / "internals" / "dataflow.md"
BEGIN, END = "<!-- floors: drawn by tools/floors.py -->", "<!-- end of floors -->"

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class Import:
    """An import of one package in a file of another one."""

    file: str
    package: str
    imported: str


@dataclass(frozen=True)
class House:
    """The packages of one code base.

    Attributes:
        name: Name in the list.
        prefix: Common prefix of all packages.
        source: Directories of the code.
        floors: Floors from the bottom up; each maps its packages to their purpose.
        top: Description of the code above all floors; empty if there is none.
    """

    name: str
    prefix: str
    source: tuple[str, ...]
    floors: tuple[dict[str, str], ...]
    top: str = ""

    def faults(self) -> list[str]:
        """Imports that are not allowed, packages without a floor, and floors without a package."""
        floor = {package: number for number, packages in enumerate(self.floors) for package in packages}
        imports = list(self.imports())
        found = set(self.packages())
        faults = [f"{self.name}: package {p} has no floor in {LIST.name}" for p in sorted(found - floor.keys())]
        faults += [f"{self.name}: {p} of {LIST.name} is no package" for p in sorted(floor.keys() - found)]
        for i in imports:
            if i.package in floor and i.imported in floor and floor[i.imported] >= floor[i.package]:
                where = "its own floor" if floor[i.imported] == floor[i.package] else "a floor above"
                faults.append(f"{i.file}: {i.package} imports {i.imported}, which is on {where}")
            elif i.package in floor and i.imported == "":
                faults.append(f"{i.file}: {i.package} imports code above all floors")
        return faults

    def packages(self) -> set[str]:
        """All packages in the code, without the top."""
        return {p for p, _, _ in self._files() if p}

    def imports(self) -> Iterator[Import]:
        """All imports from one package to another."""
        for package, file, imported in self._files():
            for other in sorted(imported - {package}):
                yield Import(file.relative_to(ROOT).as_posix(), package, other)

    def _files(self) -> Iterator[tuple[str, Path, set[str]]]:
        for source in self.source:
            scala = sorted((ROOT / source).rglob("*.scala"))
            yield from (self._scala(f) for f in scala)
            yield from (self._python(f, ROOT / source) for f in sorted((ROOT / source).rglob("*.py")) if not scala)

    def _scala(self, file: Path) -> tuple[str, Path, set[str]]:
        text = _COMMENT.sub("", file.read_text(encoding="utf-8"))
        prefix = re.escape(self.prefix)
        package = re.search(rf"^package {prefix}(?:\.(\w+))?$", text, re.MULTILINE)
        imported = set(re.findall(rf"\b{prefix}\.([a-z]\w*)\b", text))
        for several in re.findall(rf"\b{prefix}\.\{{([^}}]*)\}}", text):
            imported |= set(re.findall(r"(?:^|,)\s*([a-z]\w*)", several))
        return (package[1] or "" if package else ""), file, imported

    def _python(self, file: Path, source: Path) -> tuple[str, Path, set[str]]:
        package = file.relative_to(source).parts[0].removesuffix(".py")
        imported = {
            self._module(name, source)
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            for name in _names(node)
            if name.split(".")[0] == self.prefix
        }
        return ("" if package in TOP else package), file, imported

    def _module(self, name: str, source: Path) -> str:
        parts = name.split(".")[1:]
        there = bool(parts) and ((source / parts[0]).is_dir() or (source / f"{parts[0]}.py").exists())
        return parts[0] if there and parts[0] not in TOP else ""

    def picture(self) -> str:
        """The floors as text, the top first."""
        lines = [f"{self.name} ({self.prefix})"]
        lines += [f"   {self.top}"] if self.top else []
        for packages in reversed(self.floors):
            lines.append("   " + "  |  ".join(f"{p}: {what}" if what else p for p, what in packages.items()))
        return "\n".join(lines)


# Modules that users import and start. They are above all floors.
TOP = frozenset({"__init__", "__main__", "cli", "demo"})


def _names(node: ast.AST) -> Iterator[str]:
    """Modules that an import names; in `from a import b`, `b` may be a module, too."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def houses() -> list[House]:
    """The code bases in the list."""
    read = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return [
        House(
            name,
            house["prefix"],
            tuple(house["source"]),
            tuple(dict(_package(p) for p in floor) for floor in house["floors"]),
            house.get("top", ""),
        )
        for name, house in read.items()
    ]


def _package(text: str) -> tuple[str, str]:
    name, _, what = text.partition(":")
    return name.strip(), what.strip()


def drawn(page: str, found: Sequence[House]) -> str:
    """The page with the picture in it."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    picture = "\n\n".join(house.picture() for house in found)
    return f"{before}{BEGIN}\n```\n{picture}\n```\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="draws the picture")
    options = parser.parse_args(arguments)
    found = houses()
    page = PICTURE.read_text(encoding="utf-8")
    if options.draw:
        PICTURE.write_text(drawn(page, found), encoding="utf-8")
        return 0
    faults = [fault for house in found for fault in house.faults()]
    if drawn(page, found) != page:
        faults.append(f"the picture in {PICTURE.name} is not that of {LIST.name}: python tools/floors.py --draw")
    print("\n".join(faults) or "all imports go to lower floors", file=sys.stderr if faults else sys.stdout)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
