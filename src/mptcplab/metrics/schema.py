# SPDX-License-Identifier: GPL-2.0-only
"""The form in which every figure is defined, once, as a field of a model."""

from __future__ import annotations

from dataclasses import dataclass
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

    The file may have been changed, or be of another version: a ValidationError says what is wrong.
    """

    model_config = ConfigDict(
        frozen=True, strict=True, extra="allow", allow_inf_nan=False, defer_build=True
    )


class Figures(Stored):
    """Figures of one thing, as attributes, and as items for names known only at run time."""

    def __getitem__(self, name: str) -> Value:
        """Raises KeyError if there is no such figure."""
        value: Value = self.__dict__[name]
        return value


@dataclass(frozen=True)
class Metric:
    """The name, meaning and formula of a figure.

    `source` names the record fields.
    """

    name: str
    unit: str
    meaning: str
    formula: str
    source: str


def figure(unit: str, meaning: str, formula: str, source: str, **default: Any) -> Any:
    """A field of Figures, with its description for `metrics_of` and the JSON Schema.

    Its default, if it is not None, is given as to pydantic's Field.
    """
    return Field(
        **(default or {"default": None}),
        description=meaning,
        json_schema_extra={"unit": unit, "formula": formula, "source": source},
    )


def metrics_of(figures: type[Figures]) -> tuple[Metric, ...]:
    """All fields that are defined by `figure`, in their order."""
    found = []
    for name, field in figures.model_fields.items():
        about = field.json_schema_extra
        if isinstance(about, dict):
            unit, formula, source = map(str, about.values())
            found.append(Metric(name, unit, str(field.description), formula, source))
    return tuple(found)


def short_name(name: str, unit: str) -> str:
    """The name of a figure without its unit, if that is one of a rate or of a time.

    goodput_bps is goodput, and delay_ms_p99 is delay_p99.
    """
    suffix = _SHORTENED.get(unit, "")
    head, found, tail = name.rpartition(suffix) if suffix else (name, "", "")
    return head + tail if found and tail[:1] in ("", "_") else name
