# SPDX-License-Identifier: GPL-2.0-only
"""Cross traffic: as much as is asked for, when and where it is, and always the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from mptcplab.errors import RunError
from mptcplab.lab import engine
from mptcplab.lab.engine import Rig
from mptcplab.plan import plan
from tests import pcapng
from tests.vocabulary import Run, RunScenario, scenario_of

UDP = 17
PATHS = ("a:20mbit,10ms", "b:20mbit,10ms")


def cross_ns(run: Run, path: str, device: str) -> npt.NDArray[np.int64]:
    """When packets of cross traffic came to the router of a path, after the start.

    The router's `device` is "rc" towards the client, or "rs" towards the server.
    """
    number = [each.name for each in run.scenario.paths].index(path) + 1
    file = run.outcome.directory / plan.router_capture(path)
    capture = pcapng.read(file)[f"{device}{number}"]
    is_udp = np.array([frame[23] == UDP for frame in capture.headers], bool)
    assert (capture.length[is_udp] == 1514).all()
    return capture.time_ns[is_udp & ~capture.outbound] - run.start_ns


def test_it_comes_at_its_rate_while_it_lasts(run_scenario: RunScenario) -> None:
    run = run_scenario(
        *("a:20mbit,10ms,up.cross=3mbit", "b:20mbit,10ms"),
        event=("1s:a:change,up.cross=7mbit,lasts=500ms", "2s:b:change,down.cross=1mbit"),
        duration="3s",
        pcap=True,
    )
    up = cross_ns(run, "a", "rc")
    # A packet of 1514 bytes each 1514 x 8 / rate, the first one at once: at 3 Mbit/s each
    # 4.037333 ms, at 7 Mbit/s 1.730286 ms. Veth takes no time; the first one leaves when the
    # process has been told of the start, which takes some readings of the clock.
    expected = np.concatenate(
        [
            begin_s * 10**9 + np.arange(0, (end_s - begin_s) * 10**9, 1514 * 8 * 10**9 / rate_bps)
            for begin_s, end_s, rate_bps in ((0, 1, 3e6), (1, 1.5, 7e6), (1.5, 3, 3e6))
        ]
    )
    assert 0 <= up[0] <= 10_000
    assert np.abs(up[1 : len(expected)] - expected[1:]).max() <= 1000
    # until all data has arrived: 4 MiB of send buffer at 30 Mbit/s, 1.1 s, at the most
    assert len(up) - len(expected) <= 1.2 / 4.037333e-3
    down = cross_ns(run, "b", "rs")
    assert len(cross_ns(run, "b", "rc")) == len(cross_ns(run, "a", "rs")) == 0
    assert down[0] == pytest.approx(2e9, abs=1000)
    assert np.diff(down) == pytest.approx(12.112e6, abs=1000)


def test_none_is_none(run_scenario: RunScenario) -> None:
    flags = {"duration": "2s", "seed": "3"}
    plain = run_scenario(*PATHS, **flags)
    none = run_scenario("a:20mbit,10ms,cross=0bit", "b:20mbit,10ms", **flags)
    assert none.outcome.guest == plain.outcome.guest
    assert none.client.subflow.tobytes() == plain.client.subflow.tobytes()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("server 10.1.1.1", "cross server 10.1.1.1: a number is expected after it"),
        ("server 10.1.1 5", "cross server 10.1.1 5: 10.1.1 is not an address of IPv4 or IPv6"),
        ("server 10.1.1.1 5 6", "cross server 10.1.1.1 5 6: 6 is not known here"),
        ("server 10.1.1.1 fast", "cross server 10.1.1.1 fast: fast: a number up to 18446744073709"),
        ("nowhere 10.1.1.1 5", "namespace nowhere: No such file or directory"),
        ("server 10.1.9.1 5", "cross: Cannot assign requested address"),
    ],
)
def test_a_line_that_makes_no_sense_is_told(
    rig: Rig, tmp_path: Path, arguments: str, reason: str
) -> None:
    scenario = scenario_of(*PATHS, duration="1s")
    text = plan.render(scenario) + f"at 100ms ip netns exec client cross {arguments}\n"
    with pytest.raises(RunError) as error:
        engine.run(scenario, text, rig, tmp_path)
    assert reason in str(error.value)
