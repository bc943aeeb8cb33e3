"""Elements of HTML and SVG as strings. `text` escapes everything that is not markup, such as names and conditions."""

from __future__ import annotations

import html

# Pixels from the middle of a letter to its baseline. A label that is moved down by this is centered on its y.
HALF_LETTER = 4.0


def text(value: object) -> str:
    """A value as text between tags.

    >>> text('a < "b"')
    'a &lt; &quot;b&quot;'
    """
    return html.escape(str(value))


def tag(name: str, *children: str, **attributes: object) -> str:
    """An element; its children are markup. `class_` becomes `class`, `a_b` becomes `a-b`, None omits an attribute.

    >>> tag("p", text("1 < 2"), class_="note", aria_label='"x"', id=None)
    '<p class="note" aria-label="&quot;x&quot;">1 &lt; 2</p>'
    """
    named = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    words = "".join(f' {key}="{text(_plain(value))}"' for key, value in named)
    return f"<{name}{words}>{''.join(children)}</{name}>"


def picture(width: float, height: float, label: str, *children: str) -> str:
    """An SVG in its own size, which a screen reader announces as one picture.

    A viewer that removes drawings keeps their words; the blanks between elements then separate the words.
    """
    box = {"viewBox": f"0 0 {_plain(width)} {_plain(height)}", "width": width, "height": height}
    return tag("svg", " ".join(children), role="img", aria_label=label, xmlns="http://www.w3.org/2000/svg", **box)


def line(x1: float, y1: float, x2: float, y2: float, *children: str, **attributes: object) -> str:
    """A straight line. It is gray if a notebook viewer removes the style sheet; without a stroke, SVG draws no line."""
    return tag("line", *children, x1=x1, y1=y1, x2=x2, y2=y2, stroke="gray", **attributes)


def label(x: float, y: float, words: str, **attributes: object) -> str:
    """Text in a picture."""
    return tag("text", text(words), x=x, y=y, **attributes)


def dot(x: float, y: float, radius: float, tooltip: str, **attributes: object) -> str:
    """A circle with a tooltip."""
    return tag("circle", tag("title", text(tooltip)), cx=x, cy=y, r=radius, **attributes)


def _plain(value: object) -> object:
    """The value; a coordinate is rounded to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
