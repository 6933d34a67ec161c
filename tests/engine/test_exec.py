# SPDX-License-Identifier: GPL-2.0-only
"""Programs of the host, in runs of the real kernel."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest

from mptcplab.errors import RunError
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import RunOutcome
from mptcplab.metrics import run_files
from tests.vocabulary import PROGRAM_PATHS, RunProgram, output, received_bytes, shell

#: No goodput over the faster of the paths alone is higher than its rate.
WIFI_BPS = 50e6
SIZE_BYTES = 20_000_000
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A file that nginx serves with the configuration beside it."""
    file = tmp_path / "file"
    file.write_bytes(random.Random(1).randbytes(SIZE_BYTES))
    (tmp_path / "nginx.conf").write_text(
        "daemon off; user root; pid /run/nginx.pid; error_log /dev/stderr; events {}\n"
        "http { access_log off; server { listen 8080; root " + str(tmp_path) + "; } }\n"
    )
    return file


def nginx(file: Path) -> list[str]:
    return ["nginx", "-c", str(file.with_name("nginx.conf"))]


def seconds(outcome: RunOutcome) -> float:
    """From the start of the client's program to its end."""
    return float(outcome.guest["complete_ns"] - outcome.guest["start_ns"]) / 1e9


FETCH = "curl -sS http://server:8080/file | sha256sum"


def test_curl_fetches_from_nginx_over_both_paths(run_program: RunProgram, served: Path) -> None:
    run = run_program(shell(FETCH), nginx(served))
    assert output(run) == hashlib.sha256(served.read_bytes()).hexdigest() + "  -\n"
    # Over wifi alone it would take no less than 20 MB x 8 / 50 Mbit/s = 3.2 s.
    assert seconds(run) < 8 * SIZE_BYTES / WIFI_BPS
    arrived = received_bytes(run, run_files.CLIENT_SAMPLES)
    assert len(arrived) == 2
    # What wifi cannot have carried in that time has come over lte.
    assert arrived[1] > SIZE_BYTES - seconds(run) * WIFI_BPS / 8
    assert sum(arrived) >= SIZE_BYTES


def test_plain_tcp_is_left_plain(run_program: RunProgram, served: Path) -> None:
    script = f"{FETCH}; nstat -az MPTcpExtMPCapableSYNTX | tail -1"
    run = run_program(shell(script), nginx(served), paths=PROGRAM_PATHS[:1], transport="tcp")
    digest, syns = output(run).splitlines()
    assert digest == hashlib.sha256(served.read_bytes()).hexdigest() + "  -"
    assert syns.split() == ["MPTcpExtMPCapableSYNTX", "0", "0.0"]
    # headers take at least 66 of 1514 bytes, and a round trip is 20 ms
    assert seconds(run) > 8 * SIZE_BYTES / WIFI_BPS / (1448 / 1514)
    assert received_bytes(run, run_files.CLIENT_SAMPLES)[0] >= SIZE_BYTES


@pytest.mark.parametrize("direction", ["up", "down"])
def test_iperf3_gets_more_than_the_faster_path_has(run_program: RunProgram, direction: str) -> None:
    reverse = ["-R"] if direction == "down" else []
    run = run_program(["iperf3", "-J", "-c", "server", "-t", "5", *reverse], ["iperf3", "-s"])
    end = json.loads(output(run))["end"]
    # and no more than both carry
    assert WIFI_BPS < end["sum_received"]["bits_per_second"] < 70e6


def test_the_same_programs_give_the_same_records(run_program: RunProgram, served: Path) -> None:
    names = (
        *(run_files.CLIENT_SAMPLES, run_files.SERVER_SAMPLES),
        *(run_files.CLIENT_OUTPUT, run_files.CLIENT_ERRORS),
        *(run_files.SERVER_OUTPUT, run_files.SERVER_ERRORS, run_files.GUEST_OUTCOME),
    )
    commands: list[tuple[list[str], list[str]]] = [
        (shell(FETCH), nginx(served)),
        (["iperf3", "-c", "server", "-t", "2"], ["iperf3", "-s"]),
    ]
    for client, server in commands:
        one, other = (run_program(client, server).directory for _ in range(2))
        assert (one / run_files.CLIENT_SAMPLES).stat().st_size > 10_000
        for name in names:
            assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_a_server_that_becomes_a_daemon_is_waited_for_and_ended(
    run_program: RunProgram, served: Path
) -> None:
    conf = served.with_name("nginx.conf")
    conf.write_text(conf.read_text().removeprefix("daemon off;"))
    run = run_program(shell(FETCH), nginx(served))
    assert output(run) == hashlib.sha256(served.read_bytes()).hexdigest() + "  -\n"


def test_output_and_status_are_the_programs(run_program: RunProgram) -> None:
    run = run_program(shell("echo out; echo err >&2; exit 3"))
    assert run.guest["client_status"] == 3
    assert output(run) == "out\n"
    assert output(run, run_files.CLIENT_ERRORS) == "err\n"
    assert run_program(shell("kill -TERM $$")).guest["client_status"] == 128 + 15


def test_words_arrive_as_they_are(run_program: RunProgram) -> None:
    words = ["", " ", "a b", "it's", '"', "$x", "\\", "a\nb\tc\r\x01", "é", "# no", "--", "*"]
    run = run_program(["printf", "%s\\0", *words])
    assert output(run).split("\0") == [*words, ""]


