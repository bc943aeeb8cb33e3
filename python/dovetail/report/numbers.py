"""Formats numbers for readers, in the same way in all output formats."""

from __future__ import annotations

from dovetail.report.model import Estimate

UNKNOWN = "?"

# Suffixes for thousand, million and billion, each with the number from which it is used. Beyond them, a power of ten is
# clearer than a letter.
_STEPS = ((1e9, "G"), (1e6, "M"), (1e4, "k"))
_POWERS = {"G": 1e9, "M": 1e6, "k": 1e3}
_LARGEST = 1e12
# A bound that differs from the estimate by more than this factor does not help a reader: most such bounds are products
# of the inputs.
_FARTHEST = 100.0
_BYTES = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))


def count(number: float | None) -> str:
    """A number of rows in at most seven characters.

    >>> count(1800), count(263_200), count(3.8e25), count(None)
    ('1800', '263.2k', '3.8e+25', '?')
    """
    if number is None:
        return UNKNOWN
    if number >= _LARGEST:
        return f"{number:.1e}"
    for least, letter in _STEPS:
        if number >= least:
            return f"{number / _POWERS[letter]:.1f}{letter}"
    return f"{number:.0f}"


def bounds(rows: Estimate) -> str:
    """Bounds of an estimate as text; empty for an exact number. Bounds far from the estimate are left out.

    >>> bounds(Estimate(5, 0, None, "size")), bounds(Estimate(5, 5, 5, "exact")), bounds(Estimate(5, 0, 5e12, "size"))
    ('', '', '')
    >>> bounds(Estimate(5, 0, 9, "size")), bounds(Estimate(5, 2, 9, "size")), bounds(Estimate(5, 2, None, "size"))
    ('up to 9', '2 to 9', 'at least 2')
    """
    if rows.lower == rows.upper:
        return ""
    value = max(rows.value, 1.0)
    lower = rows.lower if rows.lower and value / rows.lower <= _FARTHEST else None
    upper = rows.upper if rows.upper is not None and rows.upper / value <= _FARTHEST else None
    if lower is None:
        return "" if upper is None else f"up to {count(upper)}"
    return f"at least {count(lower)}" if upper is None else f"{count(lower)} to {count(upper)}"


def size(number: float | None) -> str:
    """A size in bytes, as text.

    >>> size(900), size(5.3 * 2**20), size(None)
    ('900 B', '5.3 MiB', '?')
    """
    if number is None:
        return UNKNOWN
    for least, unit in _BYTES:
        if number >= least:
            return f"{number / least:.1f} {unit}"
    return f"{number:.0f} B"


def share(part: float | None, whole: float | None) -> str:
    """A share in percent; empty if a number is unknown or the whole is zero.

    >>> share(1, 8), share(1, 1000), share(1, 0)
    ('12 %', '<1 %', '')
    """
    if part is None or not whole:
        return ""
    percent = 100 * part / whole
    return f"{percent:.0f} %" if percent >= 1 or part == 0 else "<1 %"


def duration(millis: float) -> str:
    """A duration, as text.

    >>> duration(12.3), duration(1234.0)
    ('12 ms', '1.2 s')
    """
    return f"{millis:.0f} ms" if millis < 1000 else f"{millis / 1000:.1f} s"


def factor(number: float | None) -> str:
    """A factor as text, "1.3x".

    >>> factor(1.25), factor(8512), factor(85_120_000), factor(None)
    ('1.2x', '8,512x', '85.1Mx', '')
    """
    if number is None:
        return ""
    return f"{number:.1f}x" if number < 10 else f"{number:,.0f}x" if number < 1e4 else f"{count(number)}x"
