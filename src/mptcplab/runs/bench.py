# SPDX-License-Identifier: GPL-2.0-only
"""The benchmark: how fast runs are on this machine, and how well schedulers fill their paths.

Wall-clock figures depend on the machine and its load, so the important ones are ratios of runs made
in turn in one call. Figures in virtual time are exact.
"""

from __future__ import annotations

import re
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Group
from rich.table import Table

from mptcplab.capture import analyze
from mptcplab.lab import engine, kernel
from mptcplab.lab.engine import Rig, RunOutcome, Watch
from mptcplab.metrics import run_files
from mptcplab.metrics.compute import RunMetrics
from mptcplab.plan import plan
from mptcplab.runs import single
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.limits import IpVersion
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags

#: The schedulers that should fill all paths with bulk data, and the wanted percentage of default.
_FILLING = {
    **dict.fromkeys(("minrtt", "roundrobin", "blest", "ecf"), 97),
    **dict.fromkeys(("otias", "sttf", "inorder", "lte", "qaware"), 95),
    **dict.fromkeys(("stms", "raven", "dems", "earliest"), 95),
    # as published they do not; docs/schedulers says why
    **dict.fromkeys(("timetable", "proportional"), 95),
}
#: The states in which a decision is timed, and how they are called behind its scheduler.
_STATES = {"room": "", "full": ", the faster path full", "units": ", 16 units, one nearly late"}
#: The scenario of the speed figures; it never changes, so that they can be compared.
BENCH = Flags(
    path=("fast:100mbit,10ms,queue=300", "slow:50mbit,20ms,queue=300"),
    scheduler="default",
    duration="20s",
    start="established",
    seed="1",
    seed_delay="0us",
)
#: Its duration for the figures of speed, so that they are about data, not about starts.
LONG = "60s"
#: The scenarios for how well schedulers fill paths: like paths, and unlike ones.
TWINS = replace(BENCH, path=("a:50mbit,10ms", "b:50mbit,10ms"), scheduler=None)
UNEQUAL = replace(BENCH, path=("a:100mbit,10ms", "b:50mbit,20ms"), scheduler=None)

# Of the 1514 bytes of a full Ethernet frame, 1424 are data: 14 Ethernet, 20 IP, 20 TCP, 12 its
# timestamps, 24 MPTCP's data sequence signal (RFC 8684, section 3.3.1: 4 + 4 data ACK + 8 data
# sequence number + 4 subflow sequence number + 2 length, padded). With IPv6, whose header has 40
# bytes, 1404 are.
_DATA_SHARE: Mapping[IpVersion, float] = {"4": 1424 / 1514, "6": 1404 / 1514}


def ideal_goodput_bps(scenario: Scenario) -> float:
    """The goodput of MPTCP if all paths were always full of full segments, in bit/s."""
    return sum(path.up.rate_bps * _DATA_SHARE[path.version] for path in scenario.paths)


def run(
    rig: Rig, *, repeat: int, say: Callable[[str], None], cancel: threading.Event
) -> dict[str, Any]:
    """Measure all figures, each the median of `repeat`; `say` is called with each step.

    Setting `cancel` ends the running ones and raises RunCancelledError.
    """
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as directory:
        runner = _Runner(rig, Path(directory), Watch(cancel=cancel))
        return {
            "speed": _speed(runner, repeat, say),
            "minrtt": _minrtt(runner, repeat, say),
            "decisions": runner.decisions(say),
            "sampling": _sampling(runner, repeat, say),
            "captures": _captures(runner, repeat, say),
            "side_by_side": _side_by_side(runner, repeat, say),
            "filling": _filling(runner, say),
            "build": {"kernel": rig.kernel.id, "guest": rig.guest.id},
        }