def test_programs_find_a_host_each_and_the_host_s_files(
    run_program: RunProgram, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("content\n")
    script = "hostname; server hostname -I; router2 ip netns identify; cat mine; echo $HOME; ls ~"
    run = run_program(shell(script))
    assert output(run).split() == [
        "client",
        "10.1.1.1",
        "10.1.2.1",
        "router2",
        "content",
        "/run/home",
    ]


def test_nothing_that_is_written_reaches_the_host(run_program: RunProgram, tmp_path: Path) -> None:
    target = tmp_path / "host"
    target.mkdir()
    (target / "file").write_text("as it was\n")
    # util-linux 2.39 and newer have calls of their own for mounts, which take no path as an option
    script = f"""
    export LIBMOUNT_FORCE_MOUNT2=always
    cd {target}; echo changed > file; touch new; cat file; cd /
    mkdir /tmp/again /tmp/bound /tmp/own
    mount -t hostfs none /tmp/again -o {target} && cd /tmp/again && cat file
    touch new; mount -o remount,rw /tmp/again; touch new; echo changed > file; chmod 0 file
    mount --bind /tmp/again /tmp/bound; mount -o remount,bind,rw /tmp/bound; touch /tmp/bound/new
    mount -t hostfs none /tmp/own -o /proc/self/cwd && ls /tmp/own/plan.txt; touch /tmp/own/new
    mount -o remount,rw /tmp/own; touch /tmp/own/new; ln -s {target} /tmp/own/link
    umount /tmp/own; mount -t hostfs none /tmp/own -o //proc/self/cwd; touch /tmp/own/new
    """
    run = run_program(shell(script))
    assert output(run).splitlines() == ["changed", "as it was", "/tmp/own/plan.txt"]
    refused = output(run, run_files.CLIENT_ERRORS).count("Read-only file system")
    assert refused + output(run, run_files.CLIENT_ERRORS).count("is write-protected") == 11
    assert sorted(file.name for file in target.iterdir()) == ["file"]
    assert (target / "file").read_text() == "as it was\n"
    assert not {"new", "link"} & {file.name for file in run.directory.iterdir()}


def test_a_program_that_never_ends_is_ended_in_virtual_time(run_program: RunProgram) -> None:
    with pytest.raises(
        RunError, match=r"sleep, the client's program, is still running after 2 s of simulated time"
    ):
        run_program(["sleep", "10000"], time_limit_s=2)


def test_a_program_that_spins_is_named(run_program: RunProgram) -> None:
    with pytest.raises(RunError, match="kept a CPU busy in the program sh"):
        run_program(shell("while :; do :; done"), limits=Limits(stall_cpu_s=1))


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (
            ["false"],
            "false, the server's program, ended with status 1 before it listened on a TCP or UDP "
            "port",
        ),
        (
            ["true"],
            "true, the server's program, ended with status 0 before it listened on a TCP or UDP "
            "port",
        ),
        (
            ["sleep", "1000"],
            "sleep, the server's program, did not listen on a TCP or UDP port in 60 s of "
            "simulated time",
        ),
    ],
)
def test_a_server_that_does_not_listen(
    run_program: RunProgram, server: list[str], reason: str
) -> None:
    with pytest.raises(RunError, match=reason):
        run_program(["true"], server)


def test_a_program_that_the_kernel_cannot_run(run_program: RunProgram, tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text("#!/no/interpreter\n")
    file.chmod(0o755)
    with pytest.raises(RunError, match="script: No such file or directory"):
        run_program([str(file)])


def test_a_program_that_writes_without_end_is_stopped(run_program: RunProgram) -> None:
    run = run_program(["dd", "if=/dev/zero", "bs=64M", "count=100", "of=/dev/stdout"])
    assert run.guest["client_status"] == 128 + 25  # SIGXFSZ
    file = run.directory / run_files.CLIENT_OUTPUT
    assert file.stat().st_size <= 1 << 30
    file.unlink()


def test_tools_that_look_at_the_network_work(run_program: RunProgram, served: Path) -> None:
    script = """
    ip mptcp monitor > events & sleep 0.1
    tcpdump -i c1 -c 3 -w packets tcp 2>/dev/null & tcpdump=$!
    sleep 0.1; curl -sS -o got http://server:8080/file & sleep 1
    echo "tcpdump $(wait $tcpdump; tcpdump -r packets 2>/dev/null | wc -l)"
    echo "connections $(ss -HM state established | wc -l)"
    echo "subflows $(ss -Htn state established | wc -l)"
    nstat -az MPTcpExtMPJoinSynTx | tail -1
    router2 tc -s qdisc show dev rc2 | grep -c 'netem.*rate 20Mbit'
    ping -c 2 server | grep -c time=
    wait %3; cmp got file && echo got
    grep -o SF_ESTABLISHED events
    """
    run = run_program(["bash"], nginx(served), script=script)
    assert output(run).splitlines() == [
        *("tcpdump 3", "connections 1", "subflows 2"),
        *("MPTcpExtMPJoinSynTx             1                  0.0", "1", "2"),
        *("got", "SF_ESTABLISHED"),
    ]


@pytest.mark.parametrize("way", ["times", "coarse", "clock", "getrusage"])
def test_a_program_that_waits_for_the_time_of_a_tick_comes_to_an_end(
    run_program: RunProgram, way: str
) -> None:
    outcome = run_program([f"{PROGRAMS}/spins.c", way], limits=Limits(stall_cpu_s=5))
    # of two readings of the clock the second costs 256 ns, ten of the other time nothing
    assert output(outcome) == "256 ns\nmoved\n"


def test_vector_registers_survive_all_that_stops_a_process(run_program: RunProgram) -> None:
    assert output(run_program([f"{PROGRAMS}/registers.c"])) == "kept\n"
