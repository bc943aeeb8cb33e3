"""The base of `Config`: one `Setting` per key, and the class that checks, writes and reads settings.

config.py, generated from the registry inside the jar, adds the fields. A value of a wrong type or out of its range
raises here, before Spark sees it; Spark itself would only log a warning and use the default. Of the texts with a form
of their own, private columns are checked here as well. The session checks cost constants when they are set; other
texts are checked when they are used.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dovetail import _sql
from dovetail._error_text import did_you_mean, listing
from dovetail._identifiers import check_columns
from dovetail.errors import ConfigError, StatementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from typing_extensions import Self

Value = bool | int | float | str

# Prefix of the keys of all settings.
PREFIX = "spark.dovetail."

# The directory of the statistics store.
STORE_PATH = "spark.dovetail.store.path"

# The setting whose value is a list of column names.
PRIVATE_COLUMNS = "spark.dovetail.privateColumns"

# Settings that imply another one: a given weight of a cost formula selects this formula, unless a formula is given too.
NEEDS: Mapping[str, tuple[str, Value]] = {"card_weight": ("cost_model", "cardWeight")}

# Spark stores whole numbers in 64 bits.
LARGEST_INT = 2**63 - 1


@dataclass(frozen=True)
class Setting:
    """One key of Dovetail's configuration.

    Attributes:
        name: Name in `Config`, "card_weight".
        key: Key in Spark, "spark.dovetail.cost.cardWeight".
        kind: Python type of the values; for "enum", `choices` lists all values.
        default: Value if the key is not set.
        low: Smallest value; None if there is no bound.
        high: Largest value; None if there is no bound.
        choices: All values of an enum; empty for other kinds.
    """

    name: str
    key: str
    kind: Literal["bool", "int", "float", "str", "enum"]
    default: Value
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """The allowed values, as text."""
        if self.kind == "bool":
            return "True or False"
        if self.kind == "enum":
            return " or ".join(repr(choice) for choice in self.choices)
        noun = {"int": "a whole number", "float": "a number", "str": "a string"}[self.kind]
        if self.low is not None and self.high is not None:
            return f"{noun} from {self.low} to {self.high}"
        if self.low is not None:
            return f"{noun}, at least {self.low}"
        return noun

    def check(self, value: object) -> Value:
        """Returns the value in the type of the setting (for a float setting, 1 becomes 1.0).

        Raises:
            ConfigError: The value is of another type or out of range.
        """
        checked: Value
        if self.kind == "bool" and isinstance(value, bool):
            return value
        if self.key == PRIVATE_COLUMNS and isinstance(value, str):
            try:
                check_columns(value)
            except StatementError as error:
                raise ConfigError(f"{self.name}={value!r} ({self.key}) is not allowed: {error}") from None
        if self.kind in ("str", "enum") and isinstance(value, str) and (not self.choices or value in self.choices):
            return value
        if self.kind in ("int", "float") and isinstance(value, (int, float)) and not isinstance(value, bool):
            checked = float(value) if self.kind == "float" and abs(value) <= sys.float_info.max else value
            in_range = (
                checked <= LARGEST_INT
                and (self.low is None or checked >= self.low)
                and (self.high is None or checked <= self.high)
            )
            if in_range and math.isfinite(checked) and (self.kind == "float" or isinstance(checked, int)):
                return checked
        raise ConfigError(f"{self.name}={value!r} ({self.key}) is not allowed: expected {self.allowed}.")

    def parse(self, text: str) -> Value:
        """Reads a value from the text of Spark's configuration.

        Raises:
            ConfigError: The text is not an allowed value.
        """
        readers: dict[str, Any] = {"bool": {"true": True, "false": False}.__getitem__, "int": int, "float": float}
        try:
            if self.kind in readers and "_" in text:
                raise ValueError("Python reads such numbers, Spark does not")
            value = readers[self.kind](text.strip().lower()) if self.kind in readers else text
        except (ValueError, KeyError):
            raise ConfigError(f"{self.key}={text} is not allowed: expected {self.allowed}.") from None
        return self.check(value)

    def text(self, value: Value) -> str:
        """The value as text of Spark's configuration: "true", "0.7"."""
        return str(value).lower() if isinstance(value, bool) else str(value)