class _Runner:
    """Runs scenarios in directories that are not kept."""

    def __init__(self, rig: Rig, directory: Path, watch: Watch) -> None:
        self._rig, self._directory, self._watch = rig, directory, watch

    def __call__(self, scenario: Scenario) -> tuple[RunOutcome, RunMetrics]:
        directory = Path(tempfile.mkdtemp(dir=self._directory))
        return single.measure(scenario, self._rig, directory, self._watch)

    def without_figures(self, scenario: Scenario) -> RunOutcome:
        directory = Path(tempfile.mkdtemp(dir=self._directory))
        return single.run(scenario, self._rig, directory, self._watch)

    def decisions(self, say: Callable[[str], None]) -> dict[str, dict[str, int]]:
        """CPU cycles of one decision, as a KUnit test in the guest measures them.

        By the state in which it is made, one of `_STATES`, and by scheduler. Empty for a kernel
        that came with mptcplab: KUnit takes the objects of one that was built here.
        """
        if kernel.came_along(self._rig.kernel):
            say("time of a decision: left out, it takes a kernel that was built here")
            return {}
        say("time of a decision")
        directory = Path(tempfile.mkdtemp(dir=self._directory))
        built = kernel.kunit_modules(self._rig.kernel)
        modules = {name: built / f"{name}.ko" for name in ("kunit", "decision_time_test")}
        loading = "".join(f"insmod {name}.ko\n" for name in modules)
        engine.run(
            _scenario(BENCH),
            f"sysctl -qw kernel.printk=7\n{loading}",
            replace(self._rig, modules=modules),
            directory,
            watch=self._watch,
        )
        console = (directory / run_files.CONSOLE).read_text(errors="replace")
        return {
            state: {
                name: int(cycles)
                for name, cycles in re.findall(rf"decision_time_{state}: (\w+) (\d+)", console)
            }
            for state in _STATES
        }


def _scenario(flags: Flags, **changed: Any) -> Scenario:
    values = {**vars(flags), **changed}
    return from_flags(Flags(**values), single=True).runs()[0]


def _speed(runner: _Runner, repeat: int, say: Callable[[str], None]) -> dict[str, float]:
    say(f"speed of one run: {repeat} x {_describe(BENCH, LONG)}")
    taken = [runner(_scenario(BENCH, duration=LONG)) for _ in range(repeat)]
    packets = taken[0][1].metrics.data_packets or 0
    return {
        "virtual_s": taken[0][0].virtual_s,
        "data_packets": packets,
        "wall_s": median(outcome.wall_s for outcome, _ in taken),
        "times_real_time": median(outcome.virtual_s / outcome.wall_s for outcome, _ in taken),
        "data_packets_per_s": median(packets / outcome.wall_s for outcome, _ in taken),
        "start_s": median(outcome.start_s for outcome, _ in taken),
        "user_s": median(outcome.user_s for outcome, _ in taken),
        "system_s": median(outcome.system_s for outcome, _ in taken),
        "memory_bytes": max(outcome.memory_bytes for outcome, _ in taken),
    }


def _sampling(runner: _Runner, repeat: int, say: Callable[[str], None]) -> dict[str, float]:
    """CPU time with samples every 10 ms against samples only at the start and the end, in turn."""
    say(f"cost of sampling: {repeat} x with and without")
    often, never = _scenario(BENCH), _scenario(BENCH, sample_interval="20s", warmup="0s")

    def cpu_s(scenario: Scenario) -> float:
        outcome, _ = runner(scenario)
        return outcome.user_s + outcome.system_s

    return {"cost": median(cpu_s(often) / cpu_s(never) for _ in range(repeat)) - 1}


def _captures(runner: _Runner, repeat: int, say: Callable[[str], None]) -> dict[str, float]:
    """CPU time with captures at all places against none, in turn; and the speed of analyze."""
    say(f"captures: {repeat} x with and without, and analyze")
    costs, speeds, packets = [], [], 0
    for _ in range(repeat):
        (with_captures, _), (without, _) = (
            runner(_scenario(BENCH, pcap=pcap)) for pcap in (True, False)
        )
        cpu_s = [each.user_s + each.system_s for each in (with_captures, without)]
        costs.append(cpu_s[0] / cpu_s[1])
        files = [with_captures.directory / name for name in plan.capture_files(_scenario(BENCH))]
        started = time.process_time()
        packets = analyze.analyse(files).packets
        speeds.append(packets / (time.process_time() - started))
        for file in files:
            file.unlink()
    return {
        "cost": median(costs),
        "analyze_packets": packets,
        "analyze_packets_per_cpu_s": median(speeds),
    }


def _minrtt(runner: _Runner, repeat: int, say: Callable[[str], None]) -> dict[str, float]:
    """Packets per second of CPU time with minrtt against default, in turn."""
    say(f"speed with minrtt: {repeat} x against default")

    def packets_per_cpu_s(scheduler: str) -> float:
        outcome, figures = runner(_scenario(BENCH, scheduler=scheduler))
        return (figures.metrics.data_packets or 0) / (outcome.user_s + outcome.system_s)

    ratio = median(
        packets_per_cpu_s("minrtt") / packets_per_cpu_s("default") for _ in range(repeat)
    )
    return {"speed": ratio}


