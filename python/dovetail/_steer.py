"""Texts in the statements of `pins` and `rows`, whose parser is Dovetail's own: a doubled quote stands for one."""


def quoted(text: str) -> str:
    """A text between quotes.

    >>> print(quoted("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"
