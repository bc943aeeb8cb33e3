"""Config: types, ranges, and conversion to Spark's text and back."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import Config
from dovetail._settings import LARGEST_INT, PRIVATE_COLUMNS, Setting
from dovetail.errors import ConfigError


def _values(setting: Setting) -> st.SearchStrategy[Any]:
    if setting.kind == "bool":
        return st.booleans()
    if setting.kind == "enum":
        return st.sampled_from(setting.choices)
    if setting.kind == "int":
        return st.integers(int(setting.low or 0), int(setting.high or LARGEST_INT))
    if setting.kind == "float":
        return st.floats(setting.low, setting.high, allow_nan=False, allow_infinity=False)
    # names of columns, in backticks or not; other texts are refused
    return COLUMNS if setting.key == PRIVATE_COLUMNS else st.text()


_PART = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}|`[a-z .-]{1,8}`", fullmatch=True)
COLUMNS = st.lists(st.lists(_PART, min_size=1, max_size=3).map(".".join), max_size=4).map(", ".join)

CONFIGS = st.fixed_dictionaries({setting.name: _values(setting) for setting in Config.SETTINGS}).map(
    lambda v: Config(**v)
)


@given(CONFIGS)
def test_spark_text_and_back(config: Config) -> None:
    conf = config.to_conf()
    assert all(isinstance(value, str) for value in conf.values())
    assert set(conf) == {setting.key for setting in Config.SETTINGS}
    back = {setting.name: setting.parse(conf[setting.key]) for setting in Config.SETTINGS}
    assert Config(**back) == config  # type: ignore[arg-type]


def test_fields_and_settings_are_the_same() -> None:
    fields = {field.name: field.default for field in dataclasses.fields(Config)}
    assert fields == {setting.name: setting.default for setting in Config.SETTINGS}


def test_the_names_of_the_design() -> None:
    names = {setting.name: setting.key for setting in Config.SETTINGS}
    assert names["card_weight"] == "spark.dovetail.cost.cardWeight"
    assert names["cost_model"] == "spark.dovetail.cost.model"
    assert names["histograms"] == "spark.dovetail.histogram.enabled"
    assert names["planning_budget_ms"] == "spark.dovetail.reorder.maxPlanningMs"
    assert names["enabled"] == "spark.dovetail.enabled"


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("card_weight", 1.5, "a number from 0.0 to 1.0"),
        ("card_weight", float("nan"), "a number from 0.0 to 1.0"),
        ("card_weight", "0.5", "a number from 0.0 to 1.0"),
        ("card_weight", 10**400, "a number from 0.0 to 1.0"),
        ("card_weight", True, "a number from 0.0 to 1.0"),
        ("cost_model", "cheap", "'physical' or 'cardWeight'"),
        ("planning_budget_ms", 0, "a whole number, at least 1"),
        ("planning_budget_ms", 1.5, "a whole number, at least 1"),
        ("planning_budget_ms", 2**63, "a whole number, at least 1"),
        ("planning_budget_ms", 10**400, "a whole number, at least 1"),
        ("histograms", 1, "True or False"),
        ("enabled", "true", "True or False"),
        ("enabled", None, "True or False"),
    ],
)
def test_a_wrong_value_raises_with_what_is_allowed(name: str, value: object, allowed: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Config(**{name: value})  # type: ignore[arg-type]
    key = next(setting.key for setting in Config.SETTINGS if setting.name == name)
    assert f"{name}={value!r} ({key}) is not allowed: expected {allowed}." == str(raised.value)
    assert isinstance(raised.value, ValueError)


def test_texts_are_read_as_the_jvm_reads_them() -> None:
    budget = next(setting for setting in Config.SETTINGS if setting.name == "planning_budget_ms")
    assert budget.parse(" 1000 ") == 1000
    with pytest.raises(ConfigError, match="expected a whole number"):
        budget.parse("1_000")


def test_whole_numbers_are_numbers() -> None:
    assert Config(card_weight=1).card_weight == 1.0
    assert Config(card_weight=1).to_conf()["spark.dovetail.cost.cardWeight"] == "1.0"


def test_a_config_cannot_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().enabled = False  # type: ignore[misc]


def test_only_what_is_chosen_is_set() -> None:
    assert Config.chosen({"min_gain": 0.25}) == {"spark.dovetail.reorder.minGain": "0.25"}
    assert Config.chosen({}) == {}


def test_an_unknown_name_raises_with_near_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown setting 'card_wait'\. Did you mean card_weight\?"):
        Config.chosen({"card_wait": 1})
    with pytest.raises(ConfigError, match=r"unknown setting 'reorder_min_gain'\. Did you mean min_gain\?"):
        Config(reorder_min_gain=0.2)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match=r"'spark\.dovetail\.enabled' is a key of Spark's .*: enabled\."):
        Config.chosen({"spark.dovetail.enabled": False})
    with pytest.raises(ConfigError, match=r"unknown setting 'cost\.cardWait'\. Did you mean card_weight\?"):
        Config.chosen({"spark.dovetail.cost.cardWait": 1})


@pytest.mark.parametrize("text", ["maybe", "1", ""])
def test_text_that_is_no_value_raises(text: str) -> None:
    enabled = next(setting for setting in Config.SETTINGS if setting.name == "enabled")
    with pytest.raises(ConfigError, match="True or False"):
        enabled.parse(text)


@pytest.mark.parametrize("text", ["1e-05", "5E-1", "0.5"])
def test_numbers_as_java_writes_them(text: str) -> None:
    weight = next(setting for setting in Config.SETTINGS if setting.name == "card_weight")
    assert weight.parse(text) == float(text)


def test_a_weight_selects_the_cost_model_that_has_it() -> None:
    weight, model = "spark.dovetail.cost.cardWeight", "spark.dovetail.cost.model"
    assert Config.chosen({"card_weight": 0.25}) == {weight: "0.25", model: "cardWeight"}
    assert Config.chosen({"card_weight": 0.25, "cost_model": "physical"}) == {weight: "0.25", model: "physical"}
    assert Config(card_weight=0.7).cost_model == "cardWeight"
    assert Config(cost_model="physical", card_weight=0.25).cost_model == "physical"
    assert Config().cost_model == "physical"
