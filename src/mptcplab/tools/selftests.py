# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own MPTCP selftests, in virtual time: as upstream, then with our framework.

`python -m mptcplab.tools.selftests` builds both kernels, takes the scripts from the kernel's
source, compiles their helper programs, runs every script in a guest of its own, and compares test
by test: none may pass upstream and fail with our framework, or with a scheduler of ours, unless
selftests.toml says why it cannot pass. See docs/selftests.md.

Below `cache_dir()/selftests`: `KEY/net`, the scripts with their programs; `runs/NAME/`, all that a
script printed; `results.txt`, a line for each test.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console
from rich.table import Table

from mptcplab import resources
from mptcplab.errors import MachineError, MptcplabError, RunError, status_of
from mptcplab.lab import doctor, engine, guest, kernel
from mptcplab.lab.choices import Limits
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild, compiler_version
from mptcplab.lab.kernel_make import MAKE_ENVIRONMENT
from mptcplab.spec.flags import Flags
from mptcplab.spec.resolve import from_flags
from mptcplab.spec.scheduler import Choice, SpecError, choose, known
from mptcplab.tools import selftests_expected as expected
from mptcplab.tools.command_line import parser_of
from mptcplab.tools.selftests_expected import Expectations
from mptcplab.tools.tap import Result, parse

UPSTREAM, OURS = "selftest-upstream", "selftest"
DEFAULT_SCHEDULER = "default"


@dataclass(frozen=True)
class Script:
    """A script of tools/testing/selftests/net/mptcp, or the tests of it that `options` select.

    With `in_turn` its processes run in the order in which they become ready, and until they wait.
    """

    name: str
    options: str = ""
    in_turn: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.options}".strip()


#: The longest first, so that no CPU is left alone with one at the end. The groups of mptcp_join.sh
#: are those of its own options.
SCRIPTS = (
    Script("mptcp_join.sh", "-feslt"),
    Script("mptcp_join.sh", "-ra64M"),
    Script("mptcp_join.sh", "-bpkSd"),
    Script("mptcp_join.sh", "-mzFuI"),
    Script("mptcp_connect.sh"),
    # It starts a hundred servers at once, waits until the last of them listens, and then connects
    # to all: where computing takes no time, only strict turns make the last one last.
    Script("diag.sh", in_turn=True),
    Script("pm_netlink.sh"),
    Script("simult_flows.sh"),
    Script("mptcp_sockopt.sh"),
)
#: What every scheduler of ours runs besides.
SCHEDULER_SCRIPT = Script("simult_flows.sh")

# A script ends each of its transfers after 61 s of virtual time at most. What takes long is to
# start programs, thousands of them, which takes no virtual time at all: the clock may stand still.
_LIMITS = Limits(wall_s=3600.0, stall_cpu_s=600.0, stall_wall_s=1800.0)
_SELFTESTS = "tools/testing/selftests/net"
_HELPERS = ("mptcp_connect", "mptcp_inq", "mptcp_sockopt", "pm_nl_ctl")
# What `make headers` reads.
_HEADER_SOURCES = ("Makefile", "Kbuild", "scripts", "include", "arch/x86", "usr", "tools/include")
# The programs that the scripts use, by the package that has them in Debian.
_PROGRAMS = {
    "ethtool": ("ethtool",),
    "iproute2": ("ip", "tc", "ss", "nstat"),
    "iptables": ("iptables", "ip6tables"),
    "iputils-ping": ("ping",),
    "nftables": ("nft",),
    "procps": ("ps", "sysctl"),
}
_ENDED = "ended.json"
# What guest/selftests/init.c writes.
_OUTPUT = "output.txt"
# Where mptcp_lib_ns_init() in mptcp_lib.sh begins to set up a namespace of a script.
_NAMESPACE_LINE = '\t\tip netns exec "${!netns}" sysctl -q net.mptcp.enabled=1\n'
_SETTING_LINE = '\t\tip netns exec "${!netns}" sysctl -q net.mptcp.SETTING || exit 1\n'


# --- the scripts and what they need


@dataclass(frozen=True)
class Tools:
    """The scripts with their compiled programs, in `net`, and the guest's first process."""

    id: str
    net: Path
    init: Guest


