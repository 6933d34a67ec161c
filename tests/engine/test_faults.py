# SPDX-License-Identifier: GPL-2.0-only
"""Whatever goes wrong, a run ends, says what it was, and leaves nothing behind.

Every fault is a real one: the kernel panics, programs die, the disk is full. The guest programs
here replace the one that carries out the plan.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.errors import RunCancelledError, RunError
from mptcplab.lab import engine
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig, RunEndedError, RunKilledError, Watch
from mptcplab.plan import plan
from mptcplab.runs import store
from mptcplab.runs.runner import OutsideError, Runner
from mptcplab.scenario.model import Scenario
from tests.vocabulary import (
    RigOf,
    children_of,
    in_mount_namespace,
    kernel_processes,
    scenario_of,
    until,
)

PATHS = ("a:10mbit,10ms", "b:10mbit,10ms")
SCENARIO = scenario_of(*PATHS, duration="1s")

SLEEPS = "for (;;) { struct timespec t = { 0, 1000 }; nanosleep(&t, NULL); }"
# no fault may hang the tests, should it not be noticed
PATIENCE = Limits(wall_s=60.0)


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path: Path) -> Iterator[None]:
    """No process of a run may outlive it, but that one that was killed needs a CPU to end."""
    yield
    until(lambda: not kernel_processes(tmp_path))


#: How a run fails: of a guest with this body, or of the lab's; with another plan, if there is one.
Failure = Callable[..., RunError]


@pytest.fixture
def failure(rig: Rig, rig_of: RigOf, directory: Path) -> Failure:
    def run(
        body: str = "",
        *,
        limits: Limits = PATIENCE,
        scenario: Scenario = SCENARIO,
        text: str | None = None,
    ) -> RunError:
        used = replace(rig_of(body) if body else rig, limits=limits)
        with pytest.raises(RunError) as failed:
            engine.run(scenario, text or plan.render(scenario), used, directory, cpu=0)
        return failed.value

    return run


def test_a_kernel_that_is_killed_as_it_starts_leaves_no_process(rig: Rig, directory: Path) -> None:
    """Such as the first one, on which it tries ptrace: that is stopped, and nobody else's."""
    text = plan.render(SCENARIO)
    for number in range(20):
        place = directory / str(number)
        place.mkdir()
        run = multiprocessing.get_context("fork").Process(
            target=engine.run, args=(SCENARIO, text, rig, place)
        )
        run.start()
        assert run.pid
        while not any(children_of(kernel := each) for each in children_of(run.pid)):
            assert run.is_alive()
        time.sleep(number / 20_000)
        # what it has just made comes as far as it can
        os.kill(kernel, signal.SIGSTOP)
        time.sleep(0.01)
        # the kernel dies with it
        run.kill()
        run.join()


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("panic", "the guest's kernel panicked: asked for by mptcplab_fault"),
        ("oops", r"the guest's kernel crashed \(oops\): .* fault at addr 0x0 in fault_write"),
        ("warn", "the guest's kernel warned: .*fault_write"),
    ],
)
def test_a_fault_of_the_kernel_is_reported_as_what_it_is(
    failure: Failure, what: str, reason: str
) -> None:
    error = failure(f'fault("{what}"); reboot(RB_POWER_OFF);')
    assert re.match(reason, error.reason)
    assert "provoking a fault" in error.console_tail
    # what called it, by name
    assert re.search(r"Call Trace:\n( \[<.*\n)* \[<.*\bvfs_write\+", error.console_tail)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return 3;", "the guest's first process died"),
        ("reboot(RB_POWER_OFF);", "its process ended with status 0 and without an outcome$"),
    ],
)
def test_a_guest_that_ends_without_an_outcome_has_failed(
    failure: Failure, body: str, reason: str
) -> None:
    assert re.match(reason, failure(body).reason)


