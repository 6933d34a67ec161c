# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab exec and mptcplab shell as a person uses them."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.calls import PROGRAM, mptcplab

PATHS = ("--path", "wifi:50mbit,10ms", "--path", "lte:20mbit,30ms")
SIZE_BYTES = 5_000_000


# A server that counts what it is sent, and one that sends it; the client has one connection.
SINK = """
import socket
listener = socket.create_server(("", 5000))
connection, _ = listener.accept()
count = 0
while got := connection.recv(1 << 16):
    count += len(got)
print(count, flush=True)
connection.close()
"""
SOURCE = f"""
import socket
connection = socket.create_connection(("server", 5000))
connection.sendall(bytes({SIZE_BYTES}))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
"""


@pytest.mark.usefixtures("lab_kernel")
def test_exec_shows_output_and_figures_and_keeps_both(tmp_path: Path) -> None:
    (tmp_path / "sink.py").write_text(SINK)
    (tmp_path / "source.py").write_text(f"{SOURCE}print('sent')\n")
    server = f"{sys.executable} sink.py"
    done = mptcplab(
        "exec", *PATHS, "--server", server, "--", sys.executable, "source.py", cwd=tmp_path
    )
    assert done.stdout == "sent\n"
    assert f"server: {SIZE_BYTES}\n" in done.stderr
    # More than wifi alone has, whose rate is 50 Mbit/s, and no more than both.
    goodput = re.search(r"^default +([0-9.]+)", done.stderr, re.MULTILINE)
    assert goodput, done.stderr
    assert 40 < float(goodput[1]) < 70
    (run,) = re.findall(r"^run: (.*)$", done.stderr, re.MULTILINE)
    assert (tmp_path / run / "client.out").read_text() == "sent\n"
    assert (tmp_path / run / "server.out").read_text() == f"{SIZE_BYTES}\n"
    assert "program --directory" in (tmp_path / run / "plan.txt").read_text()


@pytest.mark.usefixtures("lab_kernel")
def test_exec_prints_a_document_and_the_output_elsewhere(tmp_path: Path) -> None:
    script = "echo answer; echo error >&2; exit 3"
    command = ("exec", "--path", "a:10mbit,10ms", "--out", str(tmp_path), "--json")
    done = mptcplab(*command, "--", "sh", "-c", script, cwd=tmp_path, status=3)
    (entry,) = json.loads(done.stdout)["runs"]
    assert entry["client_status"] == 3
    assert entry["no_figures"] == "no program on the client had a TCP connection"
    assert "answer\n" in done.stderr
    assert "no program ran on the server; --server COMMAND starts one there" in done.stderr
    assert (tmp_path / entry["directory"] / "client.out").read_text() == "answer\n"


def test_exec_ends_with_the_programs_status_and_keeps_the_run(tmp_path: Path) -> None:
    program = ("sh", "-c", "echo out; exit 5")
    done = mptcplab("exec", *PATHS, "--", *program, cwd=tmp_path, status=5)
    assert done.stdout == "out\n"
    assert "no figures of connections: " in done.stderr
    assert done.stderr.endswith("mptcplab: sh ended with status 5\n")
    (run,) = re.findall(r"^run: (.*)$", done.stderr, re.MULTILINE)
    assert (tmp_path / run / "client.out").read_text() == "out\n"


