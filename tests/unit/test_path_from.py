# SPDX-License-Identifier: GPL-2.0-only
"""Paths from measurements: what each kind of file says, and what is said of those that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Path as NetworkPath
from mptcplab.scenario.resolve import from_flags

#: A link of 1514/1448 of 100 and 20 Mbit/s: 105 and 20.9.
SPEEDTEST_CLI = {
    "download": 100e6,
    "upload": 20e6,
    "ping": 24.4,
    "server": {"latency": 24.4},
    "bytes_sent": 25_000_000,
    "client": {},
}
OOKLA = {
    "type": "result",
    "ping": {"jitter": 0.6, "latency": 24.4, "low": 24.0, "high": 26.0},
    # bytes per second
    "download": {"bandwidth": 12_500_000, "bytes": 150_000_000, "elapsed": 12000},
    "upload": {"bandwidth": 2_500_000, "bytes": 30_000_000, "elapsed": 12000},
    "packetLoss": 1.99,
}
PING = """\
PING example.net (192.0.2.1) 56(84) bytes of data.
64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=31.0 ms
64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=30.0 ms
64 bytes from 192.0.2.1: icmp_seq=3 ttl=57 time=90.0 ms

--- example.net ping statistics ---
4 packets transmitted, 3 received, 19% packet loss, time 3004ms
rtt min/avg/max/mdev = 30.000/50.333/90.000/28.054 ms
"""
PING_MAC = """\
--- example.net ping statistics ---
10 packets transmitted, 10 packets received, 0.0% packet loss
round-trip min/avg/max/stddev = 28.000/30.000/33.000/1.000 ms
"""


def iperf(*, reverse: int = 0, **end: Any) -> dict[str, Any]:
    sender = {"sender": {"bits_per_second": 21e6, "min_rtt": 40_000, "mean_rtt": 90_000}}
    total = {"streams": [sender], "sum_sent": {"bits_per_second": 21e6}}
    received = {"sum_received": {"bits_per_second": 20e6}}
    start = {"test_start": {"protocol": "TCP", "reverse": reverse}}
    return {"start": start, "intervals": [], "end": {**total, **received, **end}}


def read(place: Path, *files: Any, more: str = "") -> NetworkPath:
    names = []
    for number, content in enumerate(files):
        file = place / f"measured{number}"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        names.append(str(file))
    (path,) = from_flags(Flags(path_from=[f"dsl:{','.join(names)}{more}"])).base.paths
    return path


def values(path: NetworkPath) -> tuple[tuple[float, float], tuple[float, float], float, float]:
    """Rates in Mbit/s and losses in % of both directions, and delays in ms."""
    up, down = path.up, path.down
    return (
        (up.rate_bps / 1e6, round(100 * up.loss, 3)),
        (down.rate_bps / 1e6, round(100 * down.loss, 3)),
        up.delay_ns / 1e6,
        down.delay_ns / 1e6,
    )


@pytest.mark.parametrize("content", [SPEEDTEST_CLI, OOKLA])
def test_a_speed_test_has_rates_and_a_delay(tmp_path: Path, content: dict[str, Any]) -> None:
    # 1.99 % of round trips are 1 - 0.99 x 0.99
    loss = 1.0 if "packetLoss" in content else 0.0
    assert values(read(tmp_path, content)) == ((20.9, loss), (105, loss), 12.2, 12.2)


def test_ping_has_the_delay_and_the_loss_of_each_direction(tmp_path: Path) -> None:
    # the median of 31, 30 and 90; 1 - 0.9 x 0.9 = 19 %
    assert values(read(tmp_path, SPEEDTEST_CLI, PING)) == ((20.9, 10), (105, 10), 15.5, 15.5)
    assert values(read(tmp_path, SPEEDTEST_CLI, PING_MAC)) == ((20.9, 0), (105, 0), 15, 15)


def test_iperf_has_the_rate_of_its_direction(tmp_path: Path) -> None:
    up, down = iperf(), iperf(reverse=1, sum_received={"bits_per_second": 50e6})
    assert values(read(tmp_path, up, down)) == ((20.9, 0), (52.3, 0), 20, 20)
    both = iperf(sum_received_bidir_reverse={"bits_per_second": 50e6})
    assert values(read(tmp_path, both)) == ((20.9, 0), (52.3, 0), 20, 20)
    udp = iperf(sum_received={"bits_per_second": 20e6, "lost_percent": 0.5})
    assert values(read(tmp_path, down, udp)) == ((20.9, 0.5), (52.3, 0), 20, 20)


def test_keys_replace_what_was_measured(tmp_path: Path) -> None:
    path = read(tmp_path, OOKLA, more=",up.rate=5mbit,loss=0%,queue=77")
    assert values(path)[:2] == ((5, 0), (105, 0))
    assert path.down.queue_packets == 77


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "neither JSON nor the output of ping; accepted are the JSON of speedtest-cli"),
        ("{", "broken JSON: "),
        ([1], "a JSON list, not an object"),
        ({"rows": []}, "unknown JSON; accepted are"),
        ({"error": "unable to connect"}, "the test failed: unable to connect; repeat it"),
        ({**SPEEDTEST_CLI, "download": "100"}, "download is no number"),
        ({**SPEEDTEST_CLI, "ping": -1}, "ping is -1; at least 0 is expected"),
        ({**OOKLA, "download": {}}, "download.bandwidth is no number"),
        ({**OOKLA, "upload": {"bandwidth": 0}}, "a rate is 0: the test failed; repeat it"),
        ({"start": {}, "end": {}}, "start.test_start is missing"),
        (PING, "no rate up; add a file that measured it, or up.rate=VALUE"),
        (iperf(), "no rate down; add a file that measured it, or down.rate=VALUE"),
        ("4 packets transmitted, 0 received, 100% packet loss", "no ping was answered"),
        ({**SPEEDTEST_CLI, "ping": int(400 * "9")}, "a number is beyond all rates and times"),
        (f"time={400 * '9'} ms", "a number is beyond all rates and times"),
        (100_000 * '{"end":', "broken JSON: "),
        (iperf(streams=None), "no delay up"),
        (iperf(streams=[{"sender": None}]), "no delay up"),
        (iperf(streams=[{"sender": {"min_rtt": "5"}}]), "min_rtt is no number"),
        (iperf(streams=[{"sender": {"min_rtt": -5}}]), "min_rtt is -5; at least 0 is expected"),
    ],
)
def test_what_is_no_measurement_is_refused(tmp_path: Path, content: Any, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert expected in str(caught.value)
    assert "--path-from" in str(caught.value)
    assert str(tmp_path / "measured0") in str(caught.value)


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("dsl", "no file after the name; a measured path is NAME:FILE"),
        ("dsl:loss=1%", "no file after the name"),
        ("dsl:missing.json", "missing.json: "),
    ],
)
def test_mistakes_in_the_flag_say_what_is_accepted(flag: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        from_flags(Flags(path=["lte"], path_from=[flag]))
    assert expected in str(caught.value)
    assert str(caught.value).startswith("1 mistake in --path-from")
