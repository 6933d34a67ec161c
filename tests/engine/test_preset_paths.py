# SPDX-License-Identifier: GPL-2.0-only
"""Paths that are alive and useless, that send in bursts, or that share a part of their way: packets
take the times that arithmetic gives. With the lab's kernel, and with one whose MPTCP and TCP are
Linux's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mptcplab.lab import engine
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import run_files
from mptcplab.plan import plan
from tests import pcapng
from tests.vocabulary import Run, RunScenario, scenario_of, without_patches

Times = npt.NDArray[np.int64]

MS = 10**6
SECOND = 10**9
#: A full packet of plain TCP, and its data; of MPTCP, 20 to 28 bytes less are data.
FRAME, DATA = 1514, 1448
FRAME_BITS = 8 * FRAME


@pytest.fixture(params=["lab", "Linux's own MPTCP"])
def rig(request: pytest.FixtureRequest, lab_kernel: KernelBuild, lab_guest: Guest) -> Rig:
    kernel = lab_kernel if request.param == "lab" else without_patches(lab_kernel)
    return Rig(kernel, lab_guest)


@pytest.fixture
def run_scenario(rig: Rig, tmp_path: Path) -> RunScenario:
    """The fixture of this name, with the kernel of `rig`, and captures."""

    def run(*paths: str, **flags: Any) -> Run:
        directory = tmp_path / "run"
        directory.mkdir()
        return Run.made(scenario_of(*paths, pcap=True, **flags), rig, directory)

    return run


def packets(run: Run, device: str, *, outbound: bool) -> tuple[Times, Times]:
    """When packets with data passed a device of the first router, in ns after the start; and their
    lengths."""
    file = run.outcome.directory / plan.router_capture(run.scenario.paths[0].name)
    capture = pcapng.read(file)[device]
    data = (capture.payload > 0) & (capture.outbound == outbound)
    data &= capture.time_ns >= run.start_ns
    return capture.time_ns[data] - run.start_ns, capture.length[data].astype(np.int64)


def up(run: Run) -> tuple[Times, Times]:
    """When packets that the client sent left the first router's queue, and their lengths."""
    return packets(run, "rs1", outbound=True)


def test_a_throttle_turns_a_full_queue_into_seconds(run_scenario: RunScenario) -> None:
    """`lte-throttled` has 7.6 Mbit/s up until 10 s, then 1 Mbit/s; 190 packets wait or travel."""
    run = run_scenario("lte-throttled", transport="tcp", duration="14s", warmup="0s")
    arrived, _ = packets(run, "rc1", outbound=False)
    left, lengths = up(run)
    waited = np.flatnonzero((left > 10 * SECOND) & (left < 12 * SECOND))
    # one leaves each 12.112 ms, whatever was there before; the queue does not run empty
    assert (lengths[waited] == FRAME).all()
    gaps = np.diff(left[waited])
    assert gaps[1:] == pytest.approx(FRAME_BITS * 1000, abs=2)
    # Those in the queue at 10 s are the ones that had come and not left, without any that was
    # dropped in between. CUBIC fills the queue, and goes back to 0.7 of it at a loss: of 190
    # packets in the router 133 remain, and 6.6 are in its delay line. The first one is leaving.
    there = int((arrived <= 10 * SECOND - 10_500_000).sum() - (left <= 10 * SECOND).sum())
    print(f"{there} packets wait at 10 s; the last one for {there * 12.112:.0f} ms")
    assert 126 <= there <= 190
    # the one that came last waits for all others: a queue divided by the rate
    last = left[np.flatnonzero(left > 10 * SECOND)[0] + there - 1]
    assert last - 10 * SECOND == pytest.approx(there * FRAME_BITS * 1000, abs=FRAME_BITS * 1000)
    # TCP's RTT has it, with 21 ms of delay and the smoothing of a growing value
    assert 1.2 < float(run.client.subflow["srtt_us"].max()) / 1e6 < 190 * 0.012112 + 0.05


def test_a_delay_swings_between_50_and_600_ms(run_scenario: RunScenario) -> None:
    """`lte-swinging`: each packet takes the delay of its half second, and its time at 3.5 Mbit/s.

    Packets 97 ms apart, of which none comes as the delay changes. Packets keep their order, which
    makes no difference here: the delay falls by 36.7 ms at a time.
    """
    run = run_scenario(
        "lte-swinging",
        transport="tcp",
        workload="cbr:size=500B,interval=97ms",
        duration="20s",
        warmup="0s",
    )
    came, _ = packets(run, "rc1", outbound=False)
    left, lengths = up(run)
    assert len(came) == len(left)
    step = came // (SECOND // 2) % 30
    expected = 50 * MS + 550 * MS / 15 * np.minimum(step, 30 - step) + lengths * 8e9 / 3.5e6
    # behind another packet of the same window, one waits for it
    apart = np.flatnonzero(np.diff(came, prepend=-SECOND) > 40 * MS)
    assert len(apart) >= 200
    delay = (left - came).astype(float)
    # the trace has whole us; the packet passes three devices
    assert delay[apart] == pytest.approx(expected[apart], abs=1500)
    assert delay[apart].min() < 60 * MS
    assert delay[apart].max() > 590 * MS


