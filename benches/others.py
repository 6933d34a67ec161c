# SPDX-License-Identifier: GPL-2.0-only
"""The bench scenario in the lab, on the host's own kernel and in ns-3, in turn in one call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from benches import native, simulated
from benches.figures import Contender, Cost
from benches.lab import Lab, scenario_of
from mptcplab.runs.bench import BENCH
from mptcplab.scenario.flags import Flags

#: What all others are compared with.
LAB = "lab"
#: Plain TCP over each of the same paths, at the same time, as ns-3 has it.
TCP = Flags(
    path=BENCH.path,
    connection=tuple(
        f"over-{name}:paths={name},transport=tcp"
        for name in (path.split(":")[0] for path in BENCH.path)
    ),
    scheduler=BENCH.scheduler,
    seed=BENCH.seed,
)

# How long the host sends as fast as it can, in real time.
_LIMIT = "4s"


@dataclass(frozen=True)
class _Way:
    """How one of them is run; `once`: it takes as long each time."""

    name: str
    what: str
    why_not: str
    run: Callable[[], Cost]
    once: bool = False


def measure(
    lab: Lab, *, rounds: int, duration: str, say: Callable[[str], None]
) -> tuple[tuple[Contender, ...], float | None]:
    """All of them, and the CPU seconds that ns-3 takes to start, None if it is not there."""
    with ExitStack() as stack:
        simulator = None
        if not simulated.why_not():
            say("ns-3 starts")
            simulator = stack.enter_context(simulated.Simulator())
        ways = _ways(lab, duration, simulator)
        taken: dict[str, list[Cost]] = {way.name: [] for way in ways}
        for number in range(1, rounds + 1):
            for way in ways:
                if way.why_not or (way.once and number > 1):
                    continue
                say(f"beside others, {number} of {rounds}: {way.name}")
                taken[way.name].append(way.run())
    contenders = (
        Contender(name=way.name, what=way.what, why_not=way.why_not, taken=tuple(taken[way.name]))
        for way in ways
    )
    return tuple(contenders), simulator.start_cpu_s if simulator else None


def _ways(lab: Lab, duration: str, simulator: simulated.Simulator | None) -> list[_Way]:
    scenario, tcp = scenario_of(BENCH, duration=duration), scenario_of(TCP, duration=duration)
    has_mptcp = native.has_mptcp()
    limit = scenario_of(BENCH, duration=_LIMIT, warmup="0s")
    carries = "Multipath TCP" if has_mptcp else "TCP over each path, as this host has no MPTCP"
    shaped, bare = native.why_not(shaped=True), native.why_not(shaped=False)

    def in_ns3() -> Cost:
        assert simulator, "there is a reason why not"
        return simulator.run(tcp)

    return [
        _Way(LAB, "Multipath TCP, scheduler `default`", "", lambda: lab.run(scenario)),
        _Way("lab, TCP", "a TCP connection over each path", "", lambda: lab.run(tcp)),
        _Way("ns-3", "a TCP connection over each path", simulated.why_not(), in_ns3),
        _Way(
            "host",
            f"{carries}, in real time",
            shaped,
            lambda: native.over_paths(scenario, shaped=True, mptcp=has_mptcp),
            once=True,
        ),
        _Way(
            "host, no limits",
            f"{carries}, through the routers, without rates and delays",
            bare,
            lambda: native.over_paths(limit, shaped=False, mptcp=has_mptcp),
        ),
        _Way(
            "host, one link",
            f"{'Multipath TCP' if has_mptcp else 'TCP'}, one link without router, rate and delay",
            bare,
            lambda: native.direct(limit, mptcp=has_mptcp),
        ),
    ]
