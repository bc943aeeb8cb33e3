"""Plain tables and lines as HTML for a notebook's cell, in the style of explanations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from importlib import resources

from dovetail.report.markup import tag, text


def fragment(blocks: Iterable[str]) -> str:
    """Blocks of markup as one element with its style."""
    return tag("div", tag("style", style()), *blocks, class_="dovetail")


def style() -> str:
    """The style sheet of all HTML output."""
    return resources.files("dovetail.report").joinpath("style.css").read_text(encoding="utf-8")


def table(header: Sequence[str], rows: Sequence[Sequence[str | None]], right: Collection[int] = ()) -> str:
    """A table that scrolls by itself if it is wider than the page; None is shown as "-".

    >>> table(("a", "n"), [("<x>", None)], right={1}).count('class="right"')
    2
    """

    def aligned(at: int) -> str | None:
        return "right" if at in right else None

    head = [tag("th", text(title), scope="col", class_=aligned(at)) for at, title in enumerate(header)]
    body = [
        tag("tr", *(tag("td", text("-" if cell is None else cell), class_=aligned(at)) for at, cell in enumerate(row)))
        for row in rows
    ]
    whole = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body))
    return tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label="table")


def lines(words: str) -> str:
    r"""Lines of text as a paragraph; empty text, which is only spacing in a terminal, gives nothing.

    >>> lines("a\nb"), lines("")
    ('<p>a<br>b</p>', '')
    """
    return tag("p", "<br>".join(text(line) for line in words.split("\n"))) if words else ""
