# SPDX-License-Identifier: GPL-2.0-only
"""The words that tests of runs are written in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mptcplab import kernel
from mptcplab.engine import Outcome
from mptcplab.metrics import RunMetrics
from mptcplab.records import Samples
from mptcplab.scenario import Flags, Scenario, from_flags


@dataclass(frozen=True)
class Run:
    """A run that has ended well: what it was, what it left, and its figures."""

    scenario: Scenario
    outcome: Outcome
    client: Samples
    server: Samples
    figures: RunMetrics

    @property
    def goodput_bps(self) -> float:
        value = self.figures.metrics["goodput_bps"]
        assert value is not None
        return float(value)


#: The fixture run_scenario: paths as in --path, flags as in scenario.Flags.
RunScenario = Callable[..., Run]


def scenario_of(*paths: str, **flags: str) -> Scenario:
    """The one run that these flags describe."""
    return from_flags(Flags(path=paths, **flags), kernel.schedulers(), single=True).runs()[0]