def prepare() -> Tools:
    """Takes the scripts from Debian's kernel source and compiles what they need, once.

    Their programs are compiled against the headers of the same kernel, as those of the system are
    older. Raises MachineError for what the machine lacks.
    """
    missing = [
        package
        for package, programs in _PROGRAMS.items()
        if not all(doctor.find_tool(program) for program in programs)
    ]
    if missing:
        packages = " ".join(missing)
        raise MachineError(
            f"the selftests use programs of {packages}", f"apt-get install {packages}"
        )
    doctor.require("kernel source", *doctor.BUILD_CHECKS)
    archive = doctor.DEBIAN_SOURCE.stat()
    inputs = f"{archive.st_size} {archive.st_mtime_ns} {compiler_version()}"
    key = hashlib.sha256(inputs.encode()).hexdigest()[:12]
    directory = _cache() / key
    if not directory.exists():
        part = _cache() / f"{key}.part"
        shutil.rmtree(part, ignore_errors=True)
        source, target = part / "source", part / "result"
        source.mkdir(parents=True)
        target.mkdir()
        _extract(source)
        _compile(source, part / "headers")
        (target / "net").mkdir()
        for name in ("lib.sh", "net_helper.sh", "mptcp"):
            (source / _SELFTESTS / name).rename(target / "net" / name)
        target.rename(directory)
        shutil.rmtree(part)
    init = guest.build(resources.GUEST / "selftests")
    return Tools(f"{key} {init.id}", directory / "net", init)


def _extract(target: Path) -> None:
    patterns = [f"*/{name}" for name in (*_HEADER_SOURCES, _SELFTESTS)]
    _call(
        *("tar", "--extract", "--file", doctor.DEBIAN_SOURCE, "--directory", target),
        *("--strip-components=1", "--wildcards", "--no-wildcards-match-slash", *patterns),
    )


def _compile(source: Path, headers: Path) -> None:
    # User-Mode Linux has no headers for programs; the others are those of the architecture it runs
    # on.
    jobs = f"--jobs={len(os.sched_getaffinity(0))}"
    environment = MAKE_ENVIRONMENT | {"ARCH": "x86"}
    _call("make", f"--directory={source}", f"O={headers}", jobs, "headers", **environment)
    for name in _HELPERS:
        program = source / _SELFTESTS / "mptcp" / name
        # as in lib.mk
        flags = ("-O2", "-D_GNU_SOURCE=", "-isystem", headers / "usr" / "include")
        _call("gcc", *flags, "-o", program, f"{program}.c")


