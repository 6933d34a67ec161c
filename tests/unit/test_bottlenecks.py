# SPDX-License-Identifier: GPL-2.0-only
"""What limits paths together: their own rates, or those of links which they share."""

from __future__ import annotations

import pytest

from mptcplab.plan.bottlenecks import Bottleneck, bottlenecks
from mptcplab.plan.timeline import link_rates
from mptcplab.scenario.limits import MAX_PATHS
from mptcplab.scenario.model import Scenario
from tests.vocabulary import scenario_of

MBIT = 1_000_000


def found(of: Scenario) -> tuple[list[Bottleneck], float]:
    """The bottlenecks, and the sum of their rates in Mbit/s."""
    rates = {name: float(steps[0][1]) for name, steps in link_rates(of, "up").items()}
    limits = bottlenecks(of, rates)
    return limits, sum(rates[each.name] for each in limits) / MBIT


SHARED = ("a:50mbit,1ms,link=shared", "b:50mbit,1ms,link=shared")


@pytest.mark.parametrize(
    ("paths", "links", "limits", "mbit"),
    [
        # without links each path limits itself
        (("a:50mbit,1ms", "b:20mbit,1ms"), (), {"a": (0,), "b": (1,)}, 70),
        # a link limits its paths if it is narrower than all together; each alone would have 50
        (SHARED, ("shared:60mbit,1ms",), {"shared": (0, 1)}, 60),
        (SHARED, ("shared:120mbit,1ms",), {"a": (0,), "b": (1,)}, 100),
        # each path counts for one bottleneck
        (
            *(("a:link=x", "b:link=x/y", "c:link=y"), ("x:10mbit,1ms", "y:10mbit,1ms")),
            *({"x": (0, 1), "y": (2,)}, 20),
        ),
    ],
)
def test_paths_are_limited_by_their_rates_or_by_links(
    paths: tuple[str, ...], links: tuple[str, ...], limits: dict[str, tuple[int, ...]], mbit: int
) -> None:
    expected = [Bottleneck(name, numbers) for name, numbers in limits.items()]
    assert found(scenario_of(*paths, link=links)) == (expected, mbit)


def test_of_many_paths_each_has_the_narrowest_place() -> None:
    names = [f"p{number}" for number in range(MAX_PATHS + 1)]
    of = scenario_of(
        *(f"{name}:50mbit,1ms,link=shared" for name in names),
        link=("shared:40mbit,1ms",),
        connection=(f"most:paths={'/'.join(names[:-1])}", f"one:paths={names[-1]}"),
    )
    assert found(of) == ([Bottleneck("shared", tuple(range(len(names))))], 40)