@pytest.mark.parametrize(
    ("preset", "on_ms", "period_ms", "mean_bps"),
    [("lte-bursts", 9, 18, 7.6e6), ("wifi-bursts", 1, 10, 50e6)],
)
def test_packets_leave_in_bursts(
    run_scenario: RunScenario, preset: str, on_ms: int, period_ms: int, mean_bps: float
) -> None:
    run = run_scenario(preset, transport="tcp", duration="4s", warmup="1s")
    left, lengths = up(run)
    left, lengths = left[left < 4 * SECOND], lengths[left < 4 * SECOND]
    # None but at the beginning of a period. The one that is leaving as a burst ends goes on with
    # its rest in the next.
    assert (left % (period_ms * MS)).max() <= on_ms * MS
    # a burst is what the link carries in it, and a packet that began in the one before
    most = 1 + on_ms * MS * (mean_bps * period_ms / on_ms) / SECOND / FRAME_BITS
    sizes = np.bincount(left[lengths == FRAME] // (period_ms * MS))
    assert sizes.max() <= most
    # The queue is never empty once slow start is over, as in other tests here: nothing of the mean
    # is lost, but for a burst at either end.
    since = left[left >= SECOND]
    carried = FRAME_BITS * (len(since) - 1) * SECOND / (3 * SECOND)
    assert carried == pytest.approx(mean_bps, abs=most * FRAME_BITS)


def test_lost_acks_cost_a_download_nothing_and_the_same_loss_ends_an_upload(
    run_scenario: RunScenario,
) -> None:
    """`dsl-lossy-up`. An ACK acknowledges all before it, so a later one makes up for a lost one."""
    run = run_scenario(
        "dsl-lossy-up",
        transport="tcp",
        workload="bulk:direction=down",
        duration="8s",
        warmup="2s",
    )
    # CUBIC goes back to 0.7 of 413 packets after a loss. The delay of 10.8 ms takes 45: the link is
    # always busy, and carries 1448 of 1514 bytes.
    assert run.goodput_bps == pytest.approx(50e6 * DATA / FRAME, rel=0.005)
    file = run.outcome.directory / plan.router_capture("dsl-lossy-up")
    read = pcapng.read(file)
    acks = {
        device: int(((read[device].payload == 0) & (read[device].outbound == outbound)).sum())
        for device, outbound in (("rc1", False), ("rs1", True))
    }
    # half of them arrive: five standard deviations of sqrt(n / 4)
    share = acks["rs1"] / acks["rc1"]
    print(f"{acks['rc1']} ACKs, {100 * share:.2f} % arrive")
    assert share == pytest.approx(0.5, abs=5 * 0.5 / acks["rc1"] ** 0.5)


def test_an_upload_that_loses_half_of_its_packets_is_useless(run_scenario: RunScenario) -> None:
    run = run_scenario("dsl-lossy-up", transport="tcp", duration="10s", warmup="0s")
    # Every second packet is lost, so a window seldom survives: TCP sends some packets, and waits
    # for its timer, 200 ms at least. Four packets each time are 0.23 of the line's 10 Mbit/s.
    assert 0 < run.goodput_bps < 4 * DATA * 8 / 0.2


def test_two_of_three_paths_share_a_cell(run_scenario: RunScenario) -> None:
    """What they carry adds up to the cell's rate, and the third has its own."""
    run = run_scenario(
        *("m1:link=cell,delay=3ms,rate=15mbit,queue=500", "dsl:10mbit,15ms,queue=100"),
        "m2:link=cell,delay=4ms,rate=15mbit,queue=500",
        link=("cell:20mbit,10ms,queue=150",),
        scheduler="default",
        duration="9s",
    )
    mbps = {path: run.rate_bps(path, 3, 9) / 1e6 for path in ("m1", "m2", "dsl")}
    print(mbps)
    # 1420 of the 1514 bytes are data, or a few more; the cell is 43 packets deep without its queue,
    # and 0.7 of 150 more is enough to keep it busy
    cell = mbps["m1"] + mbps["m2"]
    assert cell == pytest.approx(20 * 1424 / FRAME, rel=0.02)
    assert mbps["dsl"] == pytest.approx(10 * 1424 / FRAME, rel=0.02)
    # alone, each would have 15
    assert max(mbps["m1"], mbps["m2"]) < 15 * DATA / FRAME


def test_bursts_and_swings_are_the_same_each_time(rig: Rig, tmp_path: Path) -> None:
    scenario = scenario_of(
        *("wifi-bursts", "lte-bursts", "lte-swinging", "dsl-lossy-up"),
        scheduler="default",
        duration="2s",
        pcap=True,
    )
    names = [
        *(run_files.CLIENT_SAMPLES, run_files.SERVER_SAMPLES, run_files.LINKS_SAMPLES),
        *plan.capture_files(scenario),
    ]
    found = []
    for number in range(2):
        directory = tmp_path / str(number)
        directory.mkdir()
        outcome = engine.run(scenario, plan.render(scenario), rig, directory)
        found.append([(outcome.directory / name).read_bytes() for name in names])
    assert found[0] == found[1]
    assert all(found[0])