def with_needed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, with the settings that they require, unless these are given.

    >>> with_needed({"card_weight": 0.5})
    {'cost_model': 'cardWeight', 'card_weight': 0.5}
    """
    return {needed: value for name, (needed, value) in NEEDS.items() if name in values} | dict(values)


def _letters(name: str) -> str:
    """The letters of a name in lower case, so that "reorder.minGain" and "reorder_min_gain" are equal."""
    return "".join(letter for letter in name.lower() if letter.isalpha())


def _unknown(name: str, known: list[str], meant: Sequence[str] = ()) -> str:
    """The message for an unknown setting: names the meant setting, or the most similar one, or lists all settings.

    >>> _unknown("spark.dovetail.reorder.mingain", ["spark.dovetail.reorder.minGain", "spark.dovetail.enabled"])
    'unknown setting spark.dovetail.reorder.mingain. Did you mean spark.dovetail.reorder.minGain?'
    >>> _unknown("reorder_mingain", ["min_gain", "reorder_order"], ["min_gain"])
    "unknown setting 'reorder_mingain'. Did you mean min_gain?"
    """
    if meant:
        return f"unknown setting {name!r}. Did you mean {meant[0]}?"
    # without the common prefix, which would make all keys similar
    prefix = PREFIX if name.startswith(PREFIX) else ""
    nearest = did_you_mean(name.removeprefix(prefix), [one.removeprefix(prefix) for one in known], most=1)
    hint = nearest.replace("mean ", f"mean {prefix}") or f" Settings: {listing(sorted(known))}."
    return f"unknown setting {name if prefix else repr(name)}.{hint}"


def _check_name(name: str, settings: Sequence[Setting]) -> None:
    """Checks that a setting has this name.

    Raises:
        ConfigError: None has; the message proposes one.
    """
    if name not in (known := [one.name for one in settings]):
        bare = name.removeprefix(PREFIX)
        of_key = {_letters(one.key.removeprefix(PREFIX)): one.name for one in settings}
        if name != bare and _letters(bare) in of_key:
            raise ConfigError(
                f"{name!r} is a key of Spark's configuration. Arguments have the names of dovetail.Config: "
                f"{of_key[_letters(bare)]}."
            )
        # a name with Spark's prefix is a key with a mistake in it
        meant = get_close_matches(_letters(bare), of_key, n=1) if name != bare else [_letters(name)]
        raise ConfigError(_unknown(bare, known, [of_key[key] for key in meant if key in of_key]))


class _ArgumentCheck(type):
    """Refuses unknown names, and adds implied settings: later, a field does not show whether it was given."""

    SETTINGS: tuple[Setting, ...]

    def __call__(cls, *args: Any, **given: Any) -> Any:
        for name in given:
            _check_name(name, cls.SETTINGS)
        return super().__call__(*args, **(given if args else with_needed(given)))


@dataclass(frozen=True)
class ConfigBase(metaclass=_ArgumentCheck):
    """Checks and conversions of `Config`; the fields are in the generated subclass."""

    SETTINGS: ClassVar[tuple[Setting, ...]] = ()

    def __post_init__(self) -> None:
        for setting in self.SETTINGS:
            object.__setattr__(self, setting.name, setting.check(getattr(self, setting.name)))

    def to_conf(self) -> dict[str, str]:
        """All settings as Spark configuration, key to value.

        >>> from dovetail import Config
        >>> Config(card_weight=0.5).to_conf()["spark.dovetail.cost.cardWeight"]
        '0.5'
        """
        return {setting.key: setting.text(getattr(self, setting.name)) for setting in self.SETTINGS}

    @classmethod
    def chosen(cls, values: Mapping[str, object]) -> dict[str, str]:
        """The Spark configuration of the settings that are given by name, and of no others; the values are checked.

        Raises:
            ConfigError: A name is unknown, or a value is not allowed.
        """
        by_name = {setting.name: setting for setting in cls.SETTINGS}
        conf = {}
        for name, value in with_needed(values).items():
            _check_name(name, cls.SETTINGS)
            setting = by_name[name]
            conf[setting.key] = setting.text(setting.check(value))
        return conf

    @classmethod
    def check_conf(cls, conf: Mapping[str, str]) -> None:
        """Checks the entries of a Spark configuration that belong to Dovetail; ignores other keys.

        Raises:
            ConfigError: A key is unknown, or a value is not allowed.
        """
        by_key = {setting.key: setting for setting in cls.SETTINGS}
        for key, value in conf.items():
            if key in by_key:
                by_key[key].parse(value)
            elif key.startswith(PREFIX):
                raise ConfigError(_unknown(key, list(by_key)))

    @classmethod
    def from_session(cls, spark: SparkSession) -> Self:
        """Reads the settings of a session.

        Raises:
            NotEnabledError: The session does not have Dovetail.
            ConfigError: A value in the session is not allowed (the session then uses the default of that key).
        """
        current = {row["key"]: row["value"] for row in _sql.function_rows(spark, "dovetail_conf")}
        known = {
            setting.name: setting.parse(current[setting.key]) for setting in cls.SETTINGS if setting.key in current
        }
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in known.items() if name in names})
