# SPDX-License-Identifier: GPL-2.0-only
"""What limits some paths together: the path's own rate, or that of a link which several share.

Each path crosses its own router and the links that it names. What all paths can carry at most is
the least sum of rates of such places, so that each path crosses one of them: a minimum cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mptcplab.plan import timeline
from mptcplab.scenario.limits import MAX_PATHS, Direction
from mptcplab.scenario.model import Scenario


@dataclass(frozen=True)
class Bottleneck:
    """A place with a rate: a path of the scenario, or a link; and the paths that it limits.

    `paths` are their indices in the scenario. Each path belongs to one bottleneck.
    """

    name: str
    paths: tuple[int, ...]


def bottlenecks(scenario: Scenario, rates_bps: Mapping[str, float]) -> list[Bottleneck]:
    """The bottlenecks of all paths, in their order.

    `rates_bps` has the rate of each path's own router, and of each link, by name. Their sum is the
    least possible up to MAX_PATHS paths; with more, as of many connections, each path has the
    narrowest place on its route, which may be more than all can carry together.
    """
    routes = [(path.name, *path.links) for path in scenario.paths]
    if len(routes) > MAX_PATHS:
        narrowest = [min(route, key=rates_bps.__getitem__) for route in routes]
        return _grouped(narrowest)
    crossing: dict[str, int] = {}
    for index, route in enumerate(routes):
        for name in route:
            crossing[name] = crossing.get(name, 0) | 1 << index
    # by the set of paths that are limited, as bits: the least sum, the fewest places, and which
    least: dict[int, tuple[float, int, tuple[str, ...]]] = {0: (0.0, 0, ())}
    for name, paths in crossing.items():
        for before, (sum_bps, count, names) in list(least.items()):
            now = before | paths
            found = (sum_bps + rates_bps[name], count + 1, (*names, name))
            if now not in least or found[:2] < least[now][:2]:
                least[now] = found
    chosen = least[(1 << len(routes)) - 1][2]
    return _grouped([next(name for name in route if name in chosen) for route in routes])


def capacity(scenario: Scenario, direction: Direction, own: Bottleneck) -> timeline.Steps:
    """What a bottleneck can carry of its paths at any time: no more than they bring it."""
    of_paths = timeline.rates(scenario, direction)
    brought = timeline.total([of_paths[scenario.paths[index].name] for index in own.paths])
    return timeline.lowest([timeline.link_rates(scenario, direction)[own.name], brought])


def capacity_together(scenario: Scenario, direction: Direction) -> timeline.Steps:
    """What all paths can carry together at any time, limited by the bottlenecks at the start."""
    plain = scenario.model_copy(update={"events": ()})
    rates = timeline.link_rates(plain, direction)
    found = bottlenecks(scenario, {name: steps[0][1] for name, steps in rates.items()})
    return timeline.total([capacity(scenario, direction, each) for each in found])


def _grouped(places: list[str]) -> list[Bottleneck]:
    return [
        Bottleneck(name, tuple(n for n, place in enumerate(places) if place == name))
        for name in dict.fromkeys(places)
    ]
