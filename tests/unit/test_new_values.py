# SPDX-License-Identifier: GPL-2.0-only
"""Events that give a parameter of a scheduler a new value."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.errors import InputError
from mptcplab.plan import plan
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags, from_table

PATHS = ("wifi:50mbit,10ms", "lte:20mbit,40ms")


def resolved(*events: str) -> Scenario:
    return from_flags(Flags(path=PATHS, event=events, scheduler="ecf", duration="10s")).base


def test_both_ends_get_it_at_its_time() -> None:
    base = resolved("6s:parameter=ecf.rp:off", "5s:parameter=ecf.beta_permille:500")
    happening = [line for line in plan.render(base).splitlines() if line.startswith("at ")]
    assert happening == [
        f"at {time} ip netns exec {end} sysctl -qw net.mptcp.ecf.{setting}"
        for time, setting in (("5s", "beta_permille=500"), ("6s", "rp=0"))
        for end in ("client", "server")
    ]
    # plain TCP has no scheduler
    assert "ecf" not in plan.render(base.single_path("wifi"))


def test_a_file_has_numbers_and_booleans() -> None:
    table = {
        "path": [{"name": "a", "rate": "1mbit", "delay": "1ms"}],
        "event": [
            {"at": "1s", "parameter": "ecf.rp", "value": True},
            {"at": "2s", "parameter": "ecf.beta_permille", "value": 7},
        ],
    }
    found = from_table(table, "x", folder=Path())
    assert [(each.at_ns, each.value) for each in found.base.parameters] == [
        (1_000_000_000, 1),
        (2_000_000_000, 7),
    ]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("5s:parameter=ecf:8", "SCHEDULER.PARAMETER is expected"),
        ("5s:parameter=exf.rp:on", 'unknown scheduler; did you mean "ecf"'),
        ("5s:parameter=ecf.beta:8", "ecf has no such parameter; known: beta_permille, paper_k"),
        ("5s:parameter=default.beta:8", "default has no such parameter; known: none"),
        ("5s:parameter=ecf.rp:8", "rp is on or off"),
        ("5s:parameter=ecf.rp:on,lasts=2s", "it stays until another event"),
        ("before:parameter=ecf.rp:on", "a value from the beginning is one of the scheduler"),
        ("10s:parameter=ecf.rp:on", "before the end of the workload, at 10s"),
        ("5s:wifi:down,value=8", "it is of a parameter"),
    ],
)
def test_mistakes(event: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        resolved(event)
    assert message in str(raised.value)


def test_a_value_is_needed() -> None:
    table = {
        "path": [{"name": "a", "rate": "1mbit", "delay": "1ms"}],
        "event": [{"at": "1s", "parameter": "ecf.rp"}],
    }
    with pytest.raises(InputError, match="value: missing"):
        from_table(table, "x", folder=Path())
