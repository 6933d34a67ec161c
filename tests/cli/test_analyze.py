# SPDX-License-Identifier: GPL-2.0-only
"""`mptcplab analyze` as a person calls it; what it computes is tested elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.calls import mptcplab
from tests.packets import SYN, Datagram, Packet, dss, mp_capable, write_pcap, write_pcapng

ENDS = ("10.0.1.1", 40000), ("10.1.1.1", 5001)
KEYS = b"client k", b"server k"


def conversation(count: int = 20) -> list[Packet]:
    handshake = [
        Packet(0, *ENDS, 1000, 0, SYN, 0, mp_capable()),
        Packet(10, *ENDS, 1001, 1, options=mp_capable(*KEYS)),
    ]
    return handshake + [
        Packet(
            10**6 * number,
            *ENDS,
            1001 + 100 * number,
            1,
            payload=100,
            options=dss(dsn=7 + 100 * number, ssn=1 + 100 * number, length=100),
        )
        for number in range(count)
    ]


def test_a_table_is_shown(tmp_path: Path) -> None:
    done = mptcplab("analyze", write_pcapng(tmp_path / "x.pcapng", conversation()))
    assert done.stderr == ""
    assert "Connection 1: token " in done.stdout
    assert "2000 bytes in order" in done.stdout
    assert list(tmp_path.iterdir()) == [tmp_path / "x.pcapng"]


def test_json_is_one_document_and_out_holds_it_and_a_picture(tmp_path: Path) -> None:
    file = write_pcap(tmp_path / "x.pcap", conversation())
    done = mptcplab("analyze", file, "--json", "--out", tmp_path / "out")
    document = json.loads(done.stdout)
    assert document["connections"][0]["directions"][0]["delivered_bytes"] == 2000
    assert json.loads((tmp_path / "out" / "analysis.json").read_text()) == document
    assert (tmp_path / "out" / "analysis.png").read_bytes().startswith(b"\x89PNG")


def test_a_cut_file_is_shown_with_a_warning(tmp_path: Path) -> None:
    file = write_pcap(tmp_path / "x.pcap", conversation())
    file.write_bytes(file.read_bytes()[:-10])
    done = mptcplab("analyze", file)
    assert "1900 bytes in order" in done.stdout
    assert "Warning: " in done.stdout
    assert "ends early" in " ".join(done.stdout.split())


def test_a_file_counts_once(tmp_path: Path) -> None:
    file = write_pcap(tmp_path / "x.pcap", conversation())
    (tmp_path / "link.pcap").symlink_to(file)
    once = mptcplab("analyze", file, "--json")
    twice = mptcplab("analyze", tmp_path, file, "--json")
    assert twice.stderr == ""
    assert json.loads(twice.stdout)["packets"] == json.loads(once.stdout)["packets"] == 22


def test_each_run_is_analysed_on_its_own(tmp_path: Path) -> None:
    runs = [tmp_path / name for name in "ab"]
    for run in runs:
        run.mkdir()
        (run / "result.json").write_text("{}")
        write_pcap(run / "client.pcapng", conversation())
    mptcplab("analyze", runs[0])
    done = mptcplab("analyze", runs[0] / "client.pcapng", runs[1], status=2)
    assert done.stdout == ""
    assert done.stderr == (
        f"mptcplab: 1 mistake in {runs[1]}\n"
        f"  a different run from {runs[0]}; analyse each run on its own\n"
    )


@pytest.mark.parametrize("what", ["text", "empty", "directory", "missing", "plain", "none"])
def test_bad_input_is_an_error_and_leaves_nothing(tmp_path: Path, what: str) -> None:
    file = tmp_path / "x.pcap"
    if what == "text":
        file.write_text("this is no capture, but some text of a few words")
    elif what == "empty":
        file.touch()
    elif what == "directory":
        file.mkdir()
    elif what == "plain":
        write_pcap(file, [Packet(0, *ENDS, 1, 0, SYN)])
    arguments = [] if what == "none" else [file]
    done = mptcplab("analyze", *arguments, "--out", tmp_path / "out", status=2)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert what == "none" or str(file) in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_directory_stands_for_its_captures(tmp_path: Path) -> None:
    """Which can be of MPTCP and of UDP."""
    run = tmp_path / "run"
    run.mkdir()
    write_pcap(run / "client.pcap", [*conversation(), Datagram(0, ("10.0.1.1", 9), ENDS[1])])
    write_pcapng(run / "server.pcapng", conversation())
    (run / "result.json").write_text("{}")
    done = mptcplab("analyze", run, "--json")
    document = json.loads(done.stdout)
    assert document["files"] == [str(run / "client.pcap"), str(run / "server.pcapng")]
    assert len(document["connections"]) == len(document["udp"]) == 1
    done = mptcplab("analyze", tmp_path, status=2)
    assert "it has no capture, *.pcapng or *.pcap; run and exec keep captures with --pcap" in (
        " ".join(done.stderr.split())
    )


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    # a pipe, so that it waits for more when it is interrupted
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = write_pcap(tmp_path / "x.pcap", conversation()).read_bytes()
    out = tmp_path / "out"
    command = [sys.executable, "-m", "mptcplab", "analyze", str(pipe), "--out", str(out)]

    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running,
        pipe.open("wb") as to,  # waits until it is read
    ):
        to.write(content)
        to.flush()
        running.send_signal(signal.SIGINT)
        _, said = running.communicate()
    assert running.returncode == 128 + signal.SIGINT
    assert said.strip() == "mptcplab: interrupted"
    assert not out.exists()
