# SPDX-License-Identifier: GPL-2.0-only
"""Fits to series and captures that are built by hand: every value follows from arithmetic."""

from __future__ import annotations

import json
import struct
from collections.abc import Set
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from mptcplab.errors import InputError
from mptcplab.fit import captures, document, estimates, socket_logs, speed_tests
from mptcplab.fit.document import Fit
from mptcplab.fit.estimates import FULL_BYTES, Estimate, Passage, PathFit, Transfer
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import load_file
from tests.packets import ACK, SYN, Datagram, Packet, write_pcap

CLIENT, SERVER = ("10.0.1.1", 40000), ("10.1.1.1", 5001)
#: A full packet takes 1 ms.
RATE_BPS = 8 * FULL_BYTES * 1000
ROUND_TRIP_S = 0.02


def passage(
    waited: np.ndarray, lost: Set[int] = frozenset(), step_s: np.ndarray | None = None
) -> Passage:
    """Packets that waited so many transmission times; one arrives each ms, or after `step_s`."""
    step_s = np.full(len(waited), 1e-3) if step_s is None else step_s
    at_s = np.cumsum(step_s)
    gone = np.isin(np.arange(len(waited)), list(lost))
    return Passage(
        at_s=at_s,
        wait_s=waited * 1e-3,
        lost=gone,
        step_at_s=at_s,
        step_s=step_s,
        step_bytes=np.full(len(waited), FULL_BYTES),
        step_wait_s=waited * 1e-3,
        round_trip_s=ROUND_TRIP_S,
        accuracy_s=0.0,
    )


def test_the_rate_is_the_link_s_while_packets_wait_and_idle_time_does_not_count() -> None:
    # every second packet of the second half comes 4 ms late: the link was idle, and nothing waited
    waited = np.full(4000, 5.0)
    step_s = np.full(4000, 1e-3)
    waited[2001::2], step_s[2001::2] = 0, 5e-3
    ((at_s, rate),) = estimates.rates(passage(waited, step_s=step_s))
    assert at_s == 0
    assert rate.value == pytest.approx(RATE_BPS)
    assert rate.low == pytest.approx(RATE_BPS)
    assert rate.high == pytest.approx(RATE_BPS)


def test_a_change_of_the_rate_is_found_within_a_block_even_if_it_ends_soon() -> None:
    # 4 s at full rate, 1 s at a quarter, 5 s at full rate
    step_s = np.concatenate([np.full(4000, 1e-3), np.full(250, 4e-3), np.full(5000, 1e-3)])
    found = estimates.rates(passage(np.full(len(step_s), 9.0), step_s=step_s))
    times, rates = zip(*found, strict=True)
    assert times == pytest.approx([0, 4, 5], abs=0.2)
    assert [rate.value for rate in rates] == pytest.approx([RATE_BPS, RATE_BPS / 4, RATE_BPS])


def test_a_link_on_which_nothing_waits_has_a_lower_bound() -> None:
    ((_, rate),) = estimates.rates(passage(np.zeros(1000)))
    assert rate.value == pytest.approx(RATE_BPS)
    assert rate.high is None