@pytest.mark.parametrize(
    ("body", "where", "backtrace"),
    [
        ("for (;;) ;", "the program init", "userspace"),
        # to read the clock moves the time, but leads nowhere
        (
            "for (;;) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); }",
            "the program init",
            "userspace",
        ),
        # it calls the one in a loop inside the other
        ('fault("spin");', "(fault_write|sysfs_streq)", "vfs_write"),
    ],
    ids=["a program", "a program that reads the clock", "the kernel"],
)
def test_virtual_time_that_stands_still_ends_the_run_and_tells_what_spins(
    failure: Failure, body: str, where: str, backtrace: str
) -> None:
    error = failure(body, limits=Limits(stall_cpu_s=1.0))
    assert re.fullmatch(
        rf"its virtual time stood still at 0\.\d+ s while it kept a CPU busy in {where}",
        error.reason,
    )
    assert f" {backtrace}+" in error.console_tail
    assert not isinstance(error, RunEndedError)


def test_the_wall_clock_limit_ends_a_run(failure: Failure) -> None:
    # its virtual time moves for ever
    error = failure(SLEEPS, limits=Limits(wall_s=1.0))
    assert error.reason == "it took more than the wall-clock limit of 1 s"
    assert isinstance(error, RunEndedError)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        # before its first packet
        (Limits(wall_s=1e-6), "more than the wall-clock limit of 1e-06 s"),
        # its samples alone: 100 a second of more than 10 bytes, at both ends
        (Limits(disk_bytes=1000), "more than the disk limit of 1KB"),
    ],
)
def test_a_limit_is_not_a_failure_of_the_scenario(
    rig: Rig, tmp_path: Path, limits: Limits, reason: str
) -> None:
    with pytest.raises(OutsideError, match=reason):
        Runner(tmp_path / "out", strict=True).run([SCENARIO], replace(rig, limits=limits))


def test_a_traffic_process_that_dies_is_reported(failure: Failure) -> None:
    # an address that nobody has: the connection cannot be made
    text = plan.render(SCENARIO).replace("--connect 10.1.1.1", "--connect 10.9.9.9")
    error = failure(text=text)
    assert error.reason.startswith("path a: ")


def test_a_wrong_plan_is_reported_with_its_line(failure: Failure) -> None:
    text = plan.render(SCENARIO).replace("netem limit", "netem limitt", 1)
    error = failure(text=text)
    number = 1 + text[: text.index("limitt")].count("\n")
    assert error.reason == (
        f"plan line {number}: tc -n router1 qdisc add dev rs1 root netem limitt 20 rate 10mbit"
        " delay 10ms: limit is expected, not limitt"
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("insmod nosuch.ko", "No such file or directory"),
        ("insmod ../x.ko", "a file of the run directory is expected"),
        # the kernel's own words after the error
        ("insmod plan.txt", "Exec format error"),
        ("ip netns exec client capture client.pcapng c1", "c1 is not known here"),
        ("ip netns exec client capture /c1", "a name without / is expected"),
        ("ip netns exec client drop c1 data", "a list of numbers is expected after it"),
        ("ip netns exec client meter server 10.1.1.1 0 100 0 x", "TO_NS ADDRESS COUNT BYTES"),
        ("ip netns exec client rm -r /", "not a command that"),
        ("rm -r /", "not a command that the guest knows"),
        ("ip route flush", "ip route flush is not known to the guest"),
        ("ip -n nosuch link set c1 up", "there is no namespace nosuch"),
        (
            "ip -n client link set c1",
            "up, down, arp, multipath, mtu, txqueuelen or gso_max_segs is expected",
        ),
        ("ip -n client link set c1 multipath no", "no is not on, off or backup"),
        ("ip -n client link set c1 up down", "down is not known"),
        ("ip -n client addr add 10.0.1/24 dev c1", "10.0.1 is not an address of IPv4 or IPv6"),
        # the kernel's own words
        ("ip -n client addr add 10.0.1.1/24 dev c1", "ipv4: Address already assigned"),
        ("ip -n client mptcp limits set subflow 99 add_addr_accepted 1", "limit greater than max"),
        ("tc -n client qdisc add dev c1 root cake", "cake is"),
        ("tc -n client qdisc add dev c1 root netem limit 9 loss 101%", "a probability is more"),
        ("tc -n client qdisc add dev c1 root netem limit 9 delay 5", "5: a number with a unit is"),
        ("tc -n client qdisc add dev c1 root pfifo limit 99999999999", "99999999999: a number up"),
        ("tc -n client qdisc change dev c1 root handle 7: pfifo limit 9", ""),
    ],
)
def test_a_line_that_cannot_be_carried_out_is_reported_with_its_number(
    failure: Failure, line: str, reason: str
) -> None:
    text = plan.render(SCENARIO).replace("# traffic", f"{line}\n# traffic")
    number = 1 + text[: text.rindex(f"{line}\n")].count("\n")
    error = failure(text=text)
    assert error.reason.startswith(f"plan line {number}: {line}: {reason}")


