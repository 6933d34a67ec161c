# SPDX-License-Identifier: GPL-2.0-only
"""Does mptcplab bisect find faults that were put into Linux at random? `make bisect-check`

Each case is a history on top of the lab's own kernel source, drawn from its seed: docs/bisect.md.
The check calls the program as a user would. A verdict is wrong if it is another commit, or several
commits without the faulty one. The cache keeps the repository of the histories.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from checks.command_line import natural, parser_of
from checks.histories import Content, Made, ancestors, commit_all, join_heads
from mptcplab.bisection.document import DOCUMENT, UndecidedError
from mptcplab.errors import MptcplabError, status_of
from mptcplab.lab import doctor, guest, kernel
from mptcplab.lab.engine import Rig
from mptcplab.lab.git import Repository
from mptcplab.lab.kernel_files import Commit
from mptcplab.lab.kernel_make import BuildProgress
from mptcplab.runs.runner import Runner
from mptcplab.scenario import resolve
from mptcplab.scenario.flags import Flags

#: The scenario: losses and an outage, so that each fault changes the goodput.
SCENARIO = (
    *("--path", "a:20mbit,10ms,loss=0.5%", "--path", "b:10mbit,30ms"),
    *("--event", "1s:b:down,lasts=1s", "--duration", "4s"),
)
# How far the goodput may be off that without a fault, in which all other commits agree exactly.
_SHARE = 0.001

#: Files to which commits add a remark; any compiled one will do.
REMARKED = ("net/mptcp/token.c", "net/mptcp/crypto.c", "net/ipv4/tcp_rate.c", "net/sched/sch_api.c")
_UNUSED = "Documentation/remarks.rst"
_BROKEN = "net/mptcp/mib.c"
# One that a patch changes, with a line beside its change.
_PATCHED, _BESIDE = "net/mptcp/Makefile", "\nobj-$(CONFIG_BPF_SYSCALL) += bpf.o"


class Fault(NamedTuple):
    """A fault: in which file, and which text becomes which."""

    name: str
    file: str
    right: str
    wrong: str


FAULTS = (
    Fault(
        *("the scheduler does not look at rates", "net/mptcp/protocol.c"),
        *("sk_wmem_queued) << 32, pace);", "sk_wmem_queued) << 32, 1);"),
    ),
    Fault(
        *("cubic's decrease", "net/ipv4/tcp_cubic.c"),
        *("beta __read_mostly = 717;", "beta __read_mostly = 400;"),
    ),
    Fault(
        *("slow start without growth", "net/ipv4/tcp_cong.c"),
        "u32 cwnd = min(tcp_snd_cwnd(tp) + acked, tp->snd_ssthresh);",
        "u32 cwnd = min(tcp_snd_cwnd(tp) + acked / 8, tp->snd_ssthresh);",
    ),
    Fault(
        *("the initial window", "net/ipv4/tcp_input.c"),
        *("\t\tcwnd = TCP_INIT_CWND;", "\t\tcwnd = 1;"),
    ),
    Fault(
        *("the receive window does not grow", "net/mptcp/protocol.c"),
        "rcvwin = ((u64)msk->rcvq_space.copied << 1) + 16 * advmss;",
        "rcvwin = ((u64)msk->rcvq_space.copied >> 2) + 16;",
    ),
    Fault(
        *("the retransmission timer doubles thrice", "net/ipv4/tcp_timer.c"),
        "icsk->icsk_rto = min(icsk->icsk_rto << 1, TCP_RTO_MAX);",
        "icsk->icsk_rto = min(icsk->icsk_rto << 3, TCP_RTO_MAX);",
    ),
    Fault(
        *("the window is reduced twice", "net/ipv4/tcp_input.c"),
        "tp->snd_ssthresh = inet_csk(sk)->icsk_ca_ops->ssthresh(sk);",
        "tp->snd_ssthresh = inet_csk(sk)->icsk_ca_ops->ssthresh(sk) / 2;",
    ),
)


@dataclass(frozen=True)
class FaultyHistory:
    """A history: the parents of each commit by their numbers, from 0 on, which is the good one.

    `parts` says of each commit what it does. A commit of a pair breaks what another one mends.
    """

    parents: Sequence[Sequence[int]]
    faulty: int
    fault: Fault
    remarks: Mapping[int, str]
    broken: tuple[int, int] | None
    unfit: tuple[int, int] | None

    def files(self, below: Collection[int], base: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The files that commits of a history have changed, with their content."""
        for file in (*REMARKED, _UNUSED):
            said = [each for each, where in sorted(self.remarks.items()) if where == file]
            said = [each for each in said if each in below]
            if said:
                yield file, base.get(file, "") + "".join(f"/* remark {each} */\n" for each in said)
        for pair, file, text in (
            (self.broken, _BROKEN, "#error broken\n" + base[_BROKEN]),
            (
                self.unfit,
                _PATCHED,
                base[_PATCHED].replace(_BESIDE, f"\n# unfit\n# unfit{_BESIDE} # unfit"),
            ),
        ):
            if pair and pair[0] in below:
                yield file, base[file] if pair[1] in below else text
        if self.faulty in below:
            text = base[self.fault.file]
            yield self.fault.file, text.replace(self.fault.right, self.fault.wrong)


