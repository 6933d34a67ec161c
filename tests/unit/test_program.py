# SPDX-License-Identifier: GPL-2.0-only
"""Programs of the host: how they are found, quoted in the plan, and shown."""

from __future__ import annotations

import errno
import io
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mptcplab.errors import InputError
from mptcplab.lab.engine import RunOutcome
from mptcplab.metrics import run_files
from mptcplab.metrics.compute import RunMetrics
from mptcplab.metrics.definitions import RunFigures
from mptcplab.plan import plan
from mptcplab.runs import program, tasks
from mptcplab.runs.program import CommandError, Outputs
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.workload import Program
from tests.unit import synthetic

PATHS = ("wifi:50mbit,10ms", "lte:20mbit,40ms,queue=200,loss=0.1%")
WORD = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


PROGRAM = Program(client=("/bin/true",), directory="/", time_limit_ns=None)


def scenario_with(wanted: Program, seed: str = "1") -> Scenario:
    return from_flags(Flags(path=PATHS, program=wanted, seed=seed)).base


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the working directory, and in PATH."""
    file = tmp_path / "tool"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    return file


def test_a_program_is_found_as_a_shell_finds_it(tool: Path) -> None:
    assert program.find(["tool", "-x", ""]) == (str(tool), "-x", "")
    assert program.find(["./tool"]) == (str(tool),)
    assert program.split("tool 'a b'", "--server") == (str(tool), "a b")
    assert program.split("", "--server") == ()


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("toool", 127, "toool: not in PATH, nor in /usr/local/sbin:/usr/sbin:/sbin"),
        ("./toool", 127, "./toool: there is no such file"),
        ("./text", 126, "./text exists, but cannot be executed"),
        ("", 127, ": not in PATH, nor in /usr/local/sbin:/usr/sbin:/sbin"),
    ],
)
def test_a_program_that_is_not_there(tool: Path, name: str, status: int, message: str) -> None:
    tool.with_name("text").write_text("")
    with pytest.raises(CommandError) as caught:
        program.find([name])
    assert (caught.value.exit_status, str(caught.value)) == (status, message)


@pytest.mark.usefixtures("tool")
def test_a_command_must_be_text_in_whole_quotes() -> None:
    with pytest.raises(InputError, match=r"no closing quotation; accepted is a command"):
        program.split("tool 'a", "--server")
    with pytest.raises(InputError, match=r"'\\udcff': not UTF-8 text"):
        program.find(["tool", "\udcff"])


@pytest.mark.parametrize("where", ["/proc", "/dev/shm"])
def test_programs_do_not_start_where_the_host_is_not_seen(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(where)
    with pytest.raises(InputError, match=f"{where}: programs have a .* of their own"):
        program.directory()


@pytest.mark.parametrize(("text", "ns"), [(None, 600 * 10**9), ("30s", 30 * 10**9)])
def test_a_time_limit(text: str | None, ns: int) -> None:
    assert program.time_limit_ns(text) == ns


@pytest.mark.parametrize("text", ["", "0s", "10", "soon", "90000s", "1us"])
def test_a_time_limit_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match=r"a time of 1ms to 86400s is expected, e\.g\. 600s"):
        program.time_limit_ns(text)


@given(st.lists(WORD, max_size=5))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_bash_reads_quoted_words_as_they_were(words: list[str]) -> None:
    line = " ".join(map(plan.quoted, words))
    assert "\n" not in line
    script = f"printf '%s\\0' x {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().split("\0") == ["x", *words, ""]


def test_the_plan_has_programs_instead_of_traffic() -> None:
    wanted = Program(
        client=("/usr/bin/curl", "-H", "A: it's", "http://server/"),
        server=("/usr/sbin/nginx", "-g", "daemon off;"),
        directory="/home/me/a b",
        time_limit_ns=10**9,
    )
    lines = plan.render(scenario_with(wanted, seed="3")).splitlines()
    assert lines[-2:] == [
        "ip netns exec server program --directory '/home/me/a b' -- "
        "/usr/sbin/nginx -g 'daemon off;'",
        "ip netns exec client program --directory '/home/me/a b' --host client=10.0.1.1"
        " --host server=10.1.1.1 --transport mptcp --seed 3 --sample-interval-ns 10000000"
        " --time-limit-ns 1000000000 -- "
        "/usr/bin/curl -H $'A: it\\'s' http://server/",
    ]
    assert lines[-3] == "# programs: the server's, and when it listens the client's"
    assert " traffic " not in "\n".join(lines)
    settings = [line.split(" sysctl -qw ") for line in lines if " exec " in line]
    settings = [each for each in settings if len(each) == 2 and "router" not in each[0]]
    assert [place.split()[-1] for place, _ in settings] == ["client", "server"]
    for _, of_end in settings:
        assert of_end.startswith(
            "net.mptcp.enabled=1 net.mptcp.mptcpize=1 net.mptcp.scheduler=default"
            " net.mptcp.add_addr_timeout=1 "
        )
    assert {"ip -n client link set lo up", "ip -n server link set lo up"} <= set(lines)
    offloads = "tso off gso off gro off tx-udp-segmentation off"
    assert f"ip netns exec client ethtool -K c1 {offloads}" in lines


@pytest.mark.parametrize(
    ("changed", "given"),
    [
        ({"time_limit_ns": 5}, "--sample-interval-ns 10000000 --time-limit-ns 5"),
        ({"records": False}, "--sample-interval-ns 0"),
        ({"input": "file"}, "--sample-interval-ns 10000000 --input file"),
        ({"input": "terminal", "term": "a b"}, (
            "--sample-interval-ns 10000000 --input terminal --term 'a b'"
        )),
    ],
)  # fmt: skip
def test_the_guest_is_reported_what_a_program_is_given(changed: dict[str, Any], given: str) -> None:
    scenario = scenario_with(PROGRAM.model_copy(update=changed))
    hosts = "--host client=10.0.1.1 --host server=10.1.1.1"
    line = f"ip netns exec client program --directory / {hosts} --transport mptcp --seed 1 {given}"
    assert plan.render(scenario).endswith(f"\n{line} -- /bin/true\n")
    # there is no server's
    assert "exec server program" not in plan.render(scenario)
    traced = scenario.model_copy(update={"trace": True})
    assert plan.render(traced).endswith(f"\n{line} --trace 1 -- /bin/true\n")


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("az_AZ09%+,./:=@^-", "az_AZ09%+,./:=@^-"),
        ("", "''"),
        ("a b", "'a b'"),
        ('$x;"\\', "'$x;\"\\'"),
        ("\u00e9", "'\u00e9'"),  # a letter, but not of every shell
        # bash(1), QUOTING: words of the form $'string'
        ("it's", r"$'it\'s'"),
        ("\n\t\r\\ ", r"$'\n\t\r\\ '"),
        ("\x01\x1f\u00e9", "$'\\x01\\x1f\u00e9'"),
    ],
)
def test_words_are_quoted_if_they_have_to_be(word: str, quoted: str) -> None:
    assert plan.quoted(word) == quoted


def test_plain_tcp_is_not_made_mptcp() -> None:
    flags = Flags(path=PATHS[:1], program=PROGRAM, transport="tcp")
    assert "mptcp" not in plan.render(from_flags(flags).base).replace("--transport", "")


def test_events_may_come_until_the_longest_run_ends() -> None:
    flags = Flags(path=PATHS, program=PROGRAM, event=("100s:lte:down",))
    assert "at 100s tc " in plan.render(from_flags(flags).base)


def test_output_is_shown_as_it_comes(tmp_path: Path) -> None:
    output, errors = io.BytesIO(), io.BytesIO()
    outputs = Outputs(output, errors)
    outputs.look(tmp_path)
    (tmp_path / run_files.CLIENT_OUTPUT).write_bytes(b"one\ntw")
    (tmp_path / run_files.SERVER_ERRORS).write_bytes(b"first\nsec")
    outputs.look(tmp_path)
    assert (output.getvalue(), errors.getvalue()) == (b"one\ntw", b"server: first\n")
    (tmp_path / run_files.CLIENT_OUTPUT).write_bytes(b"one\ntwo\xff")
    (tmp_path / run_files.CLIENT_ERRORS).write_bytes(b"warning\n")
    (tmp_path / run_files.SERVER_ERRORS).write_bytes(b"first\nsecond\nthird\n")
    outputs.look(tmp_path)
    outputs.look(tmp_path)
    assert output.getvalue() == b"one\ntwo\xff"
    assert errors.getvalue() == (b"server: first\nwarning\nserver: second\nserver: third\n")


def test_output_is_shown_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_PIECE_BYTES", 8)
    output, errors = io.BytesIO(), io.BytesIO()
    outputs = Outputs(output, errors)
    (tmp_path / run_files.CLIENT_OUTPUT).write_bytes(b"0123456789" * 2)
    (tmp_path / run_files.SERVER_OUTPUT).write_bytes(b"one\ntwo\nthree\n" + b"x" * 20 + b"\nend")
    outputs.look(tmp_path)
    assert output.getvalue() == b"0123456789" * 2
    # no line waits that is longer than a piece
    assert errors.getvalue() == (
        b"server: one\nserver: two\nserver: three\nserver: xxxxxxxxserver: xxxxxxxxserver: xxxx\n"
    )


@pytest.mark.parametrize("reason", [BrokenPipeError(), OSError(errno.ENOSPC, "No space left")])
def test_that_nobody_can_read_is_reported_once(reason: OSError, tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def write(self, _bytes: object) -> int:
            raise reason

    outputs = Outputs(Broken(), io.BytesIO())
    reported: list[OSError | None] = []
    outputs.on_broken = lambda: reported.append(outputs.broken)
    for text in (b"a", b"ab"):
        (tmp_path / run_files.CLIENT_OUTPUT).write_bytes(text)
        outputs.look(tmp_path)
    assert reported == [reason]


def test_records_that_make_no_sense_have_no_figures(tmp_path: Path) -> None:
    """A program that means harm may have written them, and the outcome."""
    scenario = synthetic.scenario(workload=PROGRAM)
    client, server = synthetic.run(synthetic.FAST, synthetic.SLOW)
    synthetic.write(client, tmp_path / run_files.CLIENT_SAMPLES)
    synthetic.write(server, tmp_path / run_files.SERVER_SAMPLES)
    links = synthetic.links(synthetic.FAST, synthetic.SLOW)
    (tmp_path / run_files.LINKS_SAMPLES).write_bytes(links.tobytes())
    reported = {**synthetic.guest(), "client_status": 0, "server_status": 3}

    def figures(**changed: int) -> tuple[RunMetrics | None, dict[str, Any]]:
        outcome = RunOutcome(tmp_path, reported | changed, 1.0, 1.0, 1.0, 1.0, 1.0, 1)
        return tasks._program_figures(scenario, outcome)

    assert figures()[0] is not None
    found, about = figures(start_ns=2**63)
    assert found is None
    assert about.pop("no_figures").startswith("its records contradict themselves")
    assert about == {"client_status": 0, "server_status": 3}
    # more than any document has room for
    server.connection["delivered_bytes"][-1] = 2**63
    synthetic.write(server, tmp_path / run_files.SERVER_SAMPLES)
    found, about = figures()
    assert about["no_figures"].endswith("(2 validation errors for RunFigures)")
    # what the links carried is known all the same
    assert found is not None
    assert found.metrics == RunFigures()
    assert [(link.name, link.direction) for link in found.links] == [("fast", "up"), ("slow", "up")]


def test_a_port_to_wait_for() -> None:
    for text in ("", "udp:1", "tcp:65535"):
        assert program.listen(text, "server") == text
    for text in ("udp", "udp:", "4433", "udp:0", "udp:65536", "sctp:1", "udp:1 ", "udp:-1"):
        with pytest.raises(InputError, match=r"tcp:PORT or udp:PORT is expected, e\.g\. udp:4433"):
            program.listen(text, "server")
    with pytest.raises(InputError, match="nothing listens without --server"):
        program.listen("udp:1", "")
    assert program.listen("", "") == ""
    wanted = PROGRAM.model_copy(update={"server": ("/s",), "listen": "udp:1"})
    lines = plan.render(scenario_with(wanted)).splitlines()
    assert "ip netns exec server program --directory / --listen udp:1 -- /s" in lines


def test_programs_find_the_first_path_s_addresses_by_name() -> None:
    for ip, hosts in {
        "6": "--host client=fd00::a00:101 --host server=fd00::a01:101",
        # the first one is what a program tries first
        "both": "--host client=fd00::a00:101 --host client=10.0.1.1"
        " --host server=fd00::a01:101 --host server=10.1.1.1",
    }.items():
        (scenario,) = from_flags(Flags(path=[f"a:1mbit,1ms,ip={ip}"], program=PROGRAM)).runs()
        assert hosts in plan.render(scenario).splitlines()[-1]


def mesh_of(scenario: Scenario) -> list[str]:
    title = "# from each address of the client to each of the server: by the client's path"
    _, _, mesh = plan.render(scenario).partition(f"{title}\n")
    return mesh.split("\n\n")[0].splitlines()


def test_each_address_of_the_client_reaches_each_of_the_server() -> None:
    assert mesh_of(scenario_with(PROGRAM)) == [
        "ip -n router1 route add 10.1.2.0/24 via 10.1.1.1",
        "ip -n server route add 10.0.1.0/24 via 10.1.1.254 dev s1 table 2",
        "ip -n router2 route add 10.1.1.0/24 via 10.1.2.1",
        "ip -n server route add 10.0.2.0/24 via 10.1.2.254 dev s2 table 1",
    ]


def test_addresses_reach_each_other_through_a_link_by_each_version_of_ip() -> None:
    paths = ("a:link=l,delay=1ms", "b:link=l,delay=1ms,ip=both", "c:1mbit,1ms,ip=both")
    flags = Flags(path=paths, link=("l:1mbit,1ms",), program=PROGRAM)
    found = mesh_of(from_flags(flags).base)
    # a and b share both ends of the link, which have a route to c by both versions, once each
    assert [line.removeprefix("ip -n ") for line in found if "table" not in line] == [
        "router1 route add 10.1.2.0/24 via 10.11.1.254",
        "router1 route add 10.1.3.0/24 via 10.11.1.254",
        "far1 route add 10.1.3.0/24 via 10.1.1.1",
        "near1 route add 10.1.3.0/24 via 10.2.1.254",
        "router2 route add 10.1.1.0/24 via 10.11.2.254",
        "router2 route add 10.1.3.0/24 via 10.11.2.254",
        "router2 route add fd00::a01:300/120 via fd00::a0b:2fe",
        "far1 route add fd00::a01:300/120 via fd00::a01:201",
        "near1 route add fd00::a01:300/120 via fd00::a02:1fe",
        "router3 route add 10.1.1.0/24 via 10.1.3.1",
        "router3 route add 10.1.2.0/24 via 10.1.3.1",
        "router3 route add fd00::a01:200/120 via fd00::a01:301",
    ]
    # the server answers by the router of the client's path
    assert [line for line in found if "table" in line and "::" in line] == [
        "ip -n server route add fd00::a00:200/120 via fd00::a01:2fe dev s2 table 3",
        "ip -n server route add fd00::a00:300/120 via fd00::a01:3fe dev s3 table 2",
    ]


def test_the_greeting_names_hosts_addresses_and_links() -> None:
    text = program.greeting(scenario_with(PROGRAM))
    assert "  server   s1 10.1.1.1, s2 10.1.2.1\n" in text
    assert "  router2  rc2 10.0.2.254, rs2 10.1.2.254\n" in text
    assert "  lte: to the server 20mbit, 40ms, queue 200, loss 0.1% (rs2), to the client " in text
