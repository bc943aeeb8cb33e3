"""Writes python/dovetail/config.py and docs/reference/configs.md from the registry of settings inside the jar.

The registry is in Scala (DovetailConf). This script reads it from a session through `dovetail_conf()`, so the files
list exactly the settings that users can set. Run the script after a change of the registry, with the jars built
(`make jars`) and pyspark installed. A test fails while either file is out of date:

    python python/generate_config.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "python" / "dovetail" / "config.py"
DOCS = ROOT / "docs" / "reference" / "configs.md"

# Python names that are clearer than the key. Any other key is converted to Python's spelling: stats.sampleRows becomes
# stats_sample_rows.
NAMES = {
    "spark.dovetail.cost.cardWeight": "card_weight",
    "spark.dovetail.histogram.enabled": "histograms",
    "spark.dovetail.reorder.exactPairs": "exact_pairs",
    "spark.dovetail.reorder.maxPlanningMs": "planning_budget_ms",
    "spark.dovetail.reorder.minGain": "min_gain",
}

PREFIX = "spark.dovetail."
KINDS = {"boolean": "bool", "int": "int", "long": "int", "double": "float", "string": "str", "enum": "enum"}
WIDTH = 120


@dataclass(frozen=True)
class Key:
    """One row of `dovetail_conf()`, with its range parsed."""

    key: str
    name: str
    kind: str
    default: bool | int | float | str
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    range: str
    doc: str
    since: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Key:
        """Reads a row. An unknown type or form of range is an error, so that no setting loses its checks."""
        kind = KINDS[row["type"]]
        low, high, choices = _range(kind, row["range"] or "")
        reader: dict[str, Any] = {"bool": {"true": True, "false": False}.__getitem__, "int": int, "float": float}
        default = reader.get(kind, str)(row["default"])
        key = row["key"]
        return cls(
            key,
            NAMES.get(key, _snake(key)),
            kind,
            default,
            low,
            high,
            choices,
            row["range"] or "",
            row["doc"],
            row["since"],
        )

    @property
    def annotation(self) -> str:
        """Python type of the field."""
        return f"Literal[{', '.join(map(_quoted, self.choices))}]" if self.kind == "enum" else self.kind

    @property
    def default_code(self) -> str:
        """Default as Python code."""
        return _quoted(self.default) if isinstance(self.default, str) else repr(self.default)


def _range(kind: str, text: str) -> tuple[float | None, float | None, tuple[str, ...]]:
    number = r"(-?[\d.]+(?:[eE]-?\d+)?)"
    if kind == "enum":
        return None, None, tuple(choice.strip() for choice in text.split("|"))
    if kind in ("bool", "str") or not text:
        return None, None, ()
    read = int if kind == "int" else float
    if match := re.fullmatch(f"{number} to {number}", text):
        return read(match[1]), read(match[2]), ()
    if match := re.fullmatch(f"at least {number}", text):
        return read(match[1]), None, ()
    raise ValueError(f"range '{text}' is not understood. Known: 'a to b', 'at least a', 'one | other' of an enum.")


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key.removeprefix(PREFIX)).lower().replace(".", "_")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def keys_of(rows: Sequence[Mapping[str, Any]]) -> list[Key]:
    """The registry's keys, in the order of the registry. Two keys with the same Python name are an error."""
    keys = [Key.of(row) for row in rows]
    names = [key.name for key in keys]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two keys have one Python name: {', '.join(twice)}. Name one of them in NAMES.")
    return keys


def render_config(keys: Sequence[Key]) -> str:
    """Text of python/dovetail/config.py."""
    attributes, fields, settings = [], [], []
    for key in keys:
        attributes += textwrap.wrap(f"{key.name}: {key.doc}", WIDTH - 8, subsequent_indent="    ")
        fields.append(f"{key.name}: {key.annotation} = {key.default_code}")
        words = [_quoted(key.name), _quoted(key.key), _quoted(key.kind), key.default_code]
        words += [f"low={key.low!r}"] * (key.low is not None) + [f"high={key.high!r}"] * (key.high is not None)
        words += [f"choices=({', '.join(map(_quoted, key.choices))})"] * bool(key.choices)
        settings.append(f"Setting({', '.join(words)}),")
    example = "min_gain=0.2, planning_budget_ms=200"
    text = f'''"""`Config`: Dovetail's settings as a typed object.

Generated by python/generate_config.py from the registry inside the jar; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dovetail._settings import ConfigBase, Setting


@dataclass(frozen=True, kw_only=True)
class Config(ConfigBase):
    """Dovetail's settings, as a typed and checked object.

    A wrong value raises `dovetail.errors.ConfigError`, which names the allowed values.

    >>> from dovetail import Config
    >>> Config({example}).to_conf()["spark.dovetail.reorder.maxPlanningMs"]
    '200'

    Attributes:
{textwrap.indent(chr(10).join(attributes), " " * 8)}
    """

{textwrap.indent(chr(10).join(fields), " " * 4)}

    SETTINGS: ClassVar[tuple[Setting, ...]] = (
{textwrap.indent(chr(10).join(settings), " " * 8)}
    )
'''
    return _formatted(text)


def _formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(CONFIG), "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def render_docs(keys: Sequence[Key]) -> str:
    """Text of docs/reference/configs.md."""
    lines = [
        "# Configuration",
        "",
        "<!-- Generated by python/generate_config.py from the registry inside the jar; do not edit. -->",
        "",
        *_wrapped(
            "This page lists all settings of Dovetail. You can set each key in a running session "
            "(`spark.conf.set`, SQL `SET`), on a builder (`dovetail.enable(builder, min_gain=0.2)`), or in "
            "spark-defaults.conf. A session refuses a wrong number, a wrong choice and wrong cost constants. Orders "
            "and names are checked when they are used: explain says why an order is not used, and ANALYZE refuses "
            "names in `spark.dovetail.privateColumns` that it cannot read. A wrong value in a file does not fail a "
            "query: Dovetail uses the default and logs one warning. `SELECT * FROM dovetail_conf()` shows the values "
            "of the session."
        ),
        "",
        "| Key | Default | Values | In Python | Since |",
        "|---|---|---|---|---|",
    ]
    for key in keys:
        values = key.range.replace("|", "\\|") or "text"
        default = str(key.default).lower() if isinstance(key.default, bool) else str(key.default)
        shown = f"`{default}`" if default else "empty"
        lines.append(f"| [`{key.key}`](#{_anchor(key.key)}) | {shown} | {values} | `{key.name}` | {key.since} |")
    for key in keys:
        lines += ["", f"## {key.key}", "", *_wrapped(key.doc)]
    return "\n".join(lines) + "\n"


def _wrapped(paragraph: str) -> list[str]:
    return textwrap.wrap(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)


def _anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9\- ]", "", heading.lower()).replace(" ", "-")


def main() -> None:
    """Reads the registry from a session and writes both files."""
    from pyspark.sql import SparkSession

    import dovetail

    builder = SparkSession.builder.master("local[1]").appName("generate config").config("spark.ui.enabled", "false")
    spark = dovetail.enable(builder).getOrCreate()
    keys = keys_of([row.asDict() for row in spark.sql("SELECT * FROM dovetail_conf()").collect()])
    spark.stop()
    for path, text in ((CONFIG, render_config(keys)), (DOCS, render_docs(keys))):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
