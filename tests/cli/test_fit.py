# SPDX-License-Identifier: GPL-2.0-only
"""`mptcplab fit` as a person calls it, on captures of the lab: what it fits behaves alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calls import mptcplab

#: 40 packets of 1514 bytes wait 16.1 ms at 30 Mbit/s, and 60 wait 60.6 ms at 12 Mbit/s: both more
#: than half of the RTT, so cubic, which keeps 70 % of its window, keeps both links busy.
PATHS = (
    *("--path", "wifi:30mbit,10ms,queue=40,queue_discipline=droptail"),
    *("--path", "lte:12mbit,25ms,queue=60,queue_discipline=droptail"),
)


def goodput_bps(out: Path) -> float:
    (file,) = out.glob("runs/*/result.json")
    found = json.loads(file.read_text())
    return float(found["metrics"]["goodput_bps"])


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_fit_to_the_client_s_capture_has_the_goodput_of_the_run(
    tmp_path: Path, direction: str
) -> None:
    how = ("--scheduler", "minrtt", "--direction", direction)
    mptcplab("run", *PATHS, *how, "--size", "25MB", "--pcap", "--out", tmp_path / "first")
    (capture,) = tmp_path.glob("first/runs/*/client.pcapng")
    file = tmp_path / "fitted.toml"
    named = ("--name", "10.0.1.1=wifi", "--name", "10.1.2.1=lte")
    done = mptcplab("fit", capture, *named, "--out", file, "--json")
    document = json.loads(done.stdout)
    wifi, lte = document["paths"]
    assert (wifi["name"], lte["name"]) == ("wifi", "lte")
    assert document["transfer"]["direction"] == direction
    # a probe of the window may add a few bytes
    assert document["transfer"]["size_bytes"] == pytest.approx(25_000_000, abs=1500)
    for path, rate_bps, delay_s, queue in ((wifi, 30e6, 0.01, 40), (lte, 12e6, 0.025, 60)):
        values = path["values"]
        # a receiver's timestamps have steps of 1 ms, in which a thousand steps of a block lose one
        assert values["rate_bps"]["value"] == pytest.approx(rate_bps, rel=1e-3)
        # each direction has up to 50 us for the hosts
        assert delay_s <= values["delay_s"]["value"] <= delay_s + 60e-6
        # the packet in transmission, and 1 ms of the timestamps: 2.5 packets of wifi
        assert values["queue_packets"]["value"] == pytest.approx(queue, abs=4)
        assert values[f"{direction}.loss"]["value"] == 0
    # both links are busy but for the start: a different seed and 1 % of variation change less
    mptcplab("run", file, "--scheduler", "minrtt", "--out", tmp_path / "again")
    first = goodput_bps(tmp_path / "first")
    assert goodput_bps(tmp_path / "again") == pytest.approx(first, rel=0.1)
    assert document["transfer"]["goodput_bps"] == pytest.approx(first, rel=0.05)


def test_the_answer_says_how_to_go_on_and_mistakes_write_nothing(tmp_path: Path) -> None:
    mptcplab(
        *("run", "--path", "a:10mbit,10ms", "--transport", "tcp", "--duration", "3s"),
        *("--pcap", "--out", tmp_path / "first"),
    )
    (capture,) = tmp_path.glob("first/runs/*/server.pcapng")
    out = tmp_path / "fitted.toml"
    for arguments, text in (
        ((), "either a FILE is needed"),
        ((capture, "--name", "10.9.9.9=x"), "of one path; the paths are 10.0.1.1"),
        ((capture, "--name", "10.0.1.1=a b"), "letters, digits"),
        ((tmp_path / "missing",), "there is no such file"),
    ):
        assert text in mptcplab("fit", *arguments, "--out", out, status=2).stderr
    assert not out.exists()
    shown = mptcplab("fit", capture, "--name", "10.0.1.1=dsl", "--out", out).stdout
    assert f"mptcplab advise {out} --uncertain 1%" in shown
    mptcplab("run", out, "--plan")


def test_a_log_of_ss_is_told_from_a_capture(tmp_path: Path) -> None:
    socket = "ESTAB 0 0 10.0.1.1:40000 10.1.1.1:5201\n"
    values = (
        "cubic rtt:25.0/1 mss:1448 delivery_rate 9.564Mbps minrtt:20.0 bytes_acked:{} bytes_sent:{}"
    )
    log = tmp_path / "ss.log"
    log.write_text("".join(f"{socket}\t{values.format(*[10**6 * n] * 2)}\n" for n in range(9)))
    out = tmp_path / "fitted.toml"
    refused = mptcplab("fit", log, "--out", out, status=2).stderr
    assert "no times" in refused
    assert "unit" in mptcplab("fit", log, "--interval", "1", "--out", out, status=2).stderr
    mptcplab("fit", log, log.parent / "other.pcap", "--interval", "1s", "--out", out, status=2)
    assert not out.exists()
    mptcplab("fit", log, "--interval", "1s", "--name", "10.0.1.1=dsl", "--out", out)
    # 9.564 Mbit/s of 1448 bytes are 10 of 1514; 8 s of a megabyte
    assert 'rate = "10mbit"' in out.read_text()
    assert "size = 8000000" in out.read_text()
    mptcplab("run", out, "--plan")


def test_speed_tests_and_ping_need_no_capture(tmp_path: Path) -> None:
    answers = "".join(f"64 bytes: icmp_seq={n} ttl=57 time=30.{n % 2} ms\n" for n in range(9))
    (tmp_path / "ping.txt").write_text(answers)
    path = ("--path", "dsl:12mbit,14mbit,ping.txt")
    done = mptcplab("fit", *path, cwd=tmp_path)
    assert "--uncertain 1%,dsl.rate=8%" in done.stdout
    plan = mptcplab(
        "run", "fitted.toml", *("--vary", "0%", "--seed-delay", "0us", "--plan"), cwd=tmp_path
    ).stdout
    # 13 Mbit/s of data, with headers, to four digits; half of 30.0 ms
    assert "rate 13590kbit delay 15ms" in plan
    for wrong in (("--path", "a b:12mbit,ping.txt"), (*path, *path), (*path, "ping.txt")):
        mptcplab("fit", *wrong, "--out", "wrong.toml", status=2, cwd=tmp_path)
    assert not (tmp_path / "wrong.toml").exists()
