# SPDX-License-Identifier: GPL-2.0-only
"""A scheduler that calls every function of mpsched.h in a hook, with all that it may have, also
subflows that are gone: nothing of it is a fault that the debug kernel reports.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mptcplab import resources
from mptcplab.capture import analyze
from mptcplab.metrics import run_files
from mptcplab.plan import plan
from tests import every_call
from tests.vocabulary import RunScenario

PATHS = ("a:5mbit,5ms,loss=1%", "b:5mbit,10ms,loss=1%", "c:3mbit,20ms")
#: Subflows that come and go, with priorities that change; connections that do, also while paths are
#: away; units; and a peer that falls back to TCP, as the third ACK and the first data are lost.
LOADS: dict[str, dict[str, Any]] = {
    "subflows": {
        "duration": "4s",
        "event": (
            *("500ms:a:down", "800ms:b:backup", "1500ms:a:up", "1800ms:b:close"),
            *("2500ms:c:close", "3s:a:backup"),
        ),
        "decisions": True,
    },
    "connections": {
        "workload": "transfers:size=30KB,count=12,interval=100ms,fresh=true",
        "event": ("300ms:a:down", "900ms:a:up"),
    },
    "units": {"workload": "frames:duration=3s,rate=2mbit", "event": ("1s:b:close",)},
    "fallback": {"workload": "transfers:size=30KB,count=3,interval=2s,fresh=true", "pcap": True},
}
FALLS_BACK = ("a:5mbit,5ms,up.drop_acks=2,up.drop=1",)
#: Hooks that are called in each run of a load; others, by chance.
ALWAYS = ("next_segment", "init", "release", "init_subflow", "release_subflow", "on_ack", "on_sent")


def test_the_functions_are_those_that_modules_can_call() -> None:
    sources = [file.read_text() for file in (resources.KERNEL / "mptcp").glob("*.c")]
    exported = re.findall(r"EXPORT_SYMBOL_GPL\((mps_\w+)\)", "\n".join(sources))
    found = [function.name for function in every_call.functions()]
    assert set(exported) - every_call.NOT_IN_HOOKS <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("hook", every_call.HOOKS)
def test_no_call_does_harm(run_scenario: RunScenario, tmp_path: Path, hook: str, load: str) -> None:
    file = tmp_path / f"{every_call.NAME}.c"
    file.write_text(every_call.source())
    scheduler = f"{file}:hook={list(every_call.HOOKS).index(hook)}"
    paths = FALLS_BACK if load == "fallback" else PATHS
    run = run_scenario(*paths, scheduler=scheduler, **LOADS[load])
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    if load == "fallback":
        # the first connection, on whose way the packets are lost, ends without mappings
        found = analyze.analyse([run.outcome.directory / plan.router_capture("a")])
        assert found.connections[0].directions[0].unmapped_bytes > 0
    if load != "subflows" or hook not in ALWAYS:
        return
    console = (run.outcome.directory / run_files.CONSOLE).read_text()
    called = re.findall(r"everycall: hook \d+ called (\d+) of (\d+) functions", console)
    assert called[-1] == (str(len(every_call.functions())),) * 2
    # in between, subflows were closed, and their pointers kept
    if hook in ("next_segment", "on_ack", "on_sent"):
        assert run.figures.metrics.refused_calls
