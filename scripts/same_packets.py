# SPDX-License-Identifier: GPL-2.0-only
"""Do two kernels send the same packets at the same times, and record the same of them?

    python scripts/same_packets.py BUILD [FILTER]      (make same-packets OLD=BUILD)

BUILD is the id of a kernel in the cache, as `mptcplab kernel build` says it; it is compared with
the present one, both with the present guest. BUILD+GUEST gives the id of the old one's guest, too:
for those that another kernel does not understand. What is meant to make runs faster, or to tidy
up, must change no byte of a capture nor of a record; but the kernel's random numbers depend on how
it was built, with what they decide: ports, keys, where sequence numbers begin, the order of several
connections in the samples, and in which phase BBR begins to probe (so that case may differ). FILTER
chooses the cases whose names contain it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mptcplab.capture import dissect
from mptcplab.lab import doctor, engine, guest, kernel
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records
from mptcplab.metrics.records import Records
from mptcplab.runs import experiment
from mptcplab.spec.flags import Flags
from mptcplab.spec.resolve import from_flags
from mptcplab.spec.scenario import Scenario

ALIKE = ("a:50mbit,10ms", "b:20mbit,30ms")
LOSSY = ("a:50mbit,10ms,loss=0.5%", "b:20mbit,40ms,queue=50,loss=0.2%")
#: What a run leaves that is not its own story: when it was told, and the console.
NOT_COMPARED = ("console.txt", "plan.txt")


def cases() -> Iterator[tuple[str, Flags]]:
    """Every scheduler with and without losses, and one of everything else that moves packets."""
    for scheduler in kernel.schedulers():
        for kind, path in (("clean", ALIKE), ("lossy", LOSSY)):
            yield f"{scheduler}, {kind}", Flags(path=path, scheduler=scheduler, duration="2s")
    yield (
        "bench",
        Flags(path=("fast:100mbit,10ms,queue=300", "slow:50mbit,20ms,queue=300"), duration="5s"),
    )
    yield "download", Flags(path=LOSSY, duration="2s", direction="down")
    yield "plain TCP", Flags(path=LOSSY[:1], duration="2s", transport="tcp")
    for cc in ("lia", "olia", "balia", "wvegas", "bbr", "vegas", "reno"):
        yield cc, Flags(path=LOSSY, duration="2s", cc=cc)
    yield (
        "jitter and queues",
        Flags(
            path=("a:50mbit,10ms,jitter=3ms", "b:20mbit,30ms,queue_discipline=codel"), duration="3s"
        ),
    )
    yield (
        "events",
        Flags(
            path=ALIKE,
            duration="4s",
            event=("1s:a:change,rate=5mbit,delay=5ms", "2s:b:down", "3s:b:up"),
        ),
    )
    yield "small receive buffer", Flags(path=LOSSY, duration="2s", receive_buffer="200KB")
    yield "a web page", Flags(path=ALIKE, workload="web")
    yield from messages()


def messages() -> Iterator[tuple[str, Flags]]:
    """Where and how messages begin and end, in one connection and several."""
    for kind, path in (("clean", ALIKE), ("lossy", LOSSY)):
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


def left_by(
    scenario: Scenario, build: KernelBuild, program: Guest, directory: Path
) -> dict[str, bytes]:
    """What a run with this kernel and guest writes, by the names of the files."""
    directory.mkdir()
    experiment.run(scenario, build, program, directory)
    left = {
        file.name: file.read_bytes()
        for file in sorted(directory.iterdir())
        if file.is_file() and file.name not in NOT_COMPARED
    }
    outcome = json.loads(left[engine.GUEST_OUTCOME])
    # what it costs to move the data is all that may differ
    del outcome["system_calls"]
    return left | {engine.GUEST_OUTCOME: json.dumps(outcome).encode()}


def alike(one: Path, other: Path) -> bool:
    """Are two files the same but for random numbers of the kernel, which depend on how it was
    built: ports, keys, and where sequence numbers begin?
    """
    if not (one.exists() and other.exists()):
        return False
    if one.suffix == ".pcapng":
        columns = zip(packets_of(one), packets_of(other), strict=True)
        return all(np.array_equal(was, now) for was, now in columns)
    if one.suffix == ".samples" and one.name != "links.samples":
        was, now = records.read_samples(one), records.read_samples(other)
        return np.array_equal(in_order(was.connection), in_order(now.connection)) and (
            np.array_equal(in_order(was.subflow), in_order(now.subflow))
        )
    return False


def packets_of(capture: Path) -> list[npt.NDArray[Any]]:
    """The columns of its packets, with sequence numbers from the first of each direction on."""
    packets = dissect.read([capture])
    forward = packets.forward
    found = [packets.time_ns, packets.track, forward, packets.flags, packets.ttl, packets.payload]
    found += [packets.has, packets.ts_val, packets.ts_ecr, packets.ssn, packets.mapped]
    found += [np.array([(each.packet, each.kind) for each in packets.options])]
    found += [np.array(packets.others)]
    for column, there in (
        (packets.seq, np.ones(len(forward), bool)),
        (packets.ack, packets.flags & dissect.ACK > 0),
        (packets.dsn, packets.has & dissect.HAS_MAPPING > 0),
        (packets.data_ack, packets.has & dissect.HAS_DATA_ACK > 0),
    ):
        since = column.copy()
        for track in np.unique(packets.track):
            for way in (False, True):
                mine = (packets.track == track) & (forward == way) & there
                since[mine] -= column[mine][:1]
        found.append(np.where(there, since, 0))
    return found


def in_order(samples: Records) -> Records:
    """Samples without ports, and in an order of their own: that of the connections at one time, and
    so their numbers, is that of their random tokens.
    """
    found = samples.copy()
    for field in {"connection", "local_port", "remote_port"} & {*(samples.dtype.names or ())}:
        found[field] = 0
    return np.sort(found)


def main(which: str, chosen: str = "") -> int:
    build_id, _, guest_id = which.partition("+")
    image = doctor.cache_dir() / "kernel" / build_id / "linux"
    if not image.exists():
        print(f"{image}: there is no such kernel", file=sys.stderr)
        return 2
    old = KernelBuild(build_id, "lab", image, image.parent / "config")
    new = kernel.build(quiet=True)
    new_guest = old_guest = guest.build()
    if guest_id:
        old_guest = Guest(guest_id, doctor.cache_dir() / "guest" / guest_id)
        if not old_guest.program.exists():
            print(f"{old_guest.program}: there is no such guest", file=sys.stderr)
            return 2
    differing = 0
    for name, flags in cases():
        if chosen not in name:
            continue
        scenario = from_flags(
            Flags(**{**vars(flags), "seed": "7", "pcap": True}), single=True
        ).runs()[0]
        with tempfile.TemporaryDirectory(prefix="mptcplab-same-") as place:
            places = Path(place) / "old", Path(place) / "new"
            was = left_by(scenario, old, old_guest, places[0])
            now = left_by(scenario, new, new_guest, places[1])
            others = [file for file in was.keys() | now.keys() if was.get(file) != now.get(file)]
            truly = [file for file in others if not alike(*(place / file for place in places))]
        differing += bool(truly)
        verdict = f"same {sum(map(len, was.values()))} bytes"
        if truly:
            verdict = f"DIFFERS in {', '.join(sorted(truly))}"
        elif others:
            verdict += ", but for the kernel's random numbers"
        print(f"{name}: {verdict}", flush=True)
    print(f"{differing} cases differ between {old.id} and {new.id}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
