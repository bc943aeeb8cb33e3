"""Runs the example sessions in `tests/transcripts` and writes their output to transcripts, `tests/transcripts/*.txt`.

    python tools/transcripts.py            # writes all transcripts
    python tools/transcripts.py names      # writes one transcript
    python tools/transcripts.py --check    # fails if a stored transcript differs from the current output

A session, called a path, is a file beside its transcript: a Python program, or a shell script in which each line is one
command. Text that differs from run to run (times, sizes of jars, directories) is masked, so that a user would see every
remaining difference. The paths with Delta Lake and Iceberg run only if DOVETAIL_DELTA and DOVETAIL_ICEBERG contain
their Maven coordinates.
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
# Paths that need packages, each with the environment variable that contains the Maven coordinates.
NEEDS = {"delta": "DOVETAIL_DELTA", "iceberg": "DOVETAIL_ICEBERG"}
# Time limit of a command, which may start a JVM on a loaded machine.
SECONDS = 300

JOB = """import dovetail
from pyspark.sql import SparkSession
print(dovetail.status(SparkSession.builder.getOrCreate()))
"""

# Planning budgets, which must not run out here.
BUDGETS = ("planning.maxMs", "footers.maxMs", "reorder.maxPlanningMs")

# Text that differs from run to run, and its replacement.
MASKS = (
    # a loaded machine takes seconds instead of milliseconds, and the width of a column depends on its numbers
    (re.compile(r"[ \t]*\b\d+(\.\d+)? ?(ms|s|seconds)\b"), " _ s"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?Z?"), "<time>"),
    (re.compile(r"^(seconds|task seconds|GC seconds|planning ms) .*$", re.MULTILINE), r"\1 _"),
    (re.compile(r"^(planning ms): .*$", re.MULTILINE), r"\1: _"),
    (re.compile(r"^(order of runs|.*first: the first run).*$", re.MULTILINE), r"\1"),
    (re.compile(r"(exec|app|application|local)-\d{6,}"), r"\1-_"),
    # Spark's expression ids, which depend on the background planning at the start; "day#2" is the second use of a table
    (re.compile(r"#(\d{2,}|\d+L)\b"), "#_"),
    # the width of a frame depends on the plan in it
    (re.compile(r"-{121,}"), "-" * 121),
    (re.compile(r" {121,}"), " " * 121),
    (re.compile(r"plan_id=\d+"), "plan_id=_"),
    (re.compile(r"\b\d+(\.\d+)? [KMG]?i?B/s"), "_ B/s"),
    (re.compile(r"Python \d+\.\d+\.\d+"), "Python _"),
    # join rows that a sample estimates: the sample depends on the names of the files, which are new in each run
    (re.compile(r"^( +\d+  .*join \S+) +\S+( +up to \S+)? +dovetail ", re.MULTILINE), r"\1  _  dovetail "),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)
# A line of Spark's plan, in which each number after "#" is an expression id.
PLAN = re.compile(r"^(\|== Physical Plan|[ :|]*(\*\(\d+\) )?[+:]- ).*$", re.MULTILINE)
EXPRESSION = re.compile(r"#\d+L?\b")
# Lines that Spark and the JVM print if log4j is not configured. They are not about Dovetail.
NOISE = re.compile(
    r"^(WARNING: |Setting default log level|To adjust logging level|Using Spark's|\d\d/\d\d/\d\d |:: |Picked up |"
    r"\s*\[Stage |Spark Web UI|Spark master|Time taken|Setting Spark log level)"
)
# Output of Spark when it resolves --packages and spark.jars.packages. It changes once the jars have been fetched.
IVY = re.compile(r"^Ivy Default Cache set to: .*?^\t\d+ artifacts copied[^\n]*$", re.MULTILINE | re.DOTALL)


def paths() -> list[Path]:
    """The programs and scripts, by name."""
    return sorted(p for p in FOLDER.iterdir() if p.suffix in (".py", ".sh") and p.name != TABLES)


def transcript(path: Path, place: Path) -> str:
    """The commands and their output, as a user would see them."""
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
    """The text without messages of Spark and the JVM, and without the empty lines that a progress bar leaves."""
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
            # a busy machine must not cause a difference because a budget runs out
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
