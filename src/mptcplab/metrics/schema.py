# SPDX-License-Identifier: GPL-2.0-only
"""The form in which every figure is defined, once, as a field of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

# Units that the short name of a figure leaves out, as they stand in its full name.
_SHORTENED = {"bit/s": "_bps", "ms": "_ms", "s": "_s"}

#: A figure; None if it does not exist for a run.
Value = float | int | None

# Less than 2^63, the limit of tables; guests begin at 10^18 ns.
MOST = 2 * 10**18
_BOUNDS = Field(ge=-MOST, le=MOST)
Whole = Annotated[int, _BOUNDS] | None
Real = Annotated[float, _BOUNDS] | None


class Stored(BaseModel):
    """A part of a document, as it is written and read: unknown keys stay.

    The file may have been changed, or be of another version: a ValidationError names the mistake.
    """

    model_config = ConfigDict(
        frozen=True, strict=True, extra="allow", allow_inf_nan=False, defer_build=True
    )


class Figures(Stored):
    """Figures of one thing, as attributes, and as items for names known only at run time.

    A field is defined by `figure` or `counter`; the docstring below it is its meaning.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **_options: Any) -> None:
        for field in cls.model_fields.values():
            field.description = " ".join((field.description or "").split()) or None

    def __getitem__(self, name: str) -> Value:
        """Raises KeyError if there is no such figure."""
        value: Value = self.__dict__[name]
        return value


_FORMULAS = {
    "last": "{0} at the last sample",
    "increase": "{0} at t1 - {0} at t0",
    "mean": "mean of the samples of {0} in [t0, t1]",
    "mean of each": "mean of the samples of {0} in [t0, t1]",
}
_RANK = (
    "nearest rank: the lowest sample of {0} in [t0, t1] that at least {1} % of these samples do "
    "not exceed"
)


@dataclass(frozen=True)
class Recipe:
    """A figure that follows from one field of the records that its source names.

    Module `compute` has each `statistic`: one of _FORMULAS, or a percentile such as p99. The value
    is divided by `scale`.
    """

    statistic: str
    field: str
    scale: int = 1

    def __str__(self) -> str:
        text = _FORMULAS.get(self.statistic, _RANK).format(self.field, self.statistic[1:])
        return text if self.scale == 1 else f"{text} / {self.scale}"


class Trait(Enum):
    """What code must know of a figure beyond its formula."""

    SUM = "the figure of a run with several connections is the sum of theirs"
    PROBE = "the sockets of an unmodified kernel do not report its source"
    DECISIONS = "only a scheduler that decides segment by segment has it"


@dataclass(frozen=True)
class Metric:
    """A figure: its name, unit, meaning and formula; `source` names the records."""

    name: str
    unit: str
    meaning: str
    formula: str
    source: str
    recipe: Recipe | None = None
    traits: tuple[Trait, ...] = ()


def figure(unit: str, formula: str | Recipe, source: str, *traits: Trait, **options: Any) -> Any:
    """A field of Figures, described for `metrics_of` and the JSON Schema.

    A `formula` that is a Recipe needs no code. `options` are pydantic's; the default is None.
    """
    if "default_factory" not in options:
        options.setdefault("default", None)
    about: Any = {"unit": unit, "formula": str(formula), "source": source}
    field: Any = Field(**options, json_schema_extra=about)
    recipe = formula if isinstance(formula, Recipe) else None
    # pydantic keeps metadata that it does not know
    field.metadata.append(Metric("", unit, "", str(formula), source, recipe, traits))
    return field


def counter(field: str, source: str, *traits: Trait, unit: str = "") -> Any:
    """The last value of a counter: it covers the whole run."""
    return figure(unit, Recipe("last", field), source, Trait.SUM, *traits)


def metrics_of(figures: type[Figures]) -> tuple[Metric, ...]:
    """All fields that are defined by `figure`, in their order."""
    return tuple(
        replace(metric, name=name, meaning=str(field.description))
        for name, field in figures.model_fields.items()
        for metric in field.metadata
        if isinstance(metric, Metric)
    )


def short_name(name: str, unit: str) -> str:
    """The name of a figure without its unit, if that is one of a rate or of a time.

    goodput_bps is goodput, and delay_ms_p99 is delay_p99.
    """
    suffix = _SHORTENED.get(unit, "")
    head, found, tail = name.rpartition(suffix) if suffix else (name, "", "")
    return head + tail if found and tail[:1] in ("", "_") else name