def sawtooth(count: int, queue: int) -> np.ndarray:
    """Waits that rise to a full queue and fall to half of it."""
    found: np.ndarray = queue / 2 + np.arange(count) % (queue // 2 + 1)
    return found


def test_the_queue_is_the_wait_before_overflows_and_other_losses_are_random() -> None:
    waited = sawtooth(20_000, 50)
    # a loss at each tenth peak, 260 packets apart; it repeats every 26 packets
    full = set(range(25, 20_000, 260))
    # at a wait of 30, 60 % of the queue, and 110 packets from any overflow: a round trip and the
    # longest wait are 70
    short = set(range(135, 20_000, 2600))
    queue, loss = estimates.queue_and_loss(
        passage(waited, full | short), [(0.0, Estimate(RATE_BPS, RATE_BPS, RATE_BPS, ""))]
    )
    assert (queue.value, queue.low, queue.high) == (50, 50, 50)
    # nearly full are waits of 40 and more: 11 of 26
    packets = 20_000 * 15 / 26
    assert loss.value == pytest.approx(len(short) / packets, rel=0.01)
    assert loss.low < loss.value < (loss.high or 0)


def test_losses_that_do_not_depend_on_the_queue_say_nothing_of_its_size() -> None:
    waited = sawtooth(20_000, 50)
    lost = set(np.random.default_rng(1).choice(20_000, 200, replace=False).tolist())
    rate = Estimate(RATE_BPS, RATE_BPS, RATE_BPS, "")
    queue, loss = estimates.queue_and_loss(passage(waited, lost), [(0.0, rate)])
    assert (queue.low, queue.high) == (50, None)
    assert loss.value == pytest.approx(0.01)


def test_a_burst_of_losses_is_an_overflow_though_the_queue_was_longer_later() -> None:
    waited = np.concatenate([np.full(500, 30.0), np.full(5000, 5.0), np.full(500, 60.0)])
    burst = set(range(450, 490, 2))
    rate = Estimate(RATE_BPS, RATE_BPS, RATE_BPS, "")
    queue, loss = estimates.queue_and_loss(passage(waited, burst | {5999}), [(0.0, rate)])
    assert (queue.low, queue.high) == (30, 60)
    assert loss.value == 0


def test_wilson_s_interval() -> None:
    # z^2 / (n + z^2) with z = 1.96 and n = 10
    nothing = estimates.share(0, 10, "")
    assert (nothing.value, nothing.low) == (0, 0)
    assert nothing.high == pytest.approx(3.8416 / 13.8416)


# --- captures


def transfer(*, window: int = 30, count: int = 2000, at_sender: bool = True) -> list[Packet]:
    """A transfer of a sender with a fixed window, each packet acknowledged, over 10 Mbit/s with
    10 ms each way, as an end sees it; without at_sender, with timestamps.

    A packet of data has 1400 bytes, and 54 or 66 of headers, an acknowledgment 80 on the link.
    """
    stamped = not at_sender
    wire, rate, delay = 1454 + 12 * stamped, 10e6, 0.01
    answer = 8 * 80 / rate
    link = 0.0
    acked: list[float] = []
    found: list[Packet] = []
    back = 2 * (delay + answer)

    def packet(
        at_s: float,
        up: bool,
        seq: int,
        ack: int,
        payload: int,
        stamps: tuple[int, int],
        flags: int = ACK,
    ) -> None:
        ends = (CLIENT, SERVER) if up else (SERVER, CLIENT)
        options = struct.pack(">HBBII", 0x0101, 8, 10, *stamps) if stamped else b""
        found.append(Packet(round(at_s * 1e9), *ends, seq, ack, flags, payload, options))

    there = 0.0 if at_sender else delay
    packet(there, True, 99, 0, 0, (1, 0), SYN)
    packet(there + (back if at_sender else 0), False, 499, 100, 0, (1, 1), SYN | ACK)
    packet(there + back, True, 100, 500, 0, (1, 1))
    begin = back
    for number in range(count):
        sent_s = begin if number < window else acked[number - window]
        link = max(link, sent_s) + 8 * wire / rate
        acked.append(link + 2 * delay + answer)
        echo = int(1000 * acked[number - window]) if number >= window else 1
        arrival_s = sent_s if at_sender else link + delay
        answer_s = acked[-1] if at_sender else arrival_s
        stamp = int(1000 * sent_s) + 1000
        packet(arrival_s, True, 100 + 1400 * number, 500, 1400, (stamp, echo))
        packet(answer_s, False, 500, 1500 + 1400 * number, 0, (int(1000 * acked[-1]), stamp))
    return sorted(found, key=lambda each: each.time_ns)


def test_a_capture_at_the_sender_gives_rate_and_delay(tmp_path: Path) -> None:
    file = write_pcap(tmp_path / "x.pcap", transfer())
    ((path,), whole, notes) = captures.fit([file])
    assert notes == []
    assert path.about == "10.0.1.1 to 10.1.1.1"
    # 1454 bytes in 1163.2 us; captures have whole ns
    assert path.values["rate"].value == pytest.approx(10e6, rel=1e-5)
    assert path.values["delay"].value == pytest.approx(0.01, abs=1e-6)
    assert path.values["up.loss"].value == 0
    assert path.changes == []
    assert (whole.direction, whole.size_bytes) == ("up", 2000 * 1400)
    # 2000 packets of 1163.2 us behind a handshake, less the time after the last one was sent: the
    # 20 ms and the window that is on its way
    assert whole.lasts_s == pytest.approx(2000 * 1163.2e-6, abs=0.05)


def test_a_capture_at_the_receiver_gives_the_same(tmp_path: Path) -> None:
    file = write_pcap(tmp_path / "x.pcap", transfer(at_sender=False))
    ((path,), whole, _) = captures.fit([file])
    assert path.values["rate"].value == pytest.approx(10e6, rel=1e-5)
    # clocks of 1 ms echo an acknowledgment up to 1 ms later
    assert path.values["delay"].value == pytest.approx(0.01, abs=0.6e-3)
    assert (whole.direction, whole.size_bytes) == ("up", 2000 * 1400)


def test_a_capture_without_a_transfer_is_refused(tmp_path: Path) -> None:
    datagrams = [Datagram(10**6 * n, CLIENT, SERVER) for n in range(100)]
    with pytest.raises(InputError, match="no TCP packet with data"):
        captures.fit([write_pcap(tmp_path / "udp.pcap", datagrams)])
    with pytest.raises(InputError, match="19 packets of data; 50 are needed"):
        captures.fit([write_pcap(tmp_path / "short.pcap", transfer(count=19))])
    (tmp_path / "text.pcap").write_text("no capture")
    with pytest.raises(InputError, match="not a capture"):
        captures.fit([tmp_path / "text.pcap"])


def test_two_transfers_over_one_path_are_refused(tmp_path: Path) -> None:
    one, port = transfer(), {CLIENT: (CLIENT[0], 41000), SERVER: SERVER}
    other = [replace(p, source=port[p.source], target=port[p.target]) for p in one]
    files = [write_pcap(tmp_path / f"{name}.pcap", p) for name, p in (("a", one), ("b", other))]
    with pytest.raises(InputError, match=r"a.pcap, b.pcap.*\n.*two transfers over one path"):
        captures.fit(files)


# --- what is written


def test_the_scenario_has_the_values_and_their_intervals(tmp_path: Path) -> None:
    values = {
        "rate": Estimate(20e6, 19e6, 20.5e6, "somewhere"),
        "delay": Estimate(0.0123, 0.0123, 0.0123, "somewhere"),
        "queue": Estimate(80.4, 60, None, "somewhere"),
        "down.loss": Estimate(0.005, 0.004, 0.007, "somewhere"),
    }
    change = (4.2, Estimate(5e6, 5e6, 5e6, "somewhere"))
    fit = Fit("x.pcap", [PathFit("dsl", "a to b", values, [change])], Transfer("down", 10**6, 2))
    # 1 of 20 Mbit/s, 20.4 of 80.4 packets, 0.2 of 0.5 %; at least 1 %
    assert fit.vary == ["1%", "dsl.rate=5%", "dsl.loss=40%", "dsl.queue=26%"]
    file = tmp_path / "fitted.toml"
    file.write_text(document.scenario(fit, file)[file])
    base = load_file(file, Flags()).base
    (path,) = base.paths
    assert (path.down.rate_bps, path.up.rate_bps) == (20_000_000, 20_000_000)
    assert (path.down.delay_ns, path.down.queue_packets) == (12_300_000, 80)
    assert (path.down.loss, path.up.loss) == (0.005, 0)
    assert path.down.queue_discipline == "droptail"
    assert ("dsl", "rate", 0.05) in base.vary
    assert base.events[0].at_ns == 4_200_000_000
    assert base.events[0].down.rate_bps == 5_000_000
    assert base.workload.direction == "down"
    assert base.workload.size_bytes == 10**6


def test_many_changes_become_a_trace(tmp_path: Path) -> None:
    values = {key: Estimate(v, v, v, "") for key, v in (("rate", 10e6), ("delay", 0.01))}
    changes = [(float(at), Estimate(at * 1e6, 0, 0, "")) for at in range(1, 6)]
    fit = Fit("x", [PathFit("lte", "", values, changes)], Transfer("down", 10**6, 9))
    for file, text in document.scenario(fit, tmp_path / "fitted.toml").items():
        file.write_text(text)
    base = load_file(tmp_path / "fitted.toml", Flags()).base
    assert base.events == ()
    steps = [(at_ns // 10**9, rate_bps) for at_ns, rate_bps, *_ in base.paths[0].down.steps]
    assert base.paths[0].down.rate_bps == 10_000_000
    assert steps == [(at, at * 10**6) for at in range(1, 6)]
    assert base.paths[0].up.steps == ()


# --- speed tests and ping

#: What ping -D printed in the lab on a path of 20 ms with a jitter of 2 ms, with other times.
PING = """\
PING server (10.1.1.1) 56(84) bytes of data.
[1000000001.250778] 64 bytes from server (10.1.1.1): icmp_seq=1 ttl=63 time=40.0 ms
[1000000001.452210] 64 bytes from server (10.1.1.1): icmp_seq=2 ttl=63 time=41.2 ms
[1000000001.651508] 64 bytes from server (10.1.1.1): icmp_seq=3 ttl=63 time=38.8 ms
[1000000001.853810] 64 bytes from server (10.1.1.1): icmp_seq=5 ttl=63 time=43.5 ms
64 bytes from server (10.1.1.1): icmp_seq=6 ttl=63 time=36.5 ms

--- server ping statistics ---
6 packets transmitted, 5 received, 16.6667% packet loss, time 1006ms
rtt min/avg/max/mdev = 36.500/40.000/43.500/2.332 ms
"""


def iperf(reverse: int, *rates_bps: float) -> str:
    """As iperf3 --json prints it, as far as fit reads it."""
    total = {"bits_per_second": sum(rates_bps) / len(rates_bps)}
    test = {"protocol": "TCP", "reverse": reverse}
    seconds = [{"sum": {"bits_per_second": rate, "omitted": False}} for rate in rates_bps]
    end = {"streams": [], "sum_received": total}
    return json.dumps({"start": {"test_start": test}, "intervals": seconds, "end": end})


def test_speed_tests_and_pings_give_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ping.txt").write_text(PING)
    Path("busy.txt").write_text(PING.replace("time=36.5", "time=70.0"))
    Path("up.json").write_text(iperf(0, 24e6, 14.48e6, 14.48e6))
    found = speed_tests.path("dsl:up.json,ping.txt,loaded=busy.txt").values
    # 1448 bytes of data are 1514 on the link; the median of the seconds
    assert found["rate"].value == pytest.approx(15.14e6)
    assert (found["delay"].value, found["delay"].low) == pytest.approx((0.02, 0.01825))
    # the quartiles are 38.8 and 41.2 ms
    assert found["jitter"].value == pytest.approx(2.4e-3 / (4 - 8**0.5))
    # five of six round trips: each direction passes the root of them
    assert found["loss"].value == pytest.approx(1 - (5 / 6) ** 0.5)
    # 70 ms are 30 above the idle ones, of 37.5 packets of 0.8 ms; 95 % of the way from the fourth
    # to the fifth answer are 80 %
    assert found["queue"].high == pytest.approx(37.5)
    assert found["queue"].value == pytest.approx((3.5 + 0.8 * 26.5) / 0.8)
    both = speed_tests.path("dsl:12mbit,14mbit,ping.txt").values
    assert both["rate"].value == pytest.approx(13e6 * 1514 / 1448)
    assert "queue" not in both


def test_rates_of_both_directions_stay_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ping.txt").write_text(PING)
    Path("up.json").write_text(iperf(0, 1.448e6))
    Path("down.json").write_text(iperf(1, 14.48e6))
    found = speed_tests.path("dsl:up.json,down.json,ping.txt").values
    assert found["rate"].value == pytest.approx(15.14e6)
    assert found["up.rate"].value == pytest.approx(1.514e6)
    assert found["up.rate"].high is None
    file = tmp_path / "fitted.toml"
    file.write_text(document.scenario(Fit("tests", [PathFit("dsl", "", found)]), file)[file])
    (path,) = load_file(file, Flags()).base.paths
    assert (path.up.rate_bps, path.down.rate_bps) == (1_514_000, 15_140_000)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("12mbit", "no delay"),
        ("ping.txt", "no rate"),
        ("12mbit,dead.txt", "no ping was answered"),
        ("12mbit,missing.txt", "there is no such file"),
        ("12mbit,text.txt", "neither JSON nor the output of ping"),
        ("12mbps,ping.txt", "unknown unit 'mbps'"),
    ],
)
def test_a_path_that_is_not_measured_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, items: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ping.txt").write_text(PING)
    Path("dead.txt").write_text("4 packets transmitted, 0 received, 100% packet loss, time 3004ms")
    Path("text.txt").write_text("no ping")
    with pytest.raises(InputError, match=message):
        speed_tests.path(f"dsl:{items}")


# --- logs of ss

#: What ss -tin printed in the lab, of two subflows and of a control connection of iperf3; numbers
#: that change are in braces.
SS = """\
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      136704      10.0.1.1:47896     10.1.1.1:5201
\t cubic wscale:7,7 rto:224 rtt:{rtt}/0.134 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:96 \
ssthresh:90 bytes_sent:{sent} bytes_retrans:{retrans} bytes_acked:{acked} segs_out:1474 \
segs_in:1200 data_segs_out:1471 send 47528165bps lastrcv:420 pacing_rate 57033488bps \
delivery_rate {rate}bps delivered:1371 busy:416ms unacked:96 retrans:0/5 rcv_space:14480 \
rcv_ssthresh:64088 minrtt:20.066 snd_wnd:3145728 tcp-ulp-mptcp flags:Mmec \
token:0000(id:0)/bf0df2eb(id:0) seq:e95c133efb2d0767 sfseq:1 ssnoff:3ce27da7 maplen:0
ESTAB 0      56960       10.0.2.1:52827     10.1.2.1:5201
\t cubic wscale:7,7 rto:288 rtt:80.092/1.866 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:40 \
bytes_sent:{sent} bytes_acked:{acked} segs_out:72 segs_in:32 data_segs_out:70 send 5465956bps \
lastsnd:64 lastrcv:316 lastack:64 pacing_rate 10931840bps delivery_rate 14480Kbps delivered:31 \
busy:236ms unacked:40 rcv_space:14480 rcv_ssthresh:64088 minrtt:80.092 snd_wnd:2366512 \
tcp-ulp-mptcp flags:Jjec token:f70f7f2b(id:2)/bf0df2eb(id:1) seq:e95c133efb2d0767 sfseq:0 \
ssnoff:cd394211 maplen:0
ESTAB 0      0           10.0.1.1:47888     10.1.1.1:5201
\t cubic wscale:7,7 rto:224 rtt:20.074/5.659 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 \
cwnd:10 bytes_sent:165 bytes_acked:166 bytes_received:4 segs_out:10 segs_in:8 data_segs_out:3 \
data_segs_in:4 send 5770649bps lastsnd:460 lastrcv:396 lastack:396 pacing_rate 11541080bps \
delivery_rate 1151776bps delivered:4 busy:40ms rcv_space:14480 rcv_ssthresh:64088 \
minrtt:20.066 snd_wnd:64128 tcp-ulp-mptcp flags:Mmec token:0000(id:0)/f31313fd(id:0) \
seq:862eae98f5feba96 sfseq:4 ssnoff:59eb6ac maplen:1
"""


def ss_log(*, times: bool = True, count: int = 20, iso: bool = False, lost: int = 0) -> str:
    """Outputs each half second, in which 1000 packets leave each subflow."""
    found = []
    for n in range(count):
        if times:
            at = 1_000_000_001 + n / 2
            found.append(datetime.fromtimestamp(at, UTC).isoformat() if iso else f"{at:.9f}")
        sent = 1448 * 1000 * n
        how = {"sent": sent, "acked": sent - 1448 * lost * n, "retrans": 1448 * lost * n}
        found.append(SS.format(rtt=24.066, rate=47_820_424, **how))
    return "\n".join(found)


@pytest.mark.parametrize(
    ("how", "interval_s"), [({}, None), ({"iso": True}, None), ({"times": False}, 0.5)]
)
def test_a_log_of_ss_gives_the_paths_of_the_largest_connection(
    tmp_path: Path, how: dict[str, bool], interval_s: float | None
) -> None:
    file = tmp_path / "ss.log"
    file.write_text(ss_log(lost=10, **how))
    assert socket_logs.is_log(file)
    (wifi, lte), whole, _ = socket_logs.fit(file, interval_s)
    assert (wifi.about, lte.about) == ("10.0.1.1 to 10.1.1.1", "10.0.2.1 to 10.1.2.1")
    # 1448 bytes of data are 1514 on the link
    rate_bps = 47_820_424 * 1514 / 1448
    assert wifi.values["rate"].value == pytest.approx(rate_bps)
    # nothing waits
    assert lte.values["rate"].value == pytest.approx(15.14e6)
    assert lte.values["rate"].high is None
    # less two packets of 80 bytes, as in a handshake
    assert wifi.values["delay"].value == pytest.approx((20.066e-3 - 8 * 160 / rate_bps) / 2)
    # 10 of 1000 packets are sent again, at all times alike: the queue of 4 ms was never full
    assert wifi.values["up.loss"].value == pytest.approx(0.01)
    assert wifi.values["queue"].low == pytest.approx(4e-3 * rate_bps / 8 / 1514)
    assert wifi.values["queue"].value == pytest.approx(20.066e-3 * rate_bps / 8 / 1514)
    # of both subflows, in 19 intervals
    assert whole.size_bytes == 2 * 19 * 990 * 1448
    assert whole.direction == "up"
    assert whole.lasts_s == pytest.approx(9.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ss_log(times=False), "no times: put the output of date"),
        (ss_log(count=4), "no subflow that carries data in 5 outputs"),
        ("State Recv-Q\nESTAB 0 0 10.0.1.1:22 10.1.1.1:40000\n", "no subflow"),
    ],
)
def test_a_log_without_a_transfer_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "ss.log").write_text(text)
    with pytest.raises(InputError, match=message):
        socket_logs.fit(tmp_path / "ss.log", None)
