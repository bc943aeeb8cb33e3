"""Types what a user types, path by path, and writes down what came: `tests/transcripts/*.txt`.

    python tools/transcripts.py            # writes all transcripts
    python tools/transcripts.py names      # one of them
    python tools/transcripts.py --check    # fails where a transcript in the tree differs from what comes now

A path is a file beside its transcript: a Python program, or a shell script of which each line is one command. Numbers
that differ from run to run (times, sizes of jars, places) are masked, so that a difference is one that a user sees.
Delta Lake and Iceberg are typed where DOVETAIL_DELTA and DOVETAIL_ICEBERG have their Maven coordinates.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "transcripts"
TABLES = "tables.py"
# Paths that need packages: the environment variable that has their Maven coordinates.
NEEDS = {"delta": "DOVETAIL_DELTA", "iceberg": "DOVETAIL_ICEBERG"}
# A command may start a JVM on a loaded machine.
SECONDS = 300

JOB = """import dovetail
from pyspark.sql import SparkSession
print(dovetail.status(SparkSession.builder.getOrCreate()))
"""

# Budgets of planning, which must not run out here.
BUDGETS = ("planning.maxMs", "footers.maxMs", "reorder.maxPlanningMs")

# What differs from run to run, and what stands for it.
MASKS = (
    # a loaded machine takes seconds where another one takes milliseconds, and columns are as wide as their numbers
    (re.compile(r"[ \t]*\b\d+(\.\d+)? ?(ms|s|seconds)\b"), " _ s"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?Z?"), "<time>"),
    (re.compile(r"^(seconds|task seconds|GC seconds|planning ms) .*$", re.MULTILINE), r"\1 _"),
    (re.compile(r"^(planning ms): .*$", re.MULTILINE), r"\1: _"),
    (re.compile(r"^(order of runs|.*first: the first run).*$", re.MULTILINE), r"\1"),
    (re.compile(r"(exec|app|application|local)-\d{6,}"), r"\1-_"),
    # expression ids of Spark, which the planning beside the start moves; a table that comes twice is "day#2"
    (re.compile(r"#(\d{2,}|\d+L)\b"), "#_"),
    # a frame is as wide as the plan in it
    (re.compile(r"-{121,}"), "-" * 121),
    (re.compile(r" {121,}"), " " * 121),
    (re.compile(r"plan_id=\d+"), "plan_id=_"),
    (re.compile(r"\b\d+(\.\d+)? [KMG]?i?B/s"), "_ B/s"),
    (re.compile(r"Python \d+\.\d+\.\d+"), "Python _"),
    # rows of a join that a sample tells: what is drawn depends on the names of the files, which are made anew
    (re.compile(r"^( +\d+  .*join \S+) +\S+( +up to \S+)? +dovetail ", re.MULTILINE), r"\1  _  dovetail "),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)
# A line of Spark's plan, in which each number after "#" is an expression's.
PLAN = re.compile(r"^(\|== Physical Plan|[ :|]*(\*\(\d+\) )?[+:]- ).*$", re.MULTILINE)
EXPRESSION = re.compile(r"#\d+L?\b")
# Lines of Spark and of the JVM that come where log4j is not set up, and say nothing of Dovetail.
NOISE = re.compile(
    r"^(WARNING: |Setting default log level|To adjust logging level|Using Spark's|\d\d/\d\d/\d\d |:: |Picked up |"
    r"\s*\[Stage |Spark Web UI|Spark master|Time taken|Setting Spark log level)"
)
# How Spark resolves --packages and spark.jars.packages: another text once the jars have been fetched.
IVY = re.compile(r"^Ivy Default Cache set to: .*?^\t\d+ artifacts copied[^\n]*$", re.MULTILINE | re.DOTALL)


def paths() -> list[Path]:
    """The programs and scripts, by name."""
    return sorted(p for p in FOLDER.iterdir() if p.suffix in (".py", ".sh") and p.name != TABLES)


def transcript(path: Path, place: Path) -> str:
    """What a user would see, with the commands."""
    blocks = _python(path, place) if path.suffix == ".py" else _shell(path, place)
    return "\n".join(_masked(block, place).rstrip() + "\n" for block in blocks)


def _python(path: Path, place: Path) -> Iterator[str]:
    first = "# " + path.read_text(encoding="utf-8").splitlines()[0].strip('".')
    yield f"{first}\n$ python {path.name}"
    code, out, err = _run([sys.executable, str(path)], place)
    yield _told(code, out, err)


def _shell(path: Path, place: Path) -> Iterator[str]:
    (place / "job.py").write_text(JOB, encoding="utf-8")
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line:
            yield line
            continue
        code, out, err = _run(["bash", "-c", line], place)
        yield f"$ {line}\n{_told(code, out, err)}"


def _told(code: int, out: str, err: str) -> str:
    parts = [_quiet(out)]
    if _quiet(err).strip():
        parts.append("stderr:\n" + _quiet(err))
    if code:
        parts.append(f"exit code {code}")
    return "\n".join(part.rstrip() for part in parts if part.strip())


def _quiet(text: str) -> str:
    """Without what Spark and the JVM say of themselves; a bar of progress leaves empty lines."""
    text = IVY.sub("", text.replace("\r", "\n"))
    lines = [line for line in text.splitlines() if not NOISE.match(line)]
    return re.sub(r"\n\n\n+", "\n\n", "\n".join(lines))


def _run(command: list[str], place: Path) -> tuple[int, str, str]:
    binaries = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([binaries, os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
        "SPARK_CONF_DIR": str(place / "conf"),
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return done.returncode, done.stdout, done.stderr


def _masked(text: str, place: Path) -> str:
    for known, called in ((place, "<here>"), (Path(sys.executable).parents[1], "<venv>"), (ROOT, "<dovetail>")):
        text = text.replace(str(known), called)
    text = text.replace(str(Path.home()), "~")
    text = PLAN.sub(lambda line: EXPRESSION.sub("#_", line[0]), text)
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return text


def main(words: list[str]) -> int:
    """Writes or checks the transcripts; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="names of paths; default: all")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    asked = parser.parse_args(words)
    known = {path.stem: path for path in paths()}
    if unknown := [name for name in asked.names if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}. Paths: {', '.join(known)}")
    if lacking := [NEEDS[name] for name in asked.names if NEEDS.get(name, "PATH") not in os.environ]:
        parser.error(f"the Maven coordinates are missing: {', '.join(lacking)}")
    differing = 0
    for name in asked.names or [name for name in known if NEEDS.get(name, "PATH") in os.environ]:
        with tempfile.TemporaryDirectory(prefix="transcript") as directory:
            place = Path(directory).resolve()
            (place / "conf").mkdir()
            defaults = f"spark.ui.enabled false\nspark.sql.warehouse.dir {place}/warehouse\nspark.log.level ERROR\n"
            defaults += f"spark.dovetail.store.path {place}/store\n"
            # what a busy machine leaves undone is no difference
            defaults += "".join(f"spark.dovetail.{key} 60000\n" for key in BUDGETS)
            (place / "conf" / "spark-defaults.conf").write_text(defaults, encoding="utf-8")
            code, _, err = _run([sys.executable, str(FOLDER / TABLES), str(place)], place)
            if code:
                print(err, file=sys.stderr)
                return 1
            now = transcript(known[name], place)
        kept = FOLDER / f"{name}.txt"
        if not asked.check:
            kept.write_text(now, encoding="utf-8")
            print(f"{kept.relative_to(ROOT)}: {len(now.splitlines())} lines")
        elif (before := kept.read_text(encoding="utf-8")) != now:
            differing += 1
            print("".join(difflib.unified_diff(before.splitlines(True), now.splitlines(True), f"{name}.txt", "now")))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