def drawn(seed: int) -> FaultyHistory:
    """A case: 8 to 24 commits, a third of them beside others until they are merged."""
    draw = random.Random(seed)
    count = draw.randint(8, 24)
    parents: list[list[int]] = [[]]
    for number in range(1, count):
        near = range(max(0, number - 4), number)
        own = [number - 1 if draw.random() < 2 / 3 else draw.choice(near)]
        parents.append(own)
    join_heads(parents)
    below = ancestors(parents)
    numbers = [*range(1, count - 1)]
    faulty = draw.randrange(1, count)
    fault = draw.choice(FAULTS)

    def pair() -> tuple[int, int] | None:
        """A commit that breaks something, and a later one that mends it."""
        one = draw.choice(numbers)
        later = [each for each in numbers if one in below[each] and each != one]
        return (one, min(later)) if later and draw.random() < 2 / 3 else None

    broken, unfit = pair(), pair()
    taken = {faulty, *(broken or ()), *(unfit or ())}
    remarks = {
        number: draw.choice((*REMARKED, _UNUSED, _UNUSED))
        for number in range(1, count)
        if number not in taken and len(parents[number]) == 1
    }
    return FaultyHistory(parents, faulty, fault, remarks, broken, unfit)


class Linux:
    """A repository with the lab's own kernel source, and room for histories on top of it."""

    def __init__(self) -> None:
        """Takes that of an earlier call from the cache. Raises MptcplabError."""
        source = kernel.Source.chosen()
        self.path = doctor.cache_dir() / "bisect-check" / f"{source.digest[:12]}.git"
        if not self.path.exists():
            self._make(source)
        self.repository = Repository(self.path)
        base = self.repository.commit("base")
        assert base
        self.base = base
        files = self.repository.files(base)
        named = {*REMARKED, _BROKEN, _PATCHED, *(each.file for each in FAULTS)}
        wanted = {name: about for name, about in files.items() if name in named}
        self.texts = {name: content.decode() for name, content in self.repository.contents(wanted)}

    def _make(self, source: kernel.Source) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.path.parent) as scratch:
            tree, made = Path(scratch) / "tree", Path(scratch) / "linux.git"
            source.lay_out(tree, BuildProgress(quiet=True), [])
            subprocess.run(["git", "init", "--quiet", "--bare", str(made)], check=True)
            everything = sorted((tree / "src").rglob("*"))
            files: dict[str, Content] = {
                str(path.relative_to(tree / "src")): path
                for path in everything
                if path.is_symlink() or path.is_file()
            }
            commit_all(made, [Made([], files, "base")], branch="base")
            made.rename(self.path)

    def put(self, case: FaultyHistory) -> list[str]:
        """Makes the commits of a case; their hashes, with that of the base first."""
        made = []
        for number, below in enumerate(ancestors(case.parents)[1:], 1):
            parents = [each - 1 if each else self.base for each in case.parents[number]]
            made.append(Made(parents, dict(case.files(below, self.texts)), "of the case"))
        return [self.base, *commit_all(self.path, made, branch="case")]


