"""Plain-text tables for `print`, as wide as their longest cells. They do not need rich."""

from __future__ import annotations

from collections.abc import Collection, Sequence

# Largest width of a cell, in characters. Longer cells are cut: the maximum of a string column may be a page of text.
WIDEST_CELL = 40


def table_text(header: Sequence[str], rows: Sequence[Sequence[str | None]], right: Collection[int] = ()) -> str:
    """A header, a rule and the rows, with two blanks between columns; None is shown as "-".

    Args:
        header: Column titles.
        rows: Cells, as many per row as there are titles.
        right: Indices of the columns that are aligned to the right (numbers).

    >>> print(table_text(("name", "rows"), [("a", "10"), ("bcdef", None)], right={1}))
    name   rows
    -----  ----
    a        10
    bcdef     -
    """
    cells = [list(header), *([_cell(cell) for cell in row] for row in rows)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(header))]
    lines = [
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _cell(text: str | None) -> str:
    if text is None:
        return "-"
    flat = " ".join(text.split())
    return flat if len(flat) <= WIDEST_CELL else flat[: WIDEST_CELL - 1] + "…"
