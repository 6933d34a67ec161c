# SPDX-License-Identifier: GPL-2.0-only
"""The scenarios on which two kernels are compared: the project's own set, or the user's.

All keep captures of their packets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import InputError, Problem
from mptcplab.lab import kernel
from mptcplab.lab.kernel import KernelBuild
from mptcplab.scenario import congestion, resolve, scheduler
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import Request
from mptcplab.scenario.scheduler import Choice

_ALIKE = ("a:50mbit,10ms", "b:20mbit,30ms")
_LOSSY = ("a:50mbit,10ms,loss=0.5%", "b:20mbit,40ms,queue=50,loss=0.2%")
_SEED = "7"
# They decide by random numbers, which depend on the build of the kernel.
_RANDOM = ("bbr",)


@dataclass(frozen=True)
class KernelCase:
    """A scenario to compare kernels on, by its name, and the request that it is a run of."""

    name: str
    scenario: Scenario
    request: Request

    @property
    def is_random(self) -> bool:
        """Whether two builds of one source may differ in it."""
        return any(congestion.name_of(cc) in _RANDOM for cc in self._ccs())

    def lacking(self, build: KernelBuild) -> list[str]:
        """The schedulers and congestion controls that the scenario needs and a kernel lacks."""
        files = kernel.parts(build).files
        ccs = {cc: congestion.name_of(cc) for cc in self._ccs()}
        known = congestion.known()
        return [
            *(
                f"the scheduler {each.label}"
                for each in self.scenario.choices()
                if not _has(build, files, each)
            ),
            *(
                f"the congestion control {cc}"
                for cc, name in ccs.items()
                if known[name].file is not None and f"cc/{name}.c" not in files
            ),
        ]

    def _ccs(self) -> list[str]:
        own = [self.scenario.cc_of(each) for each in self.scenario.connections]
        return own or [self.scenario.cc]


def _has(build: KernelBuild, files: Collection[str], choice: Choice) -> bool:
    """Whether a kernel, by its files, has a scheduler with these settings."""
    if choice.label == scheduler.DEFAULT:
        return True
    # the user's own has a digest, and is compiled for it
    known = choice.digest is not None or choice.name == scheduler.DEFAULT
    return build.has_framework and (known or f"sched/{choice.name}.c" in files)


def own_set() -> list[KernelCase]:
    """The project's own set: every scheduler, with and without losses, and one of everything else
    that moves packets.
    """
    known = scheduler.known()
    found: list[KernelCase] = []
    for name, flags in _own():
        all_flags = Flags(**{**vars(flags), "seed": _SEED, "pcap": True})
        found += _cases(name, resolve.from_flags(all_flags, known=known, single=True))
    return found


def of_files(files: Sequence[Path]) -> list[KernelCase]:
    """All runs of the user's scenario files. Raises InputError for mistakes in them."""
    found: list[KernelCase] = []
    for file in files:
        request = resolve.load_file(file, Flags(pcap=True))
        if request.kernels:
            names = ", ".join(request.kernels)
            message = "A and B name the kernels; leave it out"
            raise InputError([Problem(str(file), "kernel", names, message)])
        found += _cases(str(file), request)
    return found


def _cases(name: str, request: Request) -> Iterator[KernelCase]:
    runs = request.runs()
    for run in runs:
        varied = [
            run.scheduler.label if len(request.schedulers) > 1 else "",
            run.cc if len(request.ccs) > 1 else "",
            f"seed {run.seed}" if (request.repeat or 1) > 1 else "",
        ]
        yield KernelCase(", ".join(filter(None, [name, *varied])), run, request)


def _own() -> Iterator[tuple[str, Flags]]:
    for each in kernel.schedulers():
        for kind, path in (("clean", _ALIKE), ("lossy", _LOSSY)):
            yield f"{each}, {kind}", Flags(path=path, scheduler=each, duration="2s")
    yield (
        "bench",
        Flags(path=("fast:100mbit,10ms,queue=300", "slow:50mbit,20ms,queue=300"), duration="5s"),
    )
    yield "download", Flags(path=_LOSSY, duration="2s", direction="down")
    yield "plain TCP", Flags(path=_LOSSY[:1], duration="2s", transport="tcp")
    for cc in ("lia", "olia", "balia", "wvegas", "bbr", "vegas", "reno"):
        yield cc, Flags(path=_LOSSY, duration="2s", cc=cc)
    yield (
        "jitter and queues",
        Flags(
            path=("a:50mbit,10ms,jitter=3ms", "b:20mbit,30ms,queue_discipline=codel"), duration="3s"
        ),
    )
    yield (
        "events",
        Flags(
            path=_ALIKE,
            duration="4s",
            event=("1s:a:change,rate=5mbit,delay=5ms", "2s:b:down", "3s:b:up"),
        ),
    )
    yield "small receive buffer", Flags(path=_LOSSY, duration="2s", receive_buffer="200KB")
    yield "a web page", Flags(path=_ALIKE, workload="web")
    yield from _messages()


def _messages() -> Iterator[tuple[str, Flags]]:
    """Where and how messages begin and end, in one connection and several."""
    for kind, path in (("clean", _ALIKE), ("lossy", _LOSSY)):
        for workload in (
            "cbr:size=8KB,rate=40mbit",
            "cbr:size=100B,interval=1ms",
            "cbr:size=300KB,interval=50ms,direction=both",
            "cbr:size=8KB,rate=20mbit,direction=down",
            "requests:response=30KB,interval=20ms",
            "requests:response=1KB,think=5ms",
            "transfers:size=200KB,count=8",
            "transfers:size=20KB,interval=30ms,count=40,fresh=true,direction=both",
            "web:fresh=false",
            "web:connections=2",
            "video:duration=20s",
            "frames",
        ):
            yield f"messages, {kind}, {workload}", Flags(path=path, workload=workload)
