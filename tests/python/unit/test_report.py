"""Explanations as text, HTML, JSON and Mermaid, made from JSON that is complete, unusual or incomplete."""

from __future__ import annotations

import copy
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import explained
import pytest
from jsonschema import Draft202012Validator as Validator

from dovetail.explanation import Explanation
from dovetail.report import numbers, reading

MADE = {"bushy": explained.bushy(), "left alone": explained.left_alone(), "star": explained.star(30)}
MADE |= {"snowflake": explained.snowflake()}
MADE |= {"reasoned": explained.reasoned(), "empty": explained.report()}
FORMATS = ("html", "json", "mermaid")
VOID = {"meta", "br"}


def of(data: dict[str, Any], sql: str | None = None) -> Explanation:
    return Explanation(sql, "text", data)


class Balance(HTMLParser):
    """Fails if tags are not closed in the reverse order of their opening."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", MADE)
def test_schema(name: str) -> None:
    Validator.check_schema(Explanation.schema())
    Validator(Explanation.schema()).validate(MADE[name])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("groups", 0, "status"), "moved"),
        (("groups", 0, "after", "joins", 0, "q_error"), 0.5),
        (("groups", 0, "relations", 0, "rows", "source"), "magic"),
        (("planning_ms", "total"), -1),
        (("enabled",), "yes"),
    ],
)
def test_schema_refuses(path: tuple[str | int, ...], value: object) -> None:
    data: Any = copy.deepcopy(MADE["bushy"])
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    assert not Validator(Explanation.schema()).is_valid(data)


def test_schema_is_documented(root: Path) -> None:
    def names(part: Any) -> set[str]:
        if not isinstance(part, dict):
            return set()
        return set(part.get("properties", {})).union(*(names(value) for value in part.values()))

    page = (root / "docs" / "reference" / "explain-json.md").read_text(encoding="utf-8")
    assert [name for name in sorted(names(Explanation.schema())) if f"`{name}`" not in page] == []


def test_joins_know_their_inputs() -> None:
    (group,) = reading.read(MADE["bushy"]).groups
    assert group.after is not None
    assert [join.inputs for join in group.after.joins] == [("d", "b"), ("a", "c"), (1, 2)]
    assert group.after.leaves() == ["d", "b", "a", "c"]
    assert group.before is not None
    assert [join.inputs for join in group.before.joins] == [("a", "b"), (1, "c"), (2, "d")]
    assert group.guessed == ["b"]
    assert [join.q_error for join in group.after.joins] == [4.0, 1000.0, 1.0]


def test_text_is_what_the_jar_wrote() -> None:
    data = {**MADE["bushy"], "text": "in short", "verbose": "at length"}
    assert str(of(data)) == repr(of(data)) == "in short"
    assert of(data).render("verbose") == "at length"
    # an older jar sends no text; verdict and reason are shown instead
    assert str(of(MADE["bushy"])) == "reordered: saves 99.0 % of the estimated cost"
    assert "left alone: a condition <may fail>" in str(of(MADE["left alone"]))


def test_notes_are_in_every_drawn_form() -> None:
    told = "The hint BROADCAST on <d> keeps its join."
    found = of({**MADE["empty"], "notes": [told]})
    assert "The hint BROADCAST on &lt;d&gt; keeps its join." in found._repr_html_()
    assert "The hint BROADCAST on" in found.render("mermaid")
    Validator(found.schema()).validate(found.to_dict())


def test_orders_at_run_time() -> None:
    html = of(MADE["bushy"])._repr_html_()
    assert "At run time ((a b) c), in place of ((a c) b): 3 rows of &lt;b&gt;, estimated 2000; saves 60.0 %" in html
    assert "Rows out of its joins: 80, ?." in html
    group = {**MADE["bushy"]["groups"][0], "at_run_time": [{"planned": "(a b)", "order": None, "reason": "it failed"}]}
    assert "At run time the planned order: it failed." in of({**MADE["bushy"], "groups": [group]})._repr_html_()


def test_reasons_and_missing_statistics() -> None:
    html = of(MADE["reasoned"])._repr_html_()
    assert "<code>DOVETAIL ANALYZE TABLE db.b COLUMNS (k, v)</code>" in html
    assert "<li>(2) sort merge: c &lt;is&gt; already partitioned by the key</li>" in html
    assert html.count("Why these methods") == 1


@pytest.mark.parametrize("name", MADE)
def test_html_is_whole_and_needs_nothing_else(name: str) -> None:
    html = of(MADE[name], 'SELECT "<b>"').render("html")
    parser = Balance()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        assert ElementTree.fromstring(svg).get("aria-label")  # noqa: S314 - made here
    assert re.findall(r"https?://[^\s\"'<]+", html.replace("http://www.w3.org/2000/svg", "")) == []
    assert "<script" not in html
    assert "<link" not in html
    assert "SELECT &quot;&lt;b&gt;&quot;" in html


def test_html_says_all_of_it() -> None:
    html = of(MADE["bushy"])._repr_html_()
    assert html.count("<svg") == 4  # written, chosen, join graph, errors
    for words in ("left outer", "off by", "Runner-up", "Rows are guessed for b", "d.&quot;&lt;k&gt;&quot;", "1,000x"):
        assert words in html
    alone = of(MADE["left alone"])._repr_html_()
    assert "A condition &lt;may fail&gt; &amp; must stay" in alone
    assert "<svg" not in alone
    off = of({**MADE["empty"], "enabled": False})
    assert "spark.dovetail.enabled=false" in off._repr_html_()


def test_the_fact_table_of_a_snowflake_stands_in_the_midst() -> None:
    html = of(MADE["snowflake"])._repr_html_()
    assert re.findall(r'class="name halo"[^>]*>(\w+)<', html) == ["fact"]
    assert html.count('class="wide"') == 2  # the order and the join graph
    assert "Runner-up: another order, cost " in html


def test_mermaid() -> None:
    lines = of(MADE["bushy"]).render("mermaid").splitlines()
    assert lines[0] == "flowchart BT"
    assert [line.strip() for line in lines if "-->" in line][-2:] == ["g1j1 --> g1j3", "g1j2 --> g1j3"]
    assert "#lt;may fail#gt; #amp; must stay" in of(MADE["left alone"]).render("mermaid")


@pytest.mark.parametrize("format", FORMATS)
def test_any_key_may_be_missing_or_null(format: str) -> None:
    whole = MADE["reasoned"]

    def without(part: Any) -> list[Any]:
        """Variants of the value in which one key at any depth is missing or null."""
        if isinstance(part, list):
            return [[*part[:at], less, *part[at + 1 :]] for at, item in enumerate(part) for less in without(item)]
        if not isinstance(part, dict):
            return []
        gone = [{k: v for k, v in part.items() if k != key} for key in part] + [{**part, key: None} for key in part]
        return gone + [{**part, key: less} for key, value in part.items() for less in without(value)]

    variants = without(whole)
    assert len(variants) > 200
    for variant in [{}, *variants]:
        assert of(variant).render(format)


def test_save(tmp_path: Path) -> None:
    found = of(MADE["bushy"])
    for name, start in (("a.txt", "reordered"), ("a.html", "<!DOCTYPE"), ("a.json", "{"), ("a.mmd", "flowchart")):
        assert found.save(tmp_path / name).read_text(encoding="utf-8").startswith(start)
    assert json.loads((tmp_path / "a.json").read_text()) == MADE["bushy"]


def test_every_part_of_a_cost_is_shown() -> None:
    made = explained.bushy()
    html = of(made)._repr_html_()
    whole = made["groups"][0]["after"]["cost"]
    for join in made["groups"][0]["after"]["joins"]:
        for part, value in join["cost"].items():
            if value and part != "total":
                share = numbers.share(abs(value), whole).replace("<", "&lt;")
                told = f"{part} {share}" if value > 0 else f"{part} saves {share}"
                assert told in html, told
    assert "hatched: saved reading of a scan" in html


def test_an_order_deeper_than_pythons_stack_is_drawn() -> None:
    deep = explained.star(sys.getrecursionlimit() + 100)
    (group,) = reading.read(deep).groups
    assert group.before is not None
    assert group.before.leaves() == [relation.name for relation in group.relations]
    for format in FORMATS:
        assert of(deep).render(format)
