# SPDX-License-Identifier: GPL-2.0-only
"""Schedulers on a kernel without our patches for MPTCP: the adapter carries them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mptcplab.capture import dissect
from mptcplab.errors import RunError
from mptcplab.lab import engine, kernel
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.plan import plan
from tests.vocabulary import Run, scenario_of, without_patches

CARRIED = sorted({*kernel.schedulers()} - {*kernel.refused_by_adapter(), "default"})
PATHS = ("a:20mbit,10ms", "b:10mbit,25ms")
DOWN_S = 3.5
#: Data that both paths have to carry; messages that follow each other; and a path that has been
#: idle for half a second, with a message at 4 s.
LOADS = {
    "bulk": "bulk",
    "messages": "cbr:size=8KB,rate=12mbit",
    "idle": "cbr:size=8KB,interval=1s",
}
SAMPLE_S = 0.01


@dataclass(frozen=True)
class Outage:
    """What a run shows of its outage: the longest time without data, and a timeout before it."""

    gap_s: float
    timeout_s: float

    @classmethod
    def of(cls, run: Run) -> Outage:
        sender = run.client.subflow
        before = sender[sender["time_ns"] <= run.start_ns + int(DOWN_S * 1e9)]
        latest = [before[before["n"] == n]["rto_us"][-1] for n in np.unique(before["n"])]
        return cls(run.metric("longest_gap_s"), max(latest) / 1e6)


@pytest.fixture(scope="session")
def plain(lab_kernel: KernelBuild) -> KernelBuild:
    return without_patches(lab_kernel)


@pytest.fixture(scope="session")
def outage(
    plain: KernelBuild, lab_guest: Guest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str, str], Outage]:
    """The outage of a path, with a scheduler and a load; each is run once."""
    found: dict[tuple[str, str, str], Outage] = {}

    def run(scheduler: str, load: str, path: str) -> Outage:
        key = scheduler, load, path
        if key not in found:
            scenario = scenario_of(
                *PATHS,
                scheduler=scheduler,
                workload=LOADS[load],
                duration="7s",
                start="established",
                event=(f"{DOWN_S}s:{path}:down",),
            )
            directory: Path = tmp_path_factory.mktemp("run")
            found[key] = Outage.of(Run.made(scenario, Rig(plain, lab_guest), directory))
        return found[key]

    return run


@pytest.mark.parametrize(
    ("load", "path"),
    [*((load, "a") for load in LOADS), ("bulk", "b"), ("messages", "b")],
)
@pytest.mark.parametrize("scheduler", CARRIED)
def test_a_lost_path_stops_no_one_for_longer_than_default(
    outage: Callable[[str, str, str], Outage], scheduler: str, load: str, path: str
) -> None:
    default, ours = outage("default", load, path), outage(scheduler, load, path)
    # the connection's timer looks for a timeout of TCP, and comes at most one timeout too early
    assert ours.gap_s <= default.gap_s + ours.timeout_s + SAMPLE_S


@pytest.mark.parametrize("paths", [("10mbit,25ms", "3mbit,1ms"), ("10mbit,1ms", "3mbit,25ms")])
def test_a_limit_of_a_scheduler_bounds_its_choices(
    plain: KernelBuild, lab_guest: Guest, tmp_path: Path, paths: tuple[str, str]
) -> None:
    # A fragment that goes beyond the limit of overflow is a queue, which lowers the limit. The
    # smallest limit here is 22 ms of 3 Mbit/s, 5 segments: a choice that ends up to a segment
    # early costs a fifth of 3 in 13 Mbit/s.
    found = []
    for scheduler in ("default", "overflow"):
        named = (f"{name}:{each},queue=50" for name, each in zip("ab", paths, strict=True))
        scenario = scenario_of(*named, scheduler=scheduler, duration="12s")
        directory = tmp_path / scheduler
        directory.mkdir()
        run = Run.made(scenario, Rig(plain, lab_guest), directory)
        found.append(run.metric("goodput_bps"))
    assert found[1] > (1 - 3 / 13 / 5) * found[0]


@pytest.mark.parametrize(
    ("grain_bytes", "least", "most"),
    # a page fragment of 32 KiB; the grain; a segment with timestamps and the longest DSS option
    [(0, 16385, 32768), (5000, 5000, 5000), (1, 1424, 1424)],
)
def test_a_grain_bounds_each_choice(
    plain: KernelBuild,
    lab_guest: Guest,
    tmp_path: Path,
    grain_bytes: int,
    least: int,
    most: int,
) -> None:
    """Choices alternate, unless a subflow is full: most runs of data on a subflow are a choice."""
    scenario = scenario_of(
        *PATHS,
        scheduler=f"roundrobin:cwnd_limited=off:grain_bytes={grain_bytes}",
        workload="bulk:size=500KB",
        duration="4s",
        pcap=True,
    )
    run = Run.made(scenario, Rig(plain, lab_guest), tmp_path)
    found = {}
    for path in "ab":
        packets = dissect.read([run.outcome.directory / plan.router_capture(path)])
        mapped = (packets.has & dissect.HAS_MAPPING > 0) & packets.forward & (packets.payload > 0)
        for seq, length in zip(packets.dsn[mapped], packets.mapped[mapped], strict=True):
            found[int(seq)] = path, int(length)
    assert sum(length for _, length in found.values()) >= 500_000
    runs = [
        sum(length for _, (_, length) in each)
        for _, each in itertools.groupby(sorted(found.items()), key=lambda item: item[1][0])
    ]
    assert least <= np.median(runs) <= most


@pytest.mark.parametrize(
    ("rules", "second_carries"),
    [
        ("", True),
        # of the server, which the client has as the other end's
        (f"port={plan.PORT}:first", False),
        ("mark=0:first", False),
        (f"port={plan.PORT}:minrtt,mark=0:first", True),
        ("port=1:first,mark=0x10:first", True),
        # not loaded: the socket's own
        (f"port={plan.PORT}:nosuch", True),
    ],
)
def test_a_rule_chooses_by_mark_or_port(
    plain: KernelBuild,
    lab_guest: Guest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rules: str,
    second_carries: bool,
) -> None:
    render = plan.render

    def with_rules(*arguments: Any, **more: Any) -> str:
        text = render(*arguments, **more)
        own = "net.mptcp.scheduler=minrtt"
        assert own in text
        return text.replace(own, f"{own} 'net.mptcp.scheduler_for={rules}'")

    monkeypatch.setattr(plan, "render", with_rules)
    scenario = scenario_of("a:10mbit,10ms", "b:10mbit,10ms", scheduler="minrtt", duration="1s")
    run = Run.made(scenario, Rig(plain, lab_guest), tmp_path)
    assert (run.received_bytes("b", 1) > 0) == second_carries


@pytest.mark.parametrize(
    "rules",
    [
        *("port=0:first", "port=65536:first", "first", "mark=x:first", "uid=1:first", "port=1:"),
        # one more than 16; the first 511 bytes of the second are 16 whole rules
        ",".join(["port=1:first"] * 17),
        ",".join(["mark=0x10000000:abcdefghijklmno"] * 17),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(
    plain: KernelBuild, lab_guest: Guest, tmp_path: Path, rules: str
) -> None:
    with pytest.raises(RunError, match="scheduler_for"):
        engine.run(
            scenario_of("p:10mbit,1ms"),
            f"sysctl -qw 'net.mptcp.scheduler_for={rules}'\n",
            Rig(plain, lab_guest),
            tmp_path,
        )
