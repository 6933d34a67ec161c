# SPDX-License-Identifier: GPL-2.0-only
"""What limits paths together: their own rates, or those of links which they share."""

from __future__ import annotations

from mptcplab.plan.bottlenecks import Bottleneck, bottlenecks
from mptcplab.plan.timeline import link_rates
from mptcplab.scenario.limits import MAX_PATHS
from mptcplab.scenario.model import Scenario
from tests.vocabulary import request_of

MBIT = 1_000_000


def scenario(
    *paths: str, links: tuple[str, ...] = (), connections: tuple[str, ...] = ()
) -> Scenario:
    (found,) = request_of(*paths, link=links, connection=connections).runs()
    return found


def found(of: Scenario) -> tuple[list[Bottleneck], float]:
    """The bottlenecks, and the sum of their rates in Mbit/s."""
    rates = {name: float(steps[0][1]) for name, steps in link_rates(of, "up").items()}
    limits = bottlenecks(of, rates)
    return limits, sum(rates[each.name] for each in limits) / MBIT


def test_without_links_each_path_limits_itself() -> None:
    of = scenario("a:50mbit,1ms", "b:20mbit,1ms")
    assert found(of) == ([Bottleneck("a", (0,)), Bottleneck("b", (1,))], 70)


def test_a_link_limits_the_paths_that_share_it_if_it_is_narrower_than_all_together() -> None:
    paths = ("a:50mbit,1ms,link=shared", "b:50mbit,1ms,link=shared")
    # each path alone would have 50 of 60
    assert found(scenario(*paths, links=("shared:60mbit,1ms",))) == (
        [Bottleneck("shared", (0, 1))],
        60,
    )
    assert found(scenario(*paths, links=("shared:120mbit,1ms",))) == (
        [Bottleneck("a", (0,)), Bottleneck("b", (1,))],
        100,
    )


def test_each_path_counts_for_one_bottleneck() -> None:
    links = ("x:10mbit,1ms", "y:10mbit,1ms")
    of = scenario("a:link=x", "b:link=x/y", "c:link=y", links=links)
    assert found(of) == ([Bottleneck("x", (0, 1)), Bottleneck("y", (2,))], 20)


def test_of_many_paths_each_has_the_narrowest_place() -> None:
    names = [f"p{number}" for number in range(MAX_PATHS + 1)]
    of = scenario(
        *(f"{name}:50mbit,1ms,link=shared" for name in names),
        links=("shared:40mbit,1ms",),
        connections=(f"most:paths={'/'.join(names[:-1])}", f"one:paths={names[-1]}"),
    )
    assert found(of) == ([Bottleneck("shared", tuple(range(len(names))))], 40)
