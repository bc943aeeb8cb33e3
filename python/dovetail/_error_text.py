"""Parts of error messages: lists of names, similar names, and what was given instead of what is expected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

# Largest number of names that an error lists; then it says how many more there are. A warehouse may have thousands of
# tables.
NAMES_SHOWN = 20

# What to do with a DataFrame of another library, by the package of its class.
_FRAMES = {
    "pyspark.pandas": "Call to_spark() on it.",
    "pandas": "Make a DataFrame of Spark from it: spark.createDataFrame(frame).",
    "polars": "Make a DataFrame of Spark from it: spark.createDataFrame(frame.to_pandas()).",
}


def listing(names: Iterable[str], separator: str = ", ") -> str:
    """Names for an error message: at most `NAMES_SHOWN` of them, then how many more.

    >>> listing(["a", "b"])
    'a, b'
    >>> listing([])
    '(none)'
    """
    names = list(names)
    shown = separator.join(names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return (shown + (f" and {more} more" if more > 0 else "")) or "(none)"


def did_you_mean(wrong: str, known: Sequence[str], most: int = 3) -> str:
    """A sentence that proposes the most similar names, ignoring letter case.

    Args:
        wrong: The unknown name.
        known: The names that exist.
        most: Largest number of names to propose.

    Returns:
        The sentence, after a blank, to be appended to an error message; empty if no name is similar.

    >>> did_you_mean("ss_itm_sk", ["ss_item_sk", "ss_store_sk", "d_year"])
    ' Did you mean ss_item_sk or ss_store_sk?'
    >>> did_you_mean("zzz", ["d_year"])
    ''
    """
    by_lower = {name.lower(): name for name in reversed(known)}
    close = [by_lower[name] for name in get_close_matches(wrong.lower(), by_lower, n=most)]
    return f" Did you mean {' or '.join(close)}?" if close else ""


def files_hint(path: str) -> str:
    """A sentence that says how files are named, for a path without its format or its backticks.

    The sentence follows a blank, to be appended to an error message.

    >>> files_hint("/data/a.db/sales")
    ' Files are named with their format, and their path is between backticks: parquet.`/data/a.db/sales`.'
    >>> files_hint("orc./data/a.db/sales")
    ' Files are named with their format, and their path is between backticks: orc.`/data/a.db/sales`.'
    """
    format, dot, rest = path.partition(".")
    named = (format, rest) if dot and format and "/" not in format else ("parquet", path)
    return f" Files are named with their format, and their path is between backticks: {named[0]}.`{named[1]}`."


def kind_of(value: object) -> str:
    """The type of a value, with its module unless it is built in: several libraries have a class DataFrame.

    >>> import pathlib
    >>> kind_of(5), kind_of(pathlib.PurePosixPath())
    ('int', 'pathlib.PurePosixPath')
    """
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def got(value: object) -> str:
    """The end of a message about an argument that is no DataFrame of Spark: its type, and how to make one from it.

    >>> got(5)
    'got int.'
    """
    kind = kind_of(value)
    if kind.endswith(".SparkSession"):
        return f"got {kind}: the arguments may be in the wrong order."
    is_frame = kind.endswith(".DataFrame")
    advice = next((words for package, words in _FRAMES.items() if is_frame and kind.startswith(f"{package}.")), "")
    return f"got {kind}. {advice}".rstrip()