@pytest.mark.usefixtures("lab_kernel")
def test_exec_tells_of_a_program_that_does_not_end(tmp_path: Path) -> None:
    arguments = ("--time-limit", "3s", "--", "sh", "-c", "echo begun; sleep 10000")
    done = mptcplab("exec", *PATHS, *arguments, cwd=tmp_path, status=1)
    assert done.stdout == "begun\n"
    assert "sh, the client's program, is still running after 3 s of simulated time" in done.stderr
    assert list((tmp_path / "mptcplab-out" / "runs").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--", "no-such-program"), 127, "mptcplab: no-such-program: not in PATH, nor in /usr"),
        (("--", "./file"), 126, "mptcplab: ./file exists, but cannot be executed"),
        (("--server", "nope -x", "--", "true"), 127, "mptcplab: nope: not in PATH, nor in /usr"),
        (("--server", "'", "--", "true"), 2, "1 mistake in --server\n"),
        (("--time-limit", "1", "--", "true"), 2, "1 mistake in --time-limit\n"),
        (
            ("--disk-limit", "1gbit", "--", "true"),
            2,
            "'--disk-limit': '1gbit': unknown unit 'gbit'",
        ),
        (("--disk-limit", "0", "--", "true"), 2, "'--disk-limit': '0': at least 1B is expected"),
        ((), 2, "no command; it goes after --"),
        (("--path", "a:x", "--", "true"), 2, "mptcplab: "),
        (("none.toml", "--", "true"), 2, "there is no such file"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_starts(
    tmp_path: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    (tmp_path / "file").write_text("")
    done = mptcplab("exec", *PATHS, *arguments, cwd=tmp_path, status=status)
    assert done.stdout == ""
    assert said in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.usefixtures("lab_kernel")
def test_exec_ends_when_nobody_reads(tmp_path: Path) -> None:
    script = "while :; do echo line; sleep 0.001; done"
    process = subprocess.Popen(
        [*PROGRAM, "exec", *PATHS, "--", "sh", "-c", script], stdout=subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdout
    assert process.stdout.readline() == b"line\n"
    process.stdout.close()
    assert process.wait() == 1


@pytest.mark.usefixtures("lab_kernel")
def test_exec_can_be_interrupted(tmp_path: Path) -> None:
    script = "while :; do echo line; sleep 0.001; done"
    command = [*PROGRAM, "exec", *PATHS, "--time-limit", "80000s", "--", "sh", "-c", script]
    with (tmp_path / "out").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, cwd=tmp_path)
    while not (tmp_path / "out").stat().st_size:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 128 + signal.SIGINT
    assert b"mptcplab: interrupted" in said
    assert list((tmp_path / "mptcplab-out" / "runs").iterdir()) == []


@pytest.mark.usefixtures("lab_kernel")
def test_a_script_in_the_shell(tmp_path: Path) -> None:
    script = "hostname; router1 tc qdisc show dev rs1; server ss -Htln; cd /; pwd; exit 3\n"
    server = f"{sys.executable} -m http.server 8080"
    done = mptcplab("shell", *PATHS, "--server", server, cwd=tmp_path, text=script, status=3)
    lines = done.stdout.splitlines()
    assert lines[0] == "client"
    assert "netem" in lines[1]
    assert "rate 50Mbit" in lines[1]
    assert "*:8080" in lines[2] or "0.0.0.0:8080" in lines[2]
    assert lines[3:] == ["/"]
    assert list(tmp_path.iterdir()) == []


#: Many times what a busy machine takes for what is waited for.
LONGEST_S = 120


class Terminal:
    """A terminal on which somebody types."""

    def __init__(self, side: int, process: subprocess.Popen[bytes]) -> None:
        self._side, self._process = side, process
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._side, text.encode())

    def wait_for(self, pattern: str) -> re.Match[str]:
        """What is shown from here on up to the pattern; fails when the program ends before.

        It also fails if nothing is shown for so long that nothing will be.
        """
        shown = ""
        while not (found := re.search(pattern, shown)):
            if not select.select([self._side], [], [], LONGEST_S)[0]:
                self._process.kill()
                pytest.fail(f"it waits, having shown {shown!r}")
            try:
                shown += os.read(self._side, 4096).decode()
            except OSError:  # the other side is closed
                pytest.fail(f"it ended, having shown {shown!r}")
        self.shown += shown
        return found

    def end(self) -> int:
        return self._process.wait()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Start mptcplab on a terminal of 30 rows and 100 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    before = termios.tcgetattr(theirs)

    def start(*arguments: str) -> Terminal:
        process = subprocess.Popen(
            [*PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path
        )
        return Terminal(ours, process)

    yield start
    after = termios.tcgetattr(theirs)
    os.close(ours)
    os.close(theirs)
    assert after == before


@contextmanager
def typed_shell(start: Callable[..., Terminal], status: int) -> Iterator[Terminal]:
    shell = start("shell", *PATHS)
    shell.wait_for("Paths, as their routers shape them:")
    shell.wait_for(r"client:\S+# ")
    yield shell
    assert shell.end() == status


@pytest.mark.usefixtures("lab_kernel")
def test_a_shell_on_a_terminal(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    with typed_shell(terminal, 7) as shell:
        shell.type("tty; stty size\n")
        shell.wait_for(r"/dev/tty1\r\n30 100\r\n")
        shell.type("ping -c 1 server\n")
        # in real time: a round trip of 20 ms, and the same for ARP ahead of it
        reply = shell.wait_for(r"time=([0-9.]+) ms")
        assert float(reply[1]) >= 20
        shell.wait_for("# ")
        # not before it runs: the shell would take it for input
        shell.type("sh -c 'echo begun; exec sleep 1000'\n")
        shell.wait_for(r"[\r\n]begun")
        shell.type("\x03")
        shell.wait_for("# ")
        shell.type("server bash\n")
        shell.wait_for("server:")
        shell.type("exit\n")
        shell.wait_for("client:")
        shell.type("exit 7\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("lab_kernel")
def test_a_shell_that_is_killed_restores_the_terminal(terminal: Callable[..., Terminal]) -> None:
    with typed_shell(terminal, 128 + signal.SIGTERM) as shell:
        shell._process.send_signal(signal.SIGTERM)