def _call(*command: str | Path, **environment: str) -> None:
    done = subprocess.run(
        command,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        last = done.stdout.strip().splitlines()[-8:]
        raise MptcplabError("\n  ".join([f"{command[0]} failed for the selftests", *last]))


def _cache() -> Path:
    return doctor.cache_dir() / "selftests"


# --- a script in a guest


@dataclass(frozen=True)
class Job:
    """A script to run in a kernel, with `scheduler` in each namespace that it makes.

    `scheduler` may have parameters, as in `--scheduler`: NAME:PARAMETER=VALUE.
    """

    script: Script
    kernel: KernelBuild
    scheduler: str = DEFAULT_SCHEDULER

    @property
    def name(self) -> str:
        script = str(self.script).replace(".sh", "").replace(" ", "")
        return f"{script}-{self.scheduler}-{self.kernel.variant}-{self.kernel.id}"


@dataclass(frozen=True)
class Ran:
    """A job that has ended: what it said, and the seconds that it took."""

    job: Job
    result: Result
    virtual_s: float
    wall_s: float


def plan(script: Script) -> str:
    """What bash executes in the guest."""
    in_turn = "chrt --fifo 1 " if script.in_turn else ""
    return "\n".join(
        [
            "cd mptcp || exit 1",
            "# the scripts choose links and sizes with it: the same each time",
            "echo RANDOM=1 >/tmp/random",
            "export BASH_ENV=/tmp/random",
            "# tests that are known to fail at times count, too",
            "export SELFTESTS_MPTCP_LIB_OVERRIDE_FLAKY=1",
            f"exec {in_turn}./{script}",
            "",
        ]
    )


def run(job: Job, tools: Tools, *, seed: int, cpu: int, cancel: threading.Event) -> Ran:
    """Runs a job, or finds it done: kernel, scripts and seed decide all that it prints."""
    text = plan(job.script)
    key = hashlib.sha256(f"{tools.id} {seed} {text}".encode()).hexdigest()[:8]
    directory = _cache() / "runs" / f"{job.name}-{key}"
    if not directory.exists():
        part = directory.with_name(f"{directory.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(tools.net, part)
        if job.scheduler != DEFAULT_SCHEDULER:
            choose_scheduler(part / "mptcp" / "mptcp_lib.sh", job.scheduler)
        # The engine takes the seed from a scenario; the rest of it is not used.
        scenario = from_flags(Flags(path=("a:1mbit,1ms",), seed=str(seed), seed_delay="0us")).base
        started = time.monotonic()
        try:
            outcome = engine.run(
                *(scenario, text, job.kernel, tools.init, part),
                cpu=cpu,
                limits=_LIMITS,
                watch=engine.Watch(cancel=cancel),
                take=[_OUTPUT],
            )
        except RunError as error:
            # what there is of it stays to be looked at, and the next call runs it again
            said = parse(_output(part), -1)
            failed = Result(said.verdicts, said.remarks, f"{error}\nin {part}")
            return Ran(job, failed, 0.0, time.monotonic() - started)
        status = outcome.guest["exit"]
        note = {"exit": status, "virtual_s": outcome.virtual_s, "wall_s": outcome.wall_s}
        (part / _ENDED).write_text(json.dumps(note))
        part.rename(directory)
    note = json.loads((directory / _ENDED).read_text())
    result = parse(_output(directory), note["exit"])
    return Ran(job, result, note["virtual_s"], note["wall_s"])


def _output(directory: Path) -> str:
    file = directory / _OUTPUT
    return file.read_text(errors="replace") if file.exists() else ""


def choose_scheduler(library: Path, scheduler: str) -> None:
    """Adds lines to mptcp_lib.sh: each namespace that a script makes gets `scheduler`."""
    text = library.read_text()
    if text.count(_NAMESPACE_LINE) != 1:
        raise MptcplabError(f"{library.name} sets up namespaces otherwise than expected")
    chosen = choice(scheduler)
    settings = [f"{chosen.name}.{each.name}={each.value}" for each in chosen.changed]
    lines = [
        _SETTING_LINE.replace("SETTING", setting)
        for setting in (f"scheduler={chosen.name}", *settings)
    ]
    library.write_text(text.replace(_NAMESPACE_LINE, "".join([_NAMESPACE_LINE, *lines])))


def choice(scheduler: str) -> Choice:
    """A scheduler with its parameters. Raises MptcplabError if there is no such."""
    try:
        return choose(scheduler, known(), Path())[0]
    except SpecError as error:
        raise MptcplabError(f"scheduler {scheduler}: {error}") from error


# --- all of them


def expectations() -> Expectations:
    """What is in selftests.toml. Raises MptcplabError if it makes no sense."""
    scripts = [str(script) for script in SCRIPTS]
    found = expected.read(expected.FILE.read_text(), expected.FILE.name, list(known()), scripts)
    for form in found.forms:
        choice(form)
    return found


def jobs(upstream: KernelBuild, ours: KernelBuild, forms: Sequence[str] = ()) -> list[Job]:
    """Every script in both kernels, then that of each scheduler of ours, and of `forms`."""
    both = [Job(script, build) for script in SCRIPTS for build in (upstream, ours)]
    own = [name for name in kernel.schedulers() if name != DEFAULT_SCHEDULER]
    return both + [Job(SCHEDULER_SCRIPT, ours, name) for name in (*own, *forms)]


def check_groups(tools: Tools) -> None:
    """Raises MptcplabError if mptcp_join.sh has other groups of tests than those that are run."""
    text = (tools.net / "mptcp" / "mptcp_join.sh").read_text()
    groups = sorted(re.findall(r"^\t(\S)@\w+_tests$", text, re.MULTILINE))
    chosen = "".join(script.options for script in SCRIPTS if script.name == "mptcp_join.sh")
    if groups != sorted(chosen.replace("-", "")):
        raise MptcplabError(
            f"mptcp_join.sh has the groups {''.join(groups)}, of which {chosen} are run"
        )


def run_all(jobs: Sequence[Job], tools: Tools, seed: int) -> Iterator[Ran]:
    """Runs jobs, one per CPU at a time, and yields each when it has ended."""
    cpus: SimpleQueue[int] = SimpleQueue()
    for cpu in sorted(os.sched_getaffinity(0)):
        cpus.put(cpu)
    cancel = threading.Event()

    def work(job: Job) -> Ran:
        cpu = cpus.get()
        try:
            return run(job, tools, seed=seed, cpu=cpu, cancel=cancel)
        finally:
            cpus.put(cpu)

    with ThreadPoolExecutor(cpus.qsize()) as pool:
        futures = [pool.submit(work, job) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            cancel.set()
            for future in futures:
                future.cancel()
            raise


@dataclass
class Campaign:
    """All that has run: each script upstream and with ours, and each scheduler of ours."""

    upstream: dict[Script, Ran] = field(default_factory=dict)
    ours: dict[Script, Ran] = field(default_factory=dict)
    schedulers: dict[str, Ran] = field(default_factory=dict)

    def add(self, ran: Ran) -> None:
        if ran.job.scheduler != DEFAULT_SCHEDULER:
            self.schedulers[ran.job.scheduler] = ran
        elif ran.job.kernel.variant == UPSTREAM:
            self.upstream[ran.job.script] = ran
        else:
            self.ours[ran.job.script] = ran

    def problems(self, expectations: Expectations) -> list[str]:
        """Why the selftests have failed as a whole; nothing if all is as it must be."""
        found = []
        for ran in self.upstream.values():
            if ran.result.error:
                found.append(f"{ran.job.script} ({ran.job.kernel.variant}): {ran.result.error}")
        for ran in (*self.ours.values(), *self.schedulers.values()):
            job = ran.job
            wrong = expected.judge(
                expectations.of(str(job.script), job.scheduler),
                self.upstream[job.script].result,
                ran.result,
            )
            found += [f"{job.script} with {job.scheduler}: {what}" for what in wrong]
        return found

    def lines(self) -> Iterator[str]:
        """A line for each test: script, test, verdict upstream, verdict with ours."""
        for script, ran in self.ours.items():
            before, now = self.upstream[script].result.verdicts, ran.result.verdicts
            for name in dict.fromkeys([*before, *now]):
                verdicts = f"{before.get(name, 'none')}\t{now.get(name, 'none')}"
                yield f"{script}\t{name}\t{verdicts}"
        for scheduler, ran in self.schedulers.items():
            for name, verdict in ran.result.verdicts.items():
                yield f"{ran.job.script}, {scheduler}\t{name}\t\t{verdict}"


# --- what is told


def show(campaign: Campaign, expectations: Expectations, console: Console) -> None:
    """A table of all scripts; below it every test that did not pass, and why."""
    table = Table(box=None, pad_edge=False)
    for heading in ("script", "upstream", "with ours"):
        table.add_column(heading)
    for heading in ("virtual", "wall"):
        table.add_column(heading, justify="right")
    for script, ran in campaign.ours.items():
        before = campaign.upstream[script]
        table.add_row(
            str(script),
            _counts(before.result),
            _counts(ran.result),
            f"{ran.virtual_s:.0f} s",
            f"{before.wall_s:.0f} + {ran.wall_s:.0f} s",
        )
    for scheduler, ran in campaign.schedulers.items():
        times = (f"{ran.virtual_s:.0f} s", f"{ran.wall_s:.0f} s")
        table.add_row(f"{ran.job.script}, {scheduler}", "", _counts(ran.result), *times)
    console.print(table)
    for ran in (*campaign.upstream.values(), *campaign.ours.values()):
        _show_remarks(f"{ran.job.script} ({ran.job.kernel.variant})", ran.result, console)
    for scheduler, ran in campaign.schedulers.items():
        reasons = [each.reason for each in expectations.of(str(ran.job.script), scheduler)]
        why = "".join(f"; expected: {reason}" for reason in reasons)
        _show_remarks(f"{ran.job.script} with {scheduler}{why}", ran.result, console)


def _counts(result: Result) -> str:
    counts = Counter(result.verdicts.values())
    words = [f"{counts['pass']} pass"]
    words += [f"{counts[verdict]} {verdict}" for verdict in ("fail", "skip") if counts[verdict]]
    return ", ".join(words) + (", not ended" if result.error else "")


def _show_remarks(title: str, result: Result, console: Console) -> None:
    lines = [*result.remarks, *result.error.splitlines()]
    if lines:
        console.print(f"\n{title}")
        for line in lines:
            console.print(f"  {line}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if nothing is worse than upstream, but for what is expected to be; else 1."""
    parser = parser_of("selftests", __doc__)
    parser.add_argument("--seed", type=int, default=1, help="of all randomness (default 1)")
    parser.add_argument("--only", default="", help="scripts whose name contains this")
    options = parser.parse_args(arguments)
    if not any(options.only in str(script) for script in SCRIPTS):
        scripts = ", ".join(dict.fromkeys(script.name for script in SCRIPTS))
        parser.error(
            f"--only {options.only}: in no name of a script; accepted is part of {scripts}"
        )
    interrupted = "interrupted; what has ended need not run again"
    return status_of(lambda: _run_and_show(options.seed, options.only), interrupted=interrupted)


def _run_and_show(seed: int, only: str) -> int:
    width = None if sys.stdout.isatty() else 120
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)
    campaign = Campaign()
    listed = expectations()
    upstream, ours = kernel.build(variant=UPSTREAM), kernel.build(variant=OURS)
    wanted = [job for job in jobs(upstream, ours, listed.forms) if only in str(job.script)]
    tools = prepare()
    check_groups(tools)
    for number, ran in enumerate(run_all(wanted, tools, seed), 1):
        campaign.add(ran)
        print(f"{number}/{len(wanted)} {ran.job.name}: {_counts(ran.result)}", file=sys.stderr)
    show(campaign, listed, console)
    results = _cache() / "results.txt"
    results.write_text("".join(f"{line}\n" for line in campaign.lines()))
    console.print(f"\na line for each test: {results}")
    problems = campaign.problems(listed)
    for problem in problems:
        console.print(f"problem: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
