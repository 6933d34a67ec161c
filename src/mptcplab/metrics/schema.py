# SPDX-License-Identifier: GPL-2.0-only
"""What a figure is: the form in which every one is defined, once, as a field of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

#: A figure; None if it does not exist for a run.
Value = float | int | None

# Less than 2^63, which is what tables have room for; guests begin at 10^18 ns.
MOST = 2 * 10**18
_BOUNDS = Field(ge=-MOST, le=MOST)
Whole = Annotated[int, _BOUNDS] | None
Real = Annotated[float, _BOUNDS] | None


class Stored(BaseModel):
    """A part of a document, as it is written and read: keys that are not known stay.

    What is read may be changed or another version's: a ValidationError says what is wrong.
    """

    model_config = ConfigDict(
        frozen=True, strict=True, extra="allow", allow_inf_nan=False, defer_build=True
    )


class Figures(Stored):
    """Figures of the same thing, each an attribute; by name where only its name is known."""

    def __getitem__(self, name: str) -> Value:
        """Raises KeyError if there is no such figure."""
        value: Value = self.__dict__[name]
        return value


@dataclass(frozen=True)
class Metric:
    """What a figure is called, what it means and how it comes about.

    `source` names the record fields.
    """

    name: str
    unit: str
    meaning: str
    formula: str
    source: str


def figure(unit: str, meaning: str, formula: str, source: str, **default: Any) -> Any:
    """A field of Figures, with what `metrics_of` and the JSON Schema say of it.

    Its default, if it is not None, is given as to pydantic's Field.
    """
    return Field(
        **(default or {"default": None}),
        description=meaning,
        json_schema_extra={"unit": unit, "formula": formula, "source": source},
    )


def metrics_of(figures: type[Figures]) -> tuple[Metric, ...]:
    """All that are defined by `figure`, in their order."""
    found = []
    for name, field in figures.model_fields.items():
        about = field.json_schema_extra
        if isinstance(about, dict):
            unit, formula, source = map(str, about.values())
            found.append(Metric(name, unit, str(field.description), formula, source))
    return tuple(found)
