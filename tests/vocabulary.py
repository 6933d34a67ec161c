# SPDX-License-Identifier: GPL-2.0-only
"""The words that tests of runs are written in."""

from __future__ import annotations

import io
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console, RenderableType

from mptcplab.lab import kernel
from mptcplab.lab.engine import Rig, RunOutcome
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records, run_files
from mptcplab.metrics.compute import RunMetrics
from mptcplab.metrics.records import Records, Samples
from mptcplab.plan import plan
from mptcplab.runs import single
from mptcplab.scenario import congestion
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import Request, from_flags
from tests import pcapng
from tests.pcapng import Capture


@dataclass(frozen=True)
class Run:
    """A run that has ended well: what it was, what it left, and its figures."""

    scenario: Scenario
    outcome: RunOutcome
    client: Samples
    server: Samples
    figures: RunMetrics

    @classmethod
    def made(cls, scenario: Scenario, rig: Rig, directory: Path) -> Run:
        """Makes the run of a scenario in a directory, which exists."""
        outcome, figures = single.measure(scenario, rig, directory)
        client = records.read_samples(directory / run_files.CLIENT_SAMPLES)
        server = records.read_samples(directory / run_files.SERVER_SAMPLES)
        return cls(scenario, outcome, client, server, figures)

    def metric(self, name: str) -> float:
        """A figure of the whole run, which must have a value."""
        value = self.figures.metrics[name]
        assert value is not None, name
        return float(value)

    @property
    def goodput_bps(self) -> float:
        return self.metric("goodput_bps")

    @property
    def start_ns(self) -> int:
        """T0: when measuring started."""
        return int(self.outcome.guest["start_ns"])

    def received_bytes(self, path: str, until_s: float, since_s: float | None = None) -> int:
        """What the server received over a path until some time after the start, or between two."""
        mine = self._of(self.server.subflow, path)
        until_ns = self.start_ns + int(until_s * 1e9)
        last = np.searchsorted(mine["time_ns"], until_ns, side="right")
        before = 0 if since_s is None else self.received_bytes(path, since_s)
        return (int(mine["received_bytes"][last - 1]) if last else 0) - before

    def rate_bps(self, path: str, since_s: float, until_s: float) -> float:
        """The rate at which the server received over a path."""
        return self.received_bytes(path, until_s, since_s) * 8 / (until_s - since_s)

    def sender(self, path: str) -> Records:
        """The client's samples of the subflow over a path."""
        return self._of(self.client.subflow, path)

    def _of(self, subflow: Records, path: str) -> Records:
        number = [each.name for each in self.scenario.paths].index(path)
        mine: Records = subflow[records.path_indices(subflow) == number]
        return mine

    def capture(self, path: str) -> Capture:
        """What was captured at the router of a path, on the side of the client."""
        number = [each.name for each in self.scenario.paths].index(path) + 1
        return pcapng.read(self.outcome.directory / plan.router_capture(path))[f"rc{number}"]

    def messages(self) -> Records:
        return records.read_messages(self.outcome.directory / run_files.MESSAGES)

    def decisions(self) -> Records:
        """The scheduler's decisions, of a run that was traced."""
        return records.read_decisions(self.outcome.directory / run_files.CLIENT_DECISIONS)


#: The fixture run_scenario: paths as in --path, flags as in scenario.Flags.
RunScenario = Callable[..., Run]
#: Between programs, unless a test says otherwise.
PROGRAM_PATHS = ("wifi:50mbit,10ms", "lte:20mbit,30ms")
#: The fixture run_program: commands of client and server, paths as in --path, flags as above.
RunProgram = Callable[..., RunOutcome]
#: The fixture rig_of: a rig whose guest's first process has this body.
RigOf = Callable[[str], Rig]


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def received_bytes(outcome: RunOutcome, file: str) -> list[int]:
    """What had arrived on each subflow of one side, in the order of the paths."""
    subflow = records.read_samples(outcome.directory / file).subflow
    index = records.path_indices(subflow)
    return [int(subflow["received_bytes"][index == i].max(initial=0)) for i in sorted(set(index))]


def output(outcome: RunOutcome, name: str = run_files.CLIENT_OUTPUT) -> str:
    """What a program printed."""
    return (outcome.directory / name).read_bytes().decode()


def shown(what: RenderableType, width: int = 80) -> str:
    """What a terminal of so many columns shows."""
    out = io.StringIO()
    Console(file=out, width=width).print(what)
    return out.getvalue()


def ofo_bytes(run: Run) -> float:
    """What waited at the receiver for an earlier byte, on average over time."""
    return run.metric("ofo_bytes_mean")


def request_of(*paths: str, **flags: Any) -> Request:
    """What these flags ask for, which must be one run.

    Unless they say otherwise, all subflows are there before the data, and a seed changes no delay,
    so that a test can say of each packet where it goes and when.
    """
    flags.setdefault("seed_delay", "0us")
    workload = str(flags.get("workload", ""))
    fresh = "fresh=true" in workload or workload.startswith("bulk:connections=")
    fresh |= workload[:3] == "web" and "fresh=false" not in workload
    if not fresh and "start" not in workload and "program" not in flags:
        flags.setdefault("start", "established")
    return from_flags(Flags(path=paths, **flags), single=True)


def scenario_of(*paths: str, **flags: Any) -> Scenario:
    """The one run that these flags describe."""
    return request_of(*paths, **flags).runs()[0]


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """The value of a condition as soon as it holds; machines may be busy."""
    end_s = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end_s, "it did not happen"
        time.sleep(0.005)
    return found


def children_of(pid: int) -> list[int]:
    """The processes that the threads of a process have started, as far as they are still there."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):
            found += map(int, (thread / "children").read_text().split())
    return found


def kernel_processes(below: Path) -> set[int]:
    """The processes that run a lab kernel, or are processes of its guest, of runs in a folder."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
                program = (entry / "exe").readlink()
                works_in = (entry / "cwd").readlink()
            except OSError:
                continue
            # later than in 6.12 the guest's run a program of their own, and have no arguments
            is_ours = b"time-travel=inf-cpu" in arguments or "uml-userspace" in program.name
            if is_ours and works_in.is_relative_to(below):
                found.add(int(entry.name))
    return found


def in_mount_namespace(script: str) -> subprocess.CompletedProcess[str]:
    """What a shell did in a mount namespace of its own; skips the test if none can be made here."""
    return in_namespace("mount", script)


def in_namespace(kind: str, script: str) -> subprocess.CompletedProcess[str]:
    """What a shell did in a namespace of its own; skips the test if none can be made here."""
    command = ["unshare", f"--{kind}", "--map-root-user", "sh", "-c"]
    if os.geteuid() == 0:
        command.remove("--map-root-user")
    allowed = subprocess.run([*command, "true"], capture_output=True, check=False)
    if allowed.returncode:
        pytest.skip(f"no {kind} namespace can be made here")
    return subprocess.run([*command, script], capture_output=True, text=True, check=False)


def without_patches(lab_kernel: KernelBuild) -> KernelBuild:
    """The kernel without our patches for MPTCP, where the adapter carries schedulers.

    Skips the test with any other variant than the lab's.
    """
    if lab_kernel.variant != "lab":
        pytest.skip("the adapter has no other variant")
    return kernel.build(variant=kernel.ENGINE_ONLY)


def ours(cc: str) -> str:
    """A coupled congestion control with all parameters that change what it computes on."""
    switches = [p.name for p in congestion.find(cc).parameters if p.name != "draft_ssthresh"]
    return ":".join([cc, *(f"{name}=on" for name in switches)])
