# SPDX-License-Identifier: GPL-2.0-only
"""What coupling is for: to be fair to TCP, to move to free paths, and to come back to them.

All connections take segments from `minrtt`, which gives a subflow no more than its window takes:
with `default`, up to 64 KiB wait behind a window of a segment or two, and hold up all others.
Queues are RED and delays differ slightly: with drop tail, flows of one round trip fall into step.

These are the claims of RFC, drafts and papers on formulas, so `ours` is what is run. What papers
measured counts acknowledgments, of two segments each, where Linux's Reno counts segments: it has
less than TCP, says the last test.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from mptcplab.lab.engine import Rig
from mptcplab.metrics import records
from mptcplab.scenario import congestion
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import load_file
from tests.vocabulary import Run, RunScenario, ours

EXAMPLES = Path(__file__).parents[2] / "examples"
# A full packet of plain TCP with timestamps: 1448 bytes of data in 1514 bytes of Ethernet.
TCP_PAYLOAD = 1448 / 1514
# Packets do not depend on it, figures here are of ten seconds and more, and samples every 10 ms
# take as much CPU time as half of the rest.
SAMPLE_INTERVAL = "100ms"

#: All seeds of an example, by its name and the congestion control.
RunExample = Callable[..., list[Run]]


@pytest.fixture(scope="module")
def run_example(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> RunExample:
    def run(example: str, cc: str, seeds: int = 1) -> list[Run]:
        flags = Flags(cc=cc, repeat=seeds, sample_interval=SAMPLE_INTERVAL)
        runs = []
        for scenario in load_file(EXAMPLES / example, flags).runs():
            directory = tmp_path_factory.mktemp(f"{congestion.name_of(cc)}-{scenario.seed}")
            runs.append(Run.made(scenario, rig, directory))
        return runs

    return run


def goodputs(run: Run) -> dict[str, float]:
    """The goodput of each connection in the common time, in bit/s, by its name."""
    found: dict[str, Any] = {c.name: c.common_goodput_bps for c in run.figures.connections}
    assert all(found.values())
    return found


def of_multipath(run: Run) -> list[float]:
    return [value for name, value in goodputs(run).items() if name.startswith("multipath")]


def of_tcp(run: Run) -> list[float]:
    return [value for name, value in goodputs(run).items() if name.startswith("tcp")]


def ratio(run: Run) -> float:
    """What Multipath TCP has, for each bit that as many connections of TCP have."""
    return sum(of_multipath(run)) / sum(of_tcp(run))


#: Paths with the bottleneck in common: two of Multipath TCP, and that of TCP.
IN_COMMON = (
    *("a:link=bottleneck,delay=5ms", "b:link=bottleneck,delay=6ms"),
    "t:link=bottleneck,delay=5.5ms",
)


def with_the_same_losses(run_scenario: RunScenario, cc: str) -> float:
    """The ratio beside one connection of TCP, on a link that loses at random."""
    run = run_scenario(
        *IN_COMMON,
        link=("bottleneck:100mbit,10ms,loss=0.5%,queue=1000,queue_discipline=droptail",),
        connection=("multipath:paths=a/b", "tcp:paths=t,transport=tcp,cc=reno,start=500ms"),
        scheduler="minrtt",
        cc=cc,
        duration="60s",
        warmup="10s",
        sample_interval=SAMPLE_INTERVAL,
    )
    print(f"\n{cc}: Multipath TCP / TCP {ratio(run):.2f}")
    return ratio(run)


@pytest.mark.parametrize("cc", ["lia", "olia", "balia"])
def test_with_the_same_losses_it_takes_what_tcp_takes(run_scenario: RunScenario, cc: str) -> None:
    # RFC 6356, goal 2: no more than a single TCP. With a loss probability p for all, two alike
    # subflows have windows w of which the sum is sqrt(2 / p): per segment 1 / (2 x 2w) is grown as
    # much as p w / 2 is shrunk. That is Reno's, if it were smooth; its saw teeth of a whole window
    # make that 1.31 / sqrt(p), and the smaller ones of two subflows lose less: up to 1.41 / 1.31 =
    # 1.08. A fifth either way is for what 350 losses in 50 s leave to chance. Here 0.5 % are lost
    # at random, on a link that the 20 segments of a window do not fill.
    assert 0.8 <= with_the_same_losses(run_scenario, ours(cc)) <= 1.25


@pytest.mark.parametrize("cc", ["lia", "olia", "balia"])
def test_among_many_in_one_bottleneck_it_takes_what_tcp_takes(
    run_scenario: RunScenario, cc: str
) -> None:
    # The same losses, as above, from a queue that is nobody's own: five and five connections on
    # 50 Mbit/s, each of which would have the window of 21 segments that one beside one has on 10.
    # In 15 s the seeds differ: OLIA has from 0.87 to 0.97, as docs/congestion/README.md says.
    ratios = [
        ratio(
            run_scenario(
                *IN_COMMON,
                link=("bottleneck:50mbit,10ms,queue_discipline=red",),
                connection=(
                    "multipath:paths=a/b,count=5",
                    "tcp:paths=t,transport=tcp,cc=reno,count=5,start=500ms",
                ),
                scheduler="minrtt",
                cc=ours(cc),
                duration="25s",
                warmup="10s",
                sample_interval=SAMPLE_INTERVAL,
                seed=str(seed),
            )
        )
        for seed in (1, 2, 3)
    ]
    said = ", ".join(f"{each:.2f}" for each in ratios)
    print(f"\n{cc}: five Multipath TCP / five TCP {said}")
    assert 0.8 <= statistics.median(ratios) <= 1.25


@pytest.mark.parametrize(("cc", "seeds"), [("reno", 1), ("lia", 3), ("olia", 3), ("balia", 3)])
def test_beside_a_single_tcp_connection_it_takes_less_than_two_do(
    run_example: RunExample, cc: str, seeds: int
) -> None:
    # Uncoupled, two of three connections of Reno: 2, with a fifth either way. Coupled should have
    # 0.8 to 1.25, and does not always: beside a single one, TCP loses more of its packets than
    # Multipath TCP does of its own (docs/congestion/README.md).
    form = cc if cc == "reno" else ours(cc)
    ratios = [ratio(run) for run in run_example("fairness.toml", form, seeds)]
    print(f"\n{cc}: Multipath TCP / TCP {', '.join(f'{each:.2f}' for each in ratios)}")
    if cc == "reno":
        assert 1.6 <= ratios[0] <= 2.5
    else:
        assert 0.8 <= statistics.median(ratios) < 1.6


@pytest.fixture(scope="module")
def pooling(run_example: RunExample) -> dict[str, Run]:
    """Two TCP connections are on the second of two links until 40 s, by congestion control."""
    forms = {"reno": "reno"} | {cc: ours(cc) for cc in ("lia", "olia", "balia")}
    return {cc: run_example("pooling.toml", form)[0] for cc, form in forms.items()}


def test_it_moves_to_the_free_path(pooling: dict[str, Run]) -> None:
    # Link and queue hold 42 segments. Reno has a third of the busy ones, less a fifth for chance.
    # With loss probabilities of 2 / w^2, w that of TCP on the busy link and of all subflows on the
    # free one, LIA's windows are as 1 / p: 6 of 42 segments on the busy link, 42 on the free one,
    # TCP 18 each. BALIA's formulas give 5 of 42. Windows are not smooth: LIA has 0.20 to
    # 0.25 of the link. What is asserted is that traffic moves: three quarters of Reno's at most.
    # OLIA has a window of a segment or two: 2 of 42, and as much again for what it tries.
    most = {"lia": 0.75 / 3, "olia": 2 / 42 * 2, "balia": 0.75 / 3}
    parts = {cc: run.rate_bps("over-busy", 10, 40) / 10e6 for cc, run in pooling.items()}
    for cc, run in pooling.items():
        mbps = ", ".join(f"{name} {bps / 1e6:.2f}" for name, bps in goodputs(run).items())
        print(f"\n{cc}: {parts[cc]:.3f} of the busy link; Mbit/s: {mbps}", end="")
    assert parts["reno"] >= 0.8 / 3
    for cc, bound in most.items():
        assert parts[cc] <= bound, cc
        assert min(of_tcp(pooling[cc])) > max(of_tcp(pooling["reno"])), cc


def test_it_has_what_tcp_has_on_the_best_path(
    pooling: dict[str, Run], run_scenario: RunScenario
) -> None:
    # RFC 6356, goal 1.
    alone = run_scenario(
        "over-free:link=free,delay=5ms",
        link=("free:10mbit,10ms,queue_discipline=red",),
        transport="tcp",
        cc="reno",
        duration="40s",
        warmup="10s",
        sample_interval=SAMPLE_INTERVAL,
    )
    for cc, run in pooling.items():
        has_bps = goodputs(run)["multipath"]
        print(
            f"\n{cc}: {has_bps / 1e6:.2f}, TCP alone {alone.goodput_bps / 1e6:.2f} Mbit/s", end=""
        )
        assert has_bps >= alone.goodput_bps, cc


def until_used_s(run: Run) -> float:
    """From when TCP leaves the busy link until Multipath TCP has 80 % of it for half a second."""
    for step in range(250):
        begin_s = 40 + step / 10
        if run.rate_bps("over-busy", begin_s, begin_s + 0.5) >= 0.8 * 10e6 * TCP_PAYLOAD:
            return begin_s + 0.5 - 40
    return np.inf


def test_a_path_that_becomes_free_is_used_again(pooling: dict[str, Run]) -> None:
    # 80 % of 26 segments that the link holds are 21, and round trips are 32 ms there, 50 ms on the
    # other link. Reno comes from 14: 7 round trips. LIA's window w grows by 42 w / (42 + w)^2 each,
    # 0.11 to 0.22, and comes from 6: 83 round trips, some 4 s. BALIA's grows by 0.12 to 0.2: as
    # long. What TCP had queued must leave first, and a loss on the way takes all once more: 15 s,
    # and 5 s for Reno. OLIA's path grows only when it has become the best one. That was computed as
    # 8 s, and takes up to 20 s: with a window of three its RTT is twice that of the link
    # (docs/congestion/README.md). So of OLIA it is only asserted that it comes back in the 30 s.
    took_s = {cc: until_used_s(run) for cc, run in pooling.items()}
    print("\nuntil 80 % of it is used:", ", ".join(f"{cc} {s:.1f} s" for cc, s in took_s.items()))
    assert took_s["reno"] <= 5
    assert max(took_s["lia"], took_s["balia"]) <= 15
    assert took_s["olia"] <= 30


#: Scenario A of the paper on OLIA, with fewer users of a higher rate: 2 Mbit/s each, whose window
#: is 25 segments. So a window of one or two, the least, is little.
SCENARIO_A: dict[str, Any] = {
    "link": ("server:6mbit,30ms,queue_discipline=red", "shared:6mbit,30ms,queue_discipline=red"),
    "connection": (
        "multipath:paths=private/over-shared,count=3",
        "tcp:paths=t,transport=tcp,cc=reno,count=3,start=500ms",
    ),
    "scheduler": "minrtt",
    "duration": "80s",
    "warmup": "20s",
    "sample_interval": SAMPLE_INTERVAL,
}
PATHS_A = (
    "private:link=server,delay=31ms",
    "over-shared:link=shared/server,delay=1ms",
    "t:link=shared,delay=30ms",
)


def test_who_gains_nothing_from_a_path_leaves_it_with_olia(run_scenario: RunScenario) -> None:
    # Both paths of Multipath TCP go through the link of its server, which is full either way. With
    # rates x1, x2, y of the private path, the shared one and TCP, in parts of 2 Mbit/s, x1 + x2 = 1
    # and x2 + y = 1; y = 1 / sqrt(p2), where p1 and p2 are in units that give TCP a rate of 1 with
    # a probability of 1.
    # - LIA: see `of_tcp_with_lia`; with equal RTTs y = 0.74.
    # - OLIA: a window of one or two of 25 segments on the shared path: y = 0.92 to 0.96.
    # A full link has 1448 of 1514 bytes for TCP, 1424 of 1514 for Multipath TCP. Seeds differ, with
    # a standard deviation of 0.03, and so do builds of the kernel, which have other random numbers:
    # the mean of nine is off by 0.01 with LIA, thrice that is half of what is allowed.
    found, computed = {}, []
    for cc, seeds in (("lia", 9), ("olia", 5)):
        shares = []
        for seed in range(1, seeds + 1):
            run = run_scenario(*PATHS_A, cc=ours(cc), seed=seed, **SCENARIO_A)
            shares.append(statistics.mean(of_tcp(run)) / (2e6 * TCP_PAYLOAD))
            multipath = statistics.mean(of_multipath(run)) / (2e6 * 1424 / 1514)
            assert multipath >= 0.95, (cc, seed)
            if cc == "lia":
                computed.append(
                    of_tcp_with_lia(rtt_us(run, "private") / rtt_us(run, "over-shared"))
                )
        found[cc] = statistics.mean(shares)
        print(f"\n{cc}: TCP has {found[cc]:.3f} of what is fair", end="")
    print(f", computed for LIA {statistics.mean(computed):.3f}", end="")
    assert found["lia"] == pytest.approx(statistics.mean(computed), abs=0.06)
    assert found["olia"] >= 0.85


def rtt_us(run: Run, path: str) -> float:
    """The smoothed RTT over a path, the mean over all connections and the time that counts."""
    subflow = run.client.subflow
    names = [each.name for each in run.scenario.paths]
    all_on = [number for number, name in enumerate(names) if name.startswith(path)]
    mine = subflow[np.isin(records.path_indices(subflow), all_on)]
    counts = mine["time_ns"] >= run.start_ns + run.scenario.workload.warmup_ns
    return float(mine["srtt_us"][counts].mean())


def of_tcp_with_lia(ratio: float) -> float:
    """What TCP has in scenario A beside LIA; `ratio` is the private path's RTT in the other's.

    LIA grows all windows alike, so w1 p1 = w2 (p1 + p2), and takes as much as TCP would on the best
    path, so p1 = 1 where the RTTs of private path and TCP are the same. With x = w / RTT:
    x2 = ratio x1 / (1 + p2), and 1 / sqrt(p2) + x2 = 1.
    """
    p2 = optimize.brentq(lambda p2: p2**-0.5 + ratio / (1 + ratio + p2) - 1, 1, 10)
    return float(p2**-0.5)


@pytest.mark.parametrize("cc", ["lia", "olia", "balia"])
def test_as_measured_it_has_less_than_tcp(run_scenario: RunScenario, cc: str) -> None:
    # Two subflows with windows w: per acknowledgment of two segments 1 / (2 x 2w) is grown, and
    # 2 p w / 2 is lost: the sum of both is sqrt(1 / p) where it is sqrt(2 / p) with `segments`, or
    # 1 / sqrt(2) of it: 0.76 of TCP's where that is 1.08 (as above). Where LIA takes the smaller of
    # two windows for the best path's, half of it say, alpha is half as large, and the sum 0.54.
    assert 0.54 * 0.8 <= with_the_same_losses(run_scenario, cc) <= 0.76 * 1.2
