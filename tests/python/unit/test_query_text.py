"""How a text is told to be a query."""

from dovetail._query import is_query


def test_many_comments_before_a_statement_that_is_no_query() -> None:
    # more than one way to read a comment would take 2^60 steps
    assert not is_query("/* a */\n" * 60 + "INSERT INTO t SELECT 1")
    assert is_query("/* a ** / -- */ -- b\n" * 60 + "SELECT 1")
