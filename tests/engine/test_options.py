# SPDX-License-Identifier: GPL-2.0-only
"""Socket options do with our schedulers what they do with `default` on an unpatched kernel."""

from __future__ import annotations

import fcntl
import os
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mptcplab.lab import kernel
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.scenario import scheduler as catalogue
from tests.socket_options import OURS, PAGE, PATHS, THEIRS, Seen, Table, play, texts

#: What plain TCP takes without anything to be seen here: what is pushed at once anyway, a flag
#: without its option, two options that only the queueing discipline fq carries out.
UNSEEN = {"sendfile() of 200 kB", "MSG_ZEROCOPY alone", "SO_TXTIME", "TCP_TX_DELAY"}
SCHEDULERS = [name for name in catalogue.known() if name != "default"]


#: A run by its name, once for all workers of pytest-xdist.
Played = Callable[[str, Callable[[Path], Table]], Table]


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def once(name: str, make: Callable[[Path], Table]) -> Table:
        # who comes later waits, and finds it written
        with (shared / f"{name}.pickle").open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            if text := file.read():
                table: Table = pickle.loads(text)
                return table
            table = make(tmp_path_factory.mktemp(name))
            file.write(pickle.dumps(table))
            return table

    return once


@pytest.fixture(scope="session")
def theirs(played: Played, lab_guest: Guest) -> Table:
    build = kernel.build(variant="upstream")
    return played("theirs", lambda place: play(build, lab_guest, place, THEIRS))


@pytest.fixture(scope="session")
def ours(played: Played, lab_kernel: KernelBuild, lab_guest: Guest) -> Table:
    return played("ours", lambda place: play(lab_kernel, lab_guest, place, OURS))


@pytest.fixture(scope="session")
def corked_by(played: Played, lab_kernel: KernelBuild, lab_guest: Guest) -> Table:
    return played(
        "corked", lambda place: play(lab_kernel, lab_guest, place, SCHEDULERS, "TCP_CORK")
    )


def test_each_experiment_shows_what_its_option_does_to_plain_tcp(theirs: Table) -> None:
    seen = {option: row for option, row in theirs["tcp"].items() if row.without}
    assert len(seen) > 60
    assert {option for option, row in seen.items() if row.verdict != "taken"} == UNSEEN


@pytest.mark.parametrize("scheduler", OURS)
def test_options_are_taken_refused_and_ignored_as_with_default(
    theirs: Table, ours: Table, scheduler: str, series: str
) -> None:
    # 7.3 keeps MSG_EOR. That of `default` is not to be seen: its pieces go to subflows in turn.
    known = {"MSG_EOR"} if series == "7.3" else set()

    def verdicts(rows: Mapping[str, Seen]) -> dict[str, str]:
        # where nothing is to be seen of plain TCP, only errors count
        return {
            option: row.error if option in UNSEEN else row.verdict
            for option, row in rows.items()
            if option not in known
        }

    assert verdicts(ours[scheduler]) == verdicts(theirs["default"])


def corked(seen: str) -> tuple[int, int]:
    """How many segments, and when the last one left, in ms."""
    found = re.fullmatch(r"(\d+) segments?, the last at (\d+) ms", seen)
    assert found is not None
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("scheduler", ["tcp", *SCHEDULERS])
def test_tcp_cork_gathers_small_writes_until_tcp_would_let_them_go(
    theirs: Table, corked_by: Table, scheduler: str
) -> None:
    # `redundant` and its like send each segment over both subflows, at once or later
    table = theirs if scheduler == "tcp" else corked_by
    copies = 1 if scheduler == "tcp" else 2
    rows = {
        option.removeprefix("TCP_CORK"): row.with_it
        for option, row in table[scheduler].items()
        if option.startswith("TCP_CORK")
    }
    # An RTO after the first write: 200 ms and the smoothed RTT of 20 to 31 ms, up to the next tick
    # of 4 ms but one.
    for name in (", 20 pieces of 50 B each 5 ms", " before connect()"):
        segments, last_ms = corked(rows[name])
        assert 1 <= segments <= copies
        assert 220 <= last_ms <= 239
    # ten writes, and then at once
    for name in (", taken away", ", TCP_NODELAY", ", shutdown()", ", close()"):
        segments, last_ms = corked(rows[f"{name} after 50 ms"])
        assert 1 <= segments <= copies
        assert last_ms == 50
    # 14,000 bytes are nine segments of 1424 to 1448 bytes, and the rest. What was sent last before
    # that was written at 90 to 95 ms, and acknowledged an RTT later; then an RTO.
    segments, last_ms = corked(rows[", 20 pieces of 700 B each 5 ms"])
    assert 10 <= segments <= 10 * copies
    assert 90 + 20 + 220 <= last_ms <= 95 + 31 + 239
    # Five writes of at most 3000 bytes take 12 ms over the slower path, and have an RTT of 31 ms:
    # that long the data that was sent is on its way. An RTO later the rest leaves, for an RTT.
    # The RTO is 200 ms and a smoothed RTT of at most 43 ms, in ticks as above.
    found = re.fullmatch(
        r"431388 bytes, acknowledged after at most (\d+) ms", rows[" and TCP_NODELAY by turns"]
    )
    assert found is not None
    assert 220 <= int(found[1]) <= 43 + (200 + 43 + 8) + 43


def test_what_is_corked_arrives_whole_over_lossy_paths(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> None:
    # The client waits until the server has read to the end, and the run would end with an error.
    paths = [f"{path},loss=3%" for path in PATHS]
    table = play(lab_kernel, lab_guest, tmp_path, OURS, "by turns", paths)
    for scheduler in OURS:
        (seen,) = table[scheduler].values()
        assert seen.with_it.startswith("431388 bytes, acknowledged")


def test_the_page_says_what_is_seen(
    theirs: Table, ours: Table, series: str, lab_kernel: KernelBuild
) -> None:
    if (series, lab_kernel.variant) != ("6.12", "lab"):
        pytest.skip("the page is about the lab kernel of 6.12")
    page = PAGE.read_text()
    for name, text in texts(theirs, ours).items():
        assert f"<!-- begin: {name} -->\n{text}<!-- end: {name} -->" in page, (
            "python -m tests.socket_options writes the tables"
        )
