# SPDX-License-Identifier: GPL-2.0-only
"""What a metric is: the form in which every figure is defined, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: A figure; None if it does not exist for a run.
Value = float | int | None


@dataclass(frozen=True)
class Metric:
    """One figure: what it is called, what it means and how it comes about.

    `scope` says whether there is one per run, per path, per connection of a scenario that has them,
    or per direction of a shared link; `source` names the record fields.
    """

    name: str
    scope: Literal["run", "path", "connection", "link"]
    unit: str
    meaning: str
    formula: str
    source: str
