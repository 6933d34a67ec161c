# SPDX-License-Identifier: GPL-2.0-only
"""A script in a guest: the text that bash executes there, and its outcome.

Below the output directory, `runs/NAME/`: all that a script printed, and the plan.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import InputError, MptcplabError, Problem, RunError
from mptcplab.lab import engine
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs.single import own_cpu
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.scheduler import Choice, SpecError, choose, known
from mptcplab.selftests.scripts import PACKETS, Script, Tools
from mptcplab.selftests.tap import Result, parse

DEFAULT_SCHEDULER = "default"

# A script ends each of its transfers after 61 s of virtual time at most. What takes long is to
# start programs, thousands of them, which takes no virtual time at all: the clock may stand still.
_LIMITS = Limits(wall_s=3600.0, stall_cpu_s=600.0, stall_wall_s=1800.0)
_ENDED = "ended.json"
# What guest/selftests/init.c writes.
_OUTPUT = "output.txt"
# Where mptcp_lib_ns_init() in mptcp_lib.sh begins to set up a namespace of a script.
_NAMESPACE_LINE = '\t\tip netns exec "${!netns}" sysctl -q net.mptcp.enabled=1\n'
_SETTING_LINE = '\t\tip netns exec "${!netns}" sysctl -q net.mptcp.SETTING || exit 1\n'
# What a script that `settles` has for `ip`.
_SETTLING = """\
cat >>/tmp/environment <<'END'
ip()
{
	command ip "$@" || return
	case "$*" in *" link set "*" up") sleep 0.01 ;; esac
}
END"""


@dataclass(frozen=True)
class Job:
    """A script to run in a kernel, with `scheduler` in each namespace that it makes.

    `scheduler` may have parameters, as in `--scheduler`: NAME:PARAMETER=VALUE. `number` counts
    repeats of the same, from 1 on.
    """

    script: Script
    kernel: KernelBuild
    tools: Tools
    scheduler: str = DEFAULT_SCHEDULER
    number: int = 1

    @property
    def name(self) -> str:
        script = str(self.script).replace(".sh", "").replace(" ", "")
        return f"{script}-{self.scheduler}-{self.kernel.variant}-{self.kernel.id}"

    @property
    def is_upstream(self) -> bool:
        """Whether the scheduler is upstream's own: others are compared with it."""
        return not self.kernel.has_framework and self.scheduler == DEFAULT_SCHEDULER

    @property
    def title(self) -> str:
        """The script, its scheduler and its kernel in words, without the number."""
        upstream = "upstream" if self.is_upstream else f"with {self.scheduler}"
        named = f", {self.kernel.name}" if self.kernel.name else ""
        return f"{self.script} {upstream}{named}"


@dataclass(frozen=True)
class Ran:
    """A job that has ended: its output, and its duration in virtual, wall-clock and CPU seconds."""

    job: Job
    result: Result
    virtual_s: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    output: str = ""


def plan(script: Script) -> str:
    """The text that bash executes in the guest."""
    if script.name == PACKETS.name:
        return f"cd packetdrill && exec ./run.sh {script.options}.txt\n"
    in_turn = "chrt --fifo 1 " if script.in_turn else ""
    return "\n".join(
        [
            "cd mptcp || exit 1",
            "# the scripts choose links and sizes with it: the same each time",
            "echo RANDOM=1 >/tmp/environment",
            *([_SETTLING] if script.settles else []),
            "export BASH_ENV=/tmp/environment",
            "# tests that are known to fail at times count, too",
            "export SELFTESTS_MPTCP_LIB_OVERRIDE_FLAKY=1",
            f"exec {in_turn}./{script}",
            "",
        ]
    )


