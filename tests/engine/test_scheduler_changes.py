# SPDX-License-Identifier: GPL-2.0-only
"""A connection is that of the scheduler it has, whichever one its socket had before.

For each moment at which the scheduler of a socket may change, or the sysctl beside it, a program
makes a connection after the other. Their packets on both paths must be those of a socket that had
no other scheduler, at the same times, field by field.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from mptcplab.lab import kernel
from mptcplab.metrics import run_files
from mptcplab.plan import plan
from tests import pcapng, wire
from tests.vocabulary import RunProgram, output

PROGRAM = str(Path(__file__).parent / "programs" / "changes.c")
FIRST_PORT = 5100
PERIOD_S = 32.768
ALL = sorted({*kernel.schedulers(), "default"})
# of the program: enum moment
MOMENTS = ("option", "sysctl", "disconnect", "failed", "listener", "accept")
FALLBACK, PARAMETER = 6, 7
PATHS = ("a:20mbit,10ms", "b:10mbit,25ms")

Pair = tuple[str, str]


def some_pairs() -> list[Pair]:
    """Each scheduler after the one that leaves most behind, and after another one."""
    after = dict(zip(ALL, [*ALL[1:], ALL[0]], strict=True))
    return [(before, each) for each in ALL for before in ("earliest", after[each])]


def packets(run_program: RunProgram, moment: int, pairs: Sequence[Pair]) -> list[list[wire.Fields]]:
    """Of the connection of each pair."""
    words = [",".join(pair) for pair in pairs]
    run = run_program(
        [PROGRAM, "client", str(moment), *words],
        [PROGRAM, "server", str(moment), *words],
        paths=PATHS,
        pcap=True,
        sample_interval="10s",
        time_limit_s=PERIOD_S * (len(pairs) + 3),
        scheduler="minrtt",
    )
    said = output(run), output(run, run_files.SERVER_OUTPUT)
    assert (run.guest["client_status"], run.guest["server_status"]) == (0, 0), said
    captures = [
        pcapng.read(run.directory / plan.router_capture(path[0]))[f"rc{number}"]
        for number, path in enumerate(PATHS, 1)
    ]
    found = wire.connections(captures[0], FIRST_PORT, captures[1])
    assert set(range(len(pairs))) <= set(found)
    return [found[number] for number in range(len(pairs))]


@pytest.mark.parametrize("moment", range(len(MOMENTS)), ids=MOMENTS)
def test_nothing_is_left_of_another_scheduler(
    run_program: RunProgram, pytestconfig: pytest.Config, moment: int
) -> None:
    whole = pytestconfig.getoption("--all-pairs")
    changes = list(itertools.permutations(ALL, 2)) if whole else some_pairs()
    pairs = [*((each, each) for each in ALL), *(pair for pair in changes if pair[0] != pair[1])]
    found = dict(zip(pairs, packets(run_program, moment, pairs), strict=True))
    # else there is nothing to be compared: 300,000 bytes are 211 packets
    assert all(len(each) > 211 for each in found.values())
    differ = [pair for pair in pairs if found[pair] != found[pair[1], pair[1]]]
    assert not differ
    # and schedulers differ
    assert found["earliest", "earliest"] != found["minrtt", "minrtt"]


def test_a_fallback_leaves_nothing_of_a_scheduler(run_program: RunProgram) -> None:
    # The path is away for a whole window and TCP's first repetitions, whose timer doubles: four of
    # them, or more, take 0.2 + 0.4 + 0.8 + 1.6 s. `default` cuts the data into other packets, since
    # its fragments are no segments.
    ours = [each for each in ALL if each != "default"]
    found = packets(run_program, FALLBACK, [(each, each) for each in ours])
    assert all(each[-1]["time"] > 3e9 for each in found)
    assert not [name for name, each in zip(ours, found, strict=True) if each != found[0]]


def test_the_scheduler_that_a_socket_has_begins_anew(run_program: RunProgram) -> None:
    # roundrobin's num_segments, of each socket() and 5 at the option; without the option, a
    # socket has the first one
    found = packets(run_program, PARAMETER, [(value, "roundrobin") for value in ("5", "1")])
    assert found[0] == found[1]
    (other,) = packets(run_program, MOMENTS.index("sysctl"), [("roundrobin", "roundrobin")])
    assert found[0] != other