def test_a_quotation_without_an_end_is_reported(failure: Failure) -> None:
    text = plan.render(SCENARIO).replace("# traffic", "ip netns exec client rm 'a\n# traffic")
    assert "what is in quotes cannot be read" in failure(text=text).reason


def test_a_plan_without_traffic_ends_after_its_commands(rig: Rig, directory: Path) -> None:
    outcome = engine.run(SCENARIO, "ip netns add alone\n", rig, directory, cpu=0)
    assert outcome.guest["status"] == "ok"


def test_a_subflow_that_does_not_come_up_is_reported_with_its_path(failure: Failure) -> None:
    scenario = scenario_of("good:10mbit,10ms", "bad:10mbit,10ms,loss=99.9999999%", duration="1s")
    error = failure(scenario=scenario)
    assert error.reason.startswith("path bad: no subflow came up")


def test_a_first_path_with_a_long_round_trip_says_why_there_is_no_mptcp(failure: Failure) -> None:
    # SYNs leave at 0, 1 and 3 s: the answer to the first one comes after 3.2 s
    error = failure(scenario=scenario_of("a:10mbit,1600ms", "b:10mbit,20ms", duration="1s"))
    reason = "first two SYNs had no answer within 3 s, and Linux sends the third without MPTCP"
    assert reason in " ".join(error.reason.split())
    assert "put a path with a shorter round trip, or less loss, first" in " ".join(
        error.reason.split()
    )


def test_a_byte_that_is_wrong_fails_the_run(failure: Failure) -> None:
    # the server expects the pattern of another seed
    text = plan.render(SCENARIO).replace("--seed 1", "--seed 2", 1)
    error = failure(text=text)
    assert error.reason.startswith("server: byte ")


def killed(
    failure: Failure, body: str, directory: Path, number: signal.Signals, which: int = 0
) -> RunError:
    """How a run fails of whose processes, in the order in which they start, one gets a signal.

    An hour of virtual time takes minutes: on a busy machine, too, it is still there to be killed.
    """

    def kill_it() -> None:
        for _ in range(500):
            time.sleep(0.01)
            running = sorted(kernel_processes(directory))
            with contextlib.suppress(IndexError, ProcessLookupError):
                os.kill(running[which], number)
                return

    killer = threading.Thread(target=kill_it)
    killer.start()
    error = failure(body, scenario=scenario_of(*PATHS, duration="3600s"))
    killer.join()
    return error


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGKILL, "its process was killed by SIGKILL; the machine may be out of memory"),
        # a limit of CPU time
        (signal.SIGXCPU, "its process was killed by SIGXCPU"),
        # at which a kernel exits by itself, if it has come so far
        (signal.SIGTERM, "its process was killed by SIGTERM"),
        (signal.SIGINT, "its process was killed by (SIGTERM or )?SIGINT"),
    ],
)
def test_a_kernel_process_that_is_killed_by_somebody_else_is_reported(
    number: signal.Signals, reason: str, failure: Failure, directory: Path
) -> None:
    error = killed(failure, SLEEPS, directory, number)
    assert re.match(reason, error.reason)
    assert isinstance(error, RunKilledError)


def test_a_process_of_the_guest_that_is_killed_by_somebody_else_is_reported(
    failure: Failure, directory: Path
) -> None:
    """The third is the server: the kernel finds out at once, as it has something to do."""
    error = killed(failure, "", directory, signal.SIGKILL, 2)
    assert error.reason == "a process of its guest was killed; the machine may be out of memory"
    assert isinstance(error, RunKilledError)


@pytest.mark.parametrize(
    "body", ['fault("oops");', 'fault("panic");', "return 3;", "reboot(RB_POWER_OFF);", "abort();"]
)
def test_what_fails_by_itself_was_not_killed_by_others(body: str, failure: Failure) -> None:
    assert not isinstance(failure(body), RunKilledError)


