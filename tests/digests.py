# SPDX-License-Identifier: GPL-2.0-only
"""`python -m tests.digests [DIRECTORY]`: what came of some runs here, as digests in JSON.

Two machines, or two ways in which one is set up, are held to each other by it. What is made: plans
that Python computes with floats, a run, programs of the host that look for what may be there and
compute, and calls at random, which reach much of the kernel. The directory must be an empty one;
without it, there are the plans alone.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from checks.fuzz import FuzzCase, perform
from checks.many import Builds
from mptcplab import resources
from mptcplab.formulas import designs
from mptcplab.lab import guest, kernel
from mptcplab.lab.engine import Rig
from mptcplab.metrics import run_files
from mptcplab.plan import plan
from mptcplab.runs import single
from mptcplab.runs.program import find
from mptcplab.scenario.workload import Program
from mptcplab.traces import radio
from tests import preset_traces
from tests.vocabulary import scenario_of

# RED's parameters are computed in the guest
PATHS = ("a:20mbit,10ms,loss=0.3%,queue_discipline=red", "b:10mbit,25ms,jitter=3ms")
#: Has the kernel look for modules, and libc for files and libraries; some of it computes. The time
#: at the end has in it what all of that took.
PROGRAMS = """
ss -ant
getent hosts server nowhere.example
getent services http
python3 -c '
import ctypes, math, socket
for name in ("libnone.so.1", "libnone.so.2"):
    try:
        ctypes.CDLL(name)
    except OSError:
        pass
for family in (31, 38):
    try:
        socket.socket(family)
    except OSError:
        pass
some = [0.001 * i for i in range(1, 3000)]
for f in (math.exp, math.log, math.sin, math.tan, math.pow, math.atan):
    print(f.__name__, sum(f(x, x) if f is math.pow else f(x) for x in some).hex())
'
ls -l --full-time /etc/hosts /dev/null
cat /proc/cpuinfo /proc/cmdline
date +%c
date +%s.%N
"""
CALLS = 1000


def plans() -> tuple[str, str]:
    """What Python computes for runs: its name, and a digest."""
    return "plans", digest("".join(_plans()).encode())


def runs(directory: Path) -> Iterator[tuple[str, str]]:
    """The same of each file of some runs, which are kept by their names."""
    build, own = kernel.build(quiet=True), guest.build()
    fuzz = guest.build(resources.GUEST / "fuzz")
    run = directory / "run"
    run.mkdir()
    flags = {"scheduler": "blest", "duration": "2s", "event": ("500ms:a:down,lasts=300ms",)}
    scenario = scenario_of(*PATHS, pcap=True, **flags)
    single.run(scenario, Rig(build, own), run)
    yield from _files(run)
    programs = directory / "programs"
    programs.mkdir()
    command = find(["sh", "-c", PROGRAMS])
    what = Program(client=command, directory="/", time_limit_ns=60 * 10**9)
    single.run(scenario_of(*PATHS, program=what, pcap=True), Rig(build, own), programs)
    yield from _files(programs)
    calls = directory / "calls"
    calls.mkdir()
    result = perform(FuzzCase(1, CALLS), Builds(build, own, fuzz), calls)
    assert not result.failures, result.failures
    yield from _files(calls)


def _plans() -> Iterator[str]:
    """What numpy and libm compute for a run, and what it becomes."""
    for seed in range(20):
        for name, trace in radio.drive(radio.Drive(), seed).items():
            yield f"{name} {trace.time_ns.tolist()} {trace.rate_bps.tolist()}"
            yield str(trace.delay_ns.tolist())
    yield from preset_traces.files().values()
    ranges = {"rate": designs.Range(1e6, 1e9, "log"), "loss": designs.Range(1e-3, 0.3, "log")}
    yield str(designs.fill("random", ranges, 5000, seed=1))
    yield plan.render(scenario_of(*PATHS, workload="web"))


def _files(directory: Path) -> Iterator[tuple[str, str]]:
    """All that a run has left; what it said on its console is that of the machine, too."""
    for file in sorted(directory.iterdir()):
        if file.is_file() and file.name != run_files.CONSOLE:
            yield f"{directory.name}/{file.name}", digest(file.read_bytes())


def digest(content: bytes) -> str:
    """So much of a hash as tells files from others."""
    return hashlib.sha256(content).hexdigest()[:16]


def main(directory: str | None = None) -> None:
    """Prints the digests, by the name of what they are of."""
    print(json.dumps(dict([plans(), *(runs(Path(directory)) if directory else ())]), indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
