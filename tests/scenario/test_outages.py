# SPDX-License-Identifier: GPL-2.0-only
"""A path whose address returns, or whose cable is plugged in again, is used again."""

from __future__ import annotations

import pytest

from tests.vocabulary import RunScenario

PATHS = ("a:20mbit,10ms", "b:10mbit,25ms")
RTT_MS = {"a": 20, "b": 50}
SAMPLE_MS = 10


@pytest.mark.parametrize("path", "ab")
@pytest.mark.parametrize("scheduler", ["default", "minrtt"])
def test_an_address_that_returns_has_a_new_subflow(
    run_scenario: RunScenario, scheduler: str, path: str
) -> None:
    run = run_scenario(
        *PATHS, scheduler=scheduler, duration="8s", event=(f"3s:{path}:close,lasts=2s",)
    )
    assert run.figures.metrics["subflows"] == 3
    figures = next(each for each in run.figures.paths if each.name == path)
    # ADD_ADDR takes half an RTT of the other path, SYN, SYN/ACK, ACK, the ACK of that, and data
    # half an RTT each of this one. In between upstream's scheduler sends when the other path has an
    # ACK, at the latest after its RTT and as much in its queue; and there is the sample interval.
    other = RTT_MS["b" if path == "a" else "a"]
    most_ms = other / 2 + 2.5 * RTT_MS[path] + 2 * other + SAMPLE_MS
    took_s = figures["resumption_s_max"]
    assert took_s is not None
    assert 1.5 * RTT_MS[path] / 1000 <= took_s <= most_ms / 1000


def test_a_device_without_carrier_sends_nothing_and_keeps_its_subflow(
    run_scenario: RunScenario,
) -> None:
    run = run_scenario(*PATHS, scheduler="minrtt", duration="10s", event=("3s:a:unplug,lasts=1s",))
    assert run.figures.metrics["subflows"] == 2
    first = run.figures.paths[0]
    # timeouts double from at least 200 ms + RTT: the last one before the end of the outage is
    # followed by one that takes at most as long as all until then, 1 s, and a round trip
    took_s, utilisation = first["resumption_s_max"], first["utilisation"]
    assert took_s is not None
    assert utilisation is not None
    assert 0 < took_s <= 1 + 0.5
    assert utilisation > 0.5