def _side_by_side(runner: _Runner, repeat: int, say: Callable[[str], None]) -> dict[str, float]:
    """Throughput of two runs at a time against one after the other, in turn.

    Figures are not computed: many runs compute them in worker processes, but here they would be
    threads.
    """
    if len(single.cpus()) < 2:
        say("side by side: not measured, there is only one CPU")
        return {}
    say(f"two runs side by side: {repeat} x against one after the other")
    scenario = _scenario(BENCH, duration=LONG)

    def ratio() -> float:
        started = time.monotonic()
        for _ in range(2):
            runner.without_figures(scenario)
        one_by_one = time.monotonic() - started
        started = time.monotonic()
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(runner.without_figures, [scenario] * 2))
        return one_by_one / (time.monotonic() - started)

    return {"throughput": median(ratio() for _ in range(repeat))}


def _filling(runner: _Runner, say: Callable[[str], None]) -> dict[str, Any]:
    """Goodput as a share of default's; it is exact, so once is enough."""
    found: dict[str, Any] = {}
    for name, flags in (("twins", TWINS), ("unequal", UNEQUAL)):
        say(f"how well paths are filled: {_describe(flags)}")
        goodput: dict[str, float] = {}
        for scheduler in ("default", *_FILLING):
            _, figures = runner(_scenario(flags, scheduler=scheduler))
            goodput[scheduler] = float(figures.metrics.goodput_bps or 0)
        found[name] = {
            "default_of_ideal": goodput["default"] / ideal_goodput_bps(_scenario(flags)),
            "of_default": {name: goodput[name] / goodput["default"] for name in _FILLING},
        }
    return found


def _describe(flags: Flags, duration: str | None = None) -> str:
    return f"{' and '.join(flags.path)} for {duration or flags.duration}"


def rows(results: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The figures, each with its value and its lower or upper bound, as text."""
    speed, side = results["speed"], results["side_by_side"]
    decisions, captures = results["decisions"], results["captures"]
    found = [
        ("virtual / wall time", f"{speed['times_real_time']:.1f} x", ">= 38 x"),
        ("data packets per wall second", f"{speed['data_packets_per_s'] / 1e3:.0f} k", ">= 470 k"),
        ("wall time, of 60 s of data", f"{speed['wall_s']:.2f} s", ""),
        ("user and system time", f"{speed['user_s']:.2f} + {speed['system_s']:.2f} s", ""),
        ("start to first packet", f"{speed['start_s'] * 1e3:.0f} ms", "<= 200 ms"),
        ("peak memory", f"{speed['memory_bytes'] / 2**20:.0f} MiB", "<= 96 MiB"),
        ("cost of sampling", f"{results['sampling']['cost'] * 100:+.1f} %", "<= 5 %"),
        ("captures at all places", f"{captures['cost']:.2f} x without", "<= 2 x"),
        (
            f"analyze, of {captures['analyze_packets'] / 1e6:.1f} M packets, per CPU second",
            f"{captures['analyze_packets_per_cpu_s'] / 1e3:.0f} k",
            ">= 500 k",
        ),
        ("speed with minrtt, of default", f"{results['minrtt']['speed'] * 100:.0f} %", ">= 85 %"),
    ]
    found += [
        (
            f"time of a decision, {name}{_STATES[state]}",
            f"{cycles / decisions['room']['default']:.2f} x",
            "<= 5 x default",
        )
        for state in decisions
        for name, cycles in decisions[state].items()
        if name != "default"
    ]
    if side:
        found.append(("two side by side", f"{side['throughput']:.2f} x one", ">= 1.85 x"))
    for name, what in (("twins", TWINS), ("unequal", UNEQUAL)):
        filling = results["filling"][name]
        rates = "+".join(path.split(":")[1].split("mbit")[0] for path in what.path)
        share = f"{filling['default_of_ideal'] * 100:.1f} %"
        found.append((f"default on {rates} Mbit/s, of the ideal", share, ">= 97 %"))
        found += [
            (
                f"{scheduler} on {rates} Mbit/s, of default",
                f"{share * 100:.1f} %",
                f">= {_FILLING[scheduler]} %",
            )
            for scheduler, share in filling["of_default"].items()
        ]
    return found


def table(results: dict[str, Any]) -> Group:
    """The same as a table for the terminal."""
    shown = Table(box=None, pad_edge=False)
    shown.add_column("figure")
    shown.add_column("measured", justify="right")
    shown.add_column("wanted", justify="right", style="dim")
    for row in rows(results):
        shown.add_row(*row)
    note = "Wall-clock figures are medians of this call, and depend on the machine and its load."
    return Group(shown, note)