def formula_of(linux: Linux, out: Path) -> str:
    """What is expected: the goodput of the base, which is built and run for it."""
    commit = Commit(linux.repository, linux.base)
    built, own_guest = kernel.build_commit(commit), guest.build()
    paths, events = SCENARIO[1:4:2], [SCENARIO[5]]
    request = resolve.from_flags(Flags(path=paths, event=events, duration=SCENARIO[7]))
    (entry,) = Runner(out).run(request.runs(), Rig(built, own_guest))
    if entry.metrics.goodput_bps is None:
        raise MptcplabError(f"the run of the base failed: {entry.reason}")
    goodput_bps = entry.metrics.goodput_bps
    return f"abs(goodput_bps - {goodput_bps:.0f}) <= {_SHARE * goodput_bps:.0f}"


def bisected(linux: Linux, seed: int, formula: str, out: Path) -> str:
    """Has the program bisect the case of a seed, prints what came of it, and returns the verdict.

    The runs and kernels of the case are removed.
    """
    case = drawn(seed)
    commits = linux.put(case)
    started = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mptcplab", "bisect", "--tree", str(linux.path)),
            *("--good", commits[0], "--bad", commits[-1], *SCENARIO, "--expect", formula),
            *("--out", str(out), "--json"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    took_s = time.monotonic() - started
    candidates, tried = [], []
    if (out / DOCUMENT).exists():
        document = json.loads((out / DOCUMENT).read_text())
        tried = document["tried"]
        if done.returncode == 0:
            candidates = [document["found"]["commit"]]
        elif done.returncode == UndecidedError.exit_status:
            candidates = document["candidates"]
        for each in tried:
            if each["kernel"] and each["commit"] != linux.base:
                shutil.rmtree(kernel.place() / each["kernel"], ignore_errors=True)
        shutil.rmtree(out)
    verdict = "among several" if commits[case.faulty] in candidates else "WRONG"
    verdict = "found" if candidates == [commits[case.faulty]] else verdict
    skipped = sum(each["verdict"] == "skipped" for each in tried)
    print(
        f"{seed:5} {verdict:13} {case.fault.name}, commit {case.faulty} of {len(commits) - 1},"
        f" {len(tried)} tried, {skipped} skipped, {took_s:.0f} s",
        *([done.stderr.strip()] if verdict == "WRONG" else []),
        sep="\n",
        flush=True,
    )
    return verdict


def main(options: Sequence[str]) -> int:
    """Print what came of each case; the exit status, 1 if a verdict was wrong."""
    parser = parser_of("bisect_check", __doc__)
    parser.add_argument("--count", type=natural, default=100, help="how many cases (100)")
    parser.add_argument("--seed", type=natural, default=1, help="of the first case (1)")
    given = parser.parse_args(options)
    linux = Linux()
    with tempfile.TemporaryDirectory(prefix="mptcplab-bisect-") as scratch:
        formula = formula_of(linux, Path(scratch) / "base")
        print(f"expected: {formula}", flush=True)
        seeds = range(given.seed, given.seed + given.count)
        verdicts = [bisected(linux, seed, formula, Path(scratch) / "out") for seed in seeds]
    wrong, found = (verdicts.count(each) for each in ("WRONG", "found"))
    print(
        f"{wrong} of {len(verdicts)} verdicts are wrong; {found} name the commit with the fault, "
        f"{len(verdicts) - wrong - found} name several commits and it is among them"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(status_of(lambda: main(sys.argv[1:])))
