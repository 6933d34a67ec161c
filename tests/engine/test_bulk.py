# SPDX-License-Identifier: GPL-2.0-only
"""The kernel moves bulk data by itself, and no packet is another one than without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mptcplab.lab import engine
from mptcplab.lab.engine import Rig
from mptcplab.metrics import run_files
from mptcplab.plan import plan
from mptcplab.scenario.model import Scenario
from tests.vocabulary import RunProgram, output, scenario_of

PATHS = ("a:50mbit,10ms,loss=0.5%", "b:20mbit,40ms,queue=50,loss=0.2%")
#: What tells of a run itself: its plan, which differs, and the console, with times of the host.
NOT_COMPARED = (run_files.PLAN, run_files.CONSOLE)


def left_by(
    scenario: Scenario, rig: Rig, directory: Path, *, bulk: bool
) -> tuple[dict[str, bytes], int]:
    """What a run leaves, by the names of its files, and how many system calls its traffic made."""
    directory.mkdir()
    lines = f"sysctl -qw mptcplab.bulk={int(bulk)}\n{plan.render(scenario)}"
    engine.run(scenario, lines, rig, directory)
    outcome = json.loads((directory / run_files.GUEST_OUTCOME).read_text())
    calls = int(outcome.pop("system_calls"))
    left = {
        file.name: file.read_bytes()
        for file in directory.iterdir()
        if file.is_file() and file.name not in (*NOT_COMPARED, run_files.GUEST_OUTCOME)
    }
    return left | {run_files.GUEST_OUTCOME: json.dumps(outcome).encode()}, calls


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param({"duration": "3s"}, id="upload"),
        pytest.param({"duration": "3s", "direction": "down"}, id="download"),
        pytest.param({"duration": "3s", "direction": "both"}, id="both ways"),
        pytest.param({"size": "2MB", "direction": "both"}, id="so much both ways"),
        pytest.param({"size": "8MB", "scheduler": "minrtt"}, id="a transfer"),
        pytest.param({"size": "8MB", "transport": "tcp", "direction": "down"}, id="TCP"),
        pytest.param({"duration": "3s", "receive_buffer": "100KB"}, id="a small buffer"),
        pytest.param({"duration": "3s", "scheduler": "roundrobin", "cc": "bbr"}, id="BBR"),
        pytest.param(
            {"duration": "2s", "connection": ("x:paths=a", "y:paths=b,transport=tcp")},
            id="two connections",
        ),
        pytest.param({"workload": "transfers:count=3,direction=both"}, id="transfers both ways"),
        pytest.param({"workload": "web:fresh=false"}, id="a page"),
        pytest.param({"workload": "video:duration=12s", "start": "at-once"}, id="a video"),
        pytest.param({"workload": "cbr:rate=40mbit,duration=3s"}, id="blocks"),
        pytest.param(
            {"workload": "cbr:size=300KB,interval=50ms,direction=both,duration=3s"},
            id="large blocks both ways",
        ),
        pytest.param(
            {"workload": "cbr:rate=20mbit,duration=3s,direction=down", "receive_buffer": "50KB"},
            id="blocks and a small buffer",
        ),
        pytest.param(
            {"workload": "requests:response=30KB,interval=20ms,duration=3s"}, id="requests"
        ),
        pytest.param({"workload": "requests:think=5ms,count=50"}, id="requests in turn"),
        pytest.param({"workload": "frames:duration=3s"}, id="frames"),
        pytest.param({"workload": "frames:duration=3s", "scheduler": "video"}, id="units"),
        pytest.param(
            {
                "workload": "cbr:rate=8mbit,duration=3s,direction=both",
                "seed": 5,
                "connection": ("x:paths=a", "y:paths=b,transport=tcp"),
            },
            id="blocks of two connections",
        ),
    ],
)
def test_the_kernel_moves_data_as_a_process_does(
    rig: Rig, tmp_path: Path, flags: dict[str, Any]
) -> None:
    paths = PATHS[:1] if flags.get("transport") == "tcp" else PATHS
    scenario = scenario_of(*paths, pcap=True, **flags)
    moved, calls = left_by(scenario, rig, tmp_path / "kernel", bulk=True)
    plain, many = left_by(scenario, rig, tmp_path / "process", bulk=False)
    assert set(plan.capture_files(scenario)) <= moved.keys()
    assert [
        name for name in plain.keys() | moved.keys() if plain.get(name) != moved.get(name)
    ] == []
    # of five to nine calls for each packet, those are left where a message is sent, and where one
    # ends that something waits for: all of a request in turn; units are for the process, and
    # messages of connections of which another one may be full
    workload = flags.get("workload", "")
    several = workload.startswith("web") or ("cbr" in workload and "connection" in flags)
    if several or "think" in workload:
        assert calls < many
    elif flags.get("scheduler") != "video":
        assert calls < many / 2


def test_the_kernel_makes_and_verifies_each_byte(run_program: RunProgram) -> None:
    program = str(Path(__file__).parent / "programs/bulk.c")
    assert output(run_program([program])) == "right\n"