def test_cancelling_ends_a_run_at_once(rig_of: RigOf, directory: Path) -> None:
    watch = Watch()
    watch.progress = lambda _virtual_s: watch.cancel.set()
    spins, text = rig_of("for (;;) ;"), plan.render(SCENARIO)
    with pytest.raises(RunCancelledError):
        engine.run(SCENARIO, text, spins, directory, cpu=0, watch=watch)


def test_a_run_that_fails_leaves_the_others_alone(rig: Rig, tmp_path: Path) -> None:
    good = scenario_of(*PATHS, duration="1s")
    bad = scenario_of("a:10mbit,10ms", "b:10mbit,10ms,loss=99.9999999%", duration="1s")
    entries = Runner(tmp_path / "out", 2).run([good, bad, good], rig)
    assert [entry.status for entry in entries] == ["ok", "failed", "ok"]
    assert "path b" in str(entries[1].reason)
    key = store.run_key(good, rig.kernel, rig.guest)
    assert [each.name for each in (tmp_path / "out" / "runs").iterdir()] == [key]


@pytest.mark.usefixtures("rig")
def test_a_full_disk_fails_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    """On a file system of 1 MiB, in a mount namespace of its own."""
    mount = tmp_path / "small"
    mount.mkdir()
    inside = (
        f"mount -t tmpfs -o size=1m tmpfs {mount} && "
        f"{sys.executable} -m mptcplab run --path a:100mbit,10ms --duration 60s"
        f" --out {mount}/out --json; echo status $?; find {mount}/out/runs -mindepth 1 | wc -l;"
        f" df --output=used {mount} | tail -1"
    )
    done = in_mount_namespace(inside)
    assert "status 1" in done.stdout, done
    assert "no space left" in (done.stdout + done.stderr).lower()
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("rig")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_everything_and_keeps_what_is_done(
    tmp_path: Path, number: int, status: int
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "mptcplab", "compare", "--path", "a:100mbit,10ms"]
    command += ["--path", "b:100mbit,10ms", "--duration", "10s", "--repeat", "50", "--jobs", "2"]
    process = subprocess.Popen(
        [*command, "--out", str(out)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("[1/")  # one is done, others are under way
    process.send_signal(number)
    _, rest = process.communicate()
    assert process.returncode == status
    assert "Traceback" not in rest
    done = list((out / "runs").iterdir())
    assert done
    for run in done:
        assert json.loads((run / store.RESULT).read_bytes())["status"] == "ok"


@pytest.mark.usefixtures("rig")
def test_a_killed_starter_takes_its_runs_along(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mptcplab", "run", "--path", "a:100mbit,10ms"]
    process = subprocess.Popen(
        [*command, "--duration", "3600s", "--out", str(tmp_path / "out")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: bool(kernel_processes(tmp_path)))
    process.kill()
    process.wait()
    until(lambda: not kernel_processes(tmp_path))


def test_a_guest_can_neither_write_to_the_host_nor_see_its_network(
    failure: Failure, tmp_path: Path
) -> None:
    forbidden = tmp_path / "forbidden"
    error = failure(
        f'if (open("{forbidden}", O_WRONLY | O_CREAT, 0666) < 0) perror("open");'
        'mount("proc", "/proc", "proc", 0, NULL); char text[4096];'
        'text[read(open("/proc/net/dev", O_RDONLY), text, 4095)] = 0;'
        "printf(text); fflush(stdout); reboot(RB_POWER_OFF);"
    )
    assert "open: Read-only file system" in error.console_tail
    assert not forbidden.exists()
    devices = [
        line.split(":")[0].strip() for line in error.console_tail.splitlines() if ":" in line
    ]
    assert "lo" in devices
    assert not {name for name in devices if name.startswith(("e", "w", "v", "t"))}


def test_no_run_writes_outside_its_directory(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(home))
    Runner(tmp_path / "out").run([SCENARIO], rig)
    shutil.rmtree(home / ".cache" / "mptcplab" / "cpu", ignore_errors=True)
    assert [str(f) for f in home.rglob("*") if f.is_file()] == []