def run(job: Job, out: Path, *, seed: int, cancel: threading.Event) -> Ran:
    """Runs a job, or finds it done: kernel, scripts and seed decide its whole output."""
    text = plan(job.script)
    key = hashlib.sha256(f"{job.tools.id} {seed} {text}".encode()).hexdigest()[:8]
    number = f"-{job.number}" if job.number > 1 else ""
    directory = out / "runs" / f"{job.name}-{key}{number}"
    if not directory.exists():
        part = directory.with_name(f"{directory.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(job.tools.net, part)
        if job.scheduler != DEFAULT_SCHEDULER and job.script.name == PACKETS.name:
            with (part / "packetdrill" / "settings.conf").open("a") as networks:
                networks.writelines(f"net.mptcp.{each}\n" for each in settings_of(job.scheduler))
        elif job.scheduler != DEFAULT_SCHEDULER:
            choose_scheduler(part / "mptcp" / "mptcp_lib.sh", job.scheduler)
        # The engine takes the seed from a scenario; the rest of it is not used.
        scenario = from_flags(Flags(path=("a:1mbit,1ms",), seed=str(seed), seed_delay="0us")).base
        started = time.monotonic()
        try:
            with own_cpu() as cpu:
                outcome = engine.run(
                    scenario,
                    text,
                    Rig(job.kernel, job.tools.init, limits=_LIMITS),
                    part,
                    cpu=cpu,
                    watch=engine.Watch(cancel=cancel),
                    take=[_OUTPUT],
                    ipv6=True,
                )
        except RunError as error:
            # its files stay for the user; the next call runs it again
            said = parse(_output(part), -1)
            failed = Result(said.verdicts, said.remarks, f"{error}\nin {part}")
            return Ran(job, failed, wall_s=time.monotonic() - started)
        note = {
            "exit": outcome.guest["exit"],
            "virtual_s": outcome.virtual_s,
            "wall_s": outcome.wall_s,
            "cpu_s": outcome.user_s + outcome.system_s,
        }
        (part / _ENDED).write_text(json.dumps(note))
        part.rename(directory)
    note = json.loads((directory / _ENDED).read_text())
    output = _output(directory)
    result = parse(output, note["exit"])
    return Ran(job, result, note["virtual_s"], note["wall_s"], note["cpu_s"], output)


def _output(directory: Path) -> str:
    file = directory / _OUTPUT
    return file.read_text(errors="replace") if file.exists() else ""


def choose_scheduler(library: Path, scheduler: str) -> None:
    """Adds lines to mptcp_lib.sh: each namespace that a script makes gets `scheduler`."""
    text = library.read_text()
    if text.count(_NAMESPACE_LINE) != 1:
        raise MptcplabError(f"{library.name} sets up namespaces in an unexpected way")
    lines = [_SETTING_LINE.replace("SETTING", each) for each in settings_of(scheduler)]
    library.write_text(text.replace(_NAMESPACE_LINE, "".join([_NAMESPACE_LINE, *lines])))


def settings_of(scheduler: str) -> list[str]:
    """The sysctls below net.mptcp that choose a scheduler, with its parameters."""
    chosen = choice(scheduler)
    changed = [f"{chosen.name}.{each.name}={each.value}" for each in chosen.changed]
    return [f"scheduler={chosen.name}", *changed]


def choice(scheduler: str) -> Choice:
    """A scheduler of ours with its parameters. Raises InputError if there is no such."""
    try:
        chosen = choose(scheduler, known(), Path())[0]
    except SpecError as error:
        raise InputError([Problem("--scheduler", "", scheduler, str(error))]) from error
    if chosen.digest:
        message = "accepted are the kernel's own schedulers"
        raise InputError([Problem("--scheduler", "", scheduler, message)])
    return chosen


def run_all(
    jobs: Sequence[Job], out: Path, *, seed: int, at_once: int, cancel: threading.Event
) -> Iterator[Ran]:
    """Runs jobs, `at_once` of them at a time, and yields each when it has ended.

    Raises RunCancelledError after `cancel`.
    """
    (out / "runs").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(run, job, out, seed=seed, cancel=cancel) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            cancel.set()
            for future in futures:
                future.cancel()
            raise
