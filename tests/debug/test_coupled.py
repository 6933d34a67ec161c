# SPDX-License-Identifier: GPL-2.0-only
"""Subflows that come and go under load, with each coupled congestion control, in the debug kernel.

A fault that it reports (memory, locks, RCU) is a run that failed.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.vocabulary import RunScenario, ours

COUPLED = ["lia", "olia", "balia", "wvegas"]
PATHS = ("a:20mbit,5ms", "b:20mbit,10ms,loss=1%", "c:10mbit,20ms")
LOADS: dict[str, dict[str, Any]] = {
    "fresh connections": {"workload": "transfers:size=60KB,count=30,interval=100ms,fresh=true"},
    "subflows close": {
        "duration": "3s",
        "direction": "both",
        "event": ("1s:b:close", "2s:a:close"),
    },
    "paths go and come back": {
        "duration": "6s",
        "event": ("500ms:a:down", "1s:b:down", "3s:a:up", "4s:b:up"),
    },
}


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("cc", [*COUPLED, *map(ours, COUPLED)])
def test_subflows_come_and_go(run_scenario: RunScenario, cc: str, load: str) -> None:
    run = run_scenario(*PATHS, cc=cc, **LOADS[load])
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
