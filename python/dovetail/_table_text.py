"""Plain-text tables for `print`, as wide as their longest cells. They do not need rich."""

from __future__ import annotations

from collections.abc import Collection, Sequence

# Largest width of a cell, in characters. Longer cells are cut: the maximum of a string column may be a page of text.
WIDEST_CELL = 40


def table_text(
    header: Sequence[str],
    rows: Sequence[Sequence[str | None]],
    right: Collection[int] = (),
    paths: Collection[int] = (),
) -> str:
    """A header, a rule and the rows, with two blanks between columns; None is shown as "-".

    Args:
        header: Column titles.
        rows: Cells, as many per row as there are titles.
        right: Indices of the columns that are aligned to the right (numbers).
        paths: Indices of the columns of paths. Long paths lose folders in their middle, because they differ at the end.

    >>> print(table_text(("name", "rows"), [("a", "10"), ("bcdef", None)], right={1}))
    name   rows
    -----  ----
    a        10
    bcdef     -
    """
    cells = [list(header), *([_cell(cell, at in paths) for at, cell in enumerate(row)] for row in rows)]
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


def _cell(text: str | None, is_path: bool) -> str:
    if text is None:
        return "-"
    flat = " ".join(text.split())
    if len(flat) <= WIDEST_CELL:
        return flat
    return _without_middle(flat) if is_path else flat[: WIDEST_CELL - 1] + "…"


def _without_middle(path: str) -> str:
    """A long path without folders in its middle; without characters there, if its end alone is too long.

    >>> _without_middle("parquet.`file:/data/warehouse/europe/shop/sales`")
    'parquet.`file:/…/europe/shop/sales`'
    """
    first, *others = path.split("/")
    for dropped in range(1, len(others)):
        short = "/".join((first, "…", *others[dropped:]))
        if len(short) <= WIDEST_CELL:
            return short
    half = WIDEST_CELL // 2
    return f"{path[: half - 1]}…{path[-half:]}"
