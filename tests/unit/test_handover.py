# SPDX-License-Identifier: GPL-2.0-only
"""How fast a sender reacts to a dip of a path, on synthetic runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mptcplab.metrics import handover, recorded
from mptcplab.metrics.handover import Reaction
from mptcplab.scenario.model import Event, Scenario
from tests.unit import synthetic
from tests.unit.synthetic import FAST, MS, SECOND, SLOW, T0


def scenario(*events: Event) -> Scenario:
    return synthetic.scenario().model_copy(update={"events": events})


def event(at_ms: int, action: Any, lasts_ms: int | None = None, **change: Any) -> Event:
    lasts_ns = None if lasts_ms is None else lasts_ms * MS
    made = Event(at_ns=at_ms * MS, path="fast", action=action, lasts_ns=lasts_ns)
    return made.model_copy(update={"up": made.up.model_copy(update=change)})


def reactions(scenario: Scenario, sent: Any = None, received: Any = None) -> list[Reaction]:
    """Of a run whose fast path carries 4000 bytes per ms, or what these make of that per ms."""
    client, server = synthetic.run(FAST, SLOW)
    for samples, field, changed in (
        (client, "sent_bytes", sent),
        (server, "received_bytes", received),
    ):
        if changed is None:
            continue
        fast = samples.subflow["n"] == 0
        elapsed_ms = ((samples.subflow["time_ns"][fast] - T0) // MS).astype(np.int64)
        per_ms = np.array([changed(ms) for ms in range(10_000)])
        samples.subflow[field][fast] = np.concatenate([[0], np.cumsum(per_ms)])[elapsed_ms]
    flow = recorded.flow(scenario, client, server, None, synthetic.guest(), "up")
    return handover.reactions(scenario, flow, T0)


def test_a_dip_is_an_event_that_lowers_the_rate_and_is_undone() -> None:
    of = [
        event(2000, "change", 500, rate_factor=0.5),
        event(3000, "change", 500, rate_factor=2.0),  # raises it
        event(4000, "change", 500, delay_factor=2.0),  # the rate stays
        event(5000, "down"),
        event(6000, "up"),
        event(7000, "change", rate_factor=0.5),  # is not undone
        event(8000, "down", 300),
    ]
    found = handover.dips(scenario(*of), "up")
    assert [(dip.begin_ns // MS, dip.end_ns // MS, dip.action) for dip in found] == [
        (2000, 2500, "change"),
        (5000, 6000, "down"),
        (8000, 8300, "down"),
    ]
    assert {dip.path for dip in found} == {"fast"}


def test_detection_takes_until_no_more_is_sent_than_the_link_carries() -> None:
    # 40 Mbit/s become 8, which 1.1 x 1000 bytes per ms just fit; the sender needs 120 ms
    dip = event(3000, "change", 1000, rate_factor=0.2)
    (reaction,) = reactions(scenario(dip), sent=lambda ms: 4000 if ms < 3120 else 1100)
    # bins of 50 ms: the first that lies behind 3120 ms begins at 3150 ms
    assert reaction.detection_ns == 150 * MS
    # what is not detected takes all of the event
    (reaction,) = reactions(scenario(dip), sent=lambda ms: 1101 if ms >= 3000 else 4000)
    assert reaction.detection_ns == SECOND
    # a path that is only slower is used all the time
    (reaction,) = reactions(scenario(event(3000, "change", 1000, rate_factor=0.01)))
    assert reaction.resumption_ns is None


def test_recovery_takes_until_nine_tenths_of_the_goodput_are_back() -> None:
    # nothing until 300 ms after the end, then 3600 bytes per ms, nine tenths of 4000
    def received(ms: int) -> int:
        return 4000 if ms < 3000 else 0 if ms < 4300 else 3600

    dip = event(3000, "down", 1000)
    (reaction,) = reactions(scenario(dip), received=received)
    assert reaction.recovery_ns == 300 * MS


@pytest.mark.parametrize(
    ("events", "until_ms"),
    [
        ([event(3000, "down", 1000)], 10_000),
        ([event(3000, "down", 1000), event(5000, "down", 100)], 5000),
    ],
    ids=["the end", "the next dip"],
)
def test_what_does_not_recover_takes_until(events: list[Event], until_ms: int) -> None:
    first, *_ = reactions(scenario(*events), received=lambda ms: 4000 if ms < 3000 else 3599)
    assert first.recovery_ns == (until_ms - 4000) * MS


def test_resumption_takes_until_anything_arrives() -> None:
    # nothing until 250 ms after the end, when a single packet comes
    def received(ms: int) -> int:
        return 4000 if ms < 3000 else 1000 if ms == 4250 else 0

    of = [event(3000, "unplug", 1000), event(7000, "close", 500)]
    first, second = reactions(scenario(*of), received=received)
    # its sample is that of 4260 ms
    assert first.resumption_ns == 260 * MS
    # nothing came in the second before it
    assert second.resumption_ns is None


def test_a_path_that_stays_away_counts_until_the_next_outage() -> None:
    of = [event(3000, "down", 1000), event(5000, "close", 500)]
    first, _ = reactions(scenario(*of), received=lambda ms: 4000 if ms < 3000 else 0)
    assert first.resumption_ns == SECOND
    (alone,) = reactions(scenario(of[0]), received=lambda ms: 4000 if ms < 3000 else 0)
    assert alone.resumption_ns == 6 * SECOND


def test_a_path_that_carried_nothing_before_tells_nothing() -> None:
    dip = event(3000, "down", 1000)
    (reaction,) = reactions(scenario(dip), sent=lambda _: 0, received=lambda _: 0)
    assert (reaction.detection_ns, reaction.recovery_ns) == (None, None)
    # nor does a dip after the end of the run
    (reaction,) = reactions(scenario(event(9_999, "down", 5000)))
    assert (reaction.detection_ns, reaction.recovery_ns) == (None, None)
