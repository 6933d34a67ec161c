# SPDX-License-Identifier: GPL-2.0-only
"""Many processes write and read one output directory at once: nothing is lost, nothing is broken.

What each of them does is what `sweep`, `compare`, `run` and `results` do to a store; only the runs
are not made, but written.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from mptcplab.runs import documents, entries, index, store
from mptcplab.runs.store import Store
from tests.unit import stored
from tests.unit.stored import BUILD

WRITERS = READERS = 8
ROUNDS = 6
#: Runs that all writers make, again and again.
SHARED = ("shared0", "shared1", "shared2")
COST = {"wall_s": 1.0}
#: So long that it is not written by one call of the system.
LONG = "x" * 300_000


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    """Forks of one process that has imported all they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(WRITERS + READERS, mp_context=context) as pool:
        yield pool


def keep(runs: Store, key: str, seed: int) -> entries.Entry:
    """Store a run as a sweep does; gives its entry."""
    scenario = stored.scenario(seed=seed)
    entry = entries.run_entry(scenario, virtual_s=2.0, directory=store.place(key))
    with runs.new_run(key) as directory:
        (directory / "client.samples").write_text(LONG)
        store.write_json(directory / store.SCENARIO, scenario)
        store.write_json(directory / store.BUILD, BUILD)
        store.write_json(directory / store.RESULT, entry)
        store.write_json(directory / store.COST, COST)
    return entry


def write(out: Path, number: int) -> list[str]:
    """What a writer does; gives the names of the runs that nobody else makes."""
    own = []
    runs = Store(out)
    for count in range(ROUNDS):
        runs.remove_abandoned()
        keep(runs, SHARED[count % len(SHARED)], 1)
        key, seed = f"own{number}-{count}", 100 * number + count
        own.append(key)
        entry = keep(runs, key, seed)
        index.keep_points(out, [{"key": key, "alone": [], f"axis{number}": count}])
        index.write(out)
        about = {"entry": entry, "scenario": stored.scenario(seed=seed), "build": BUILD}
        runs.keep_failed("failed", about)
        store.write_json(out / store.DOCUMENT, {"of": number, "text": LONG})
    return own


def read(out: Path, ended: Path) -> int:
    """What a reader does until the writers have ended; gives how often."""
    runs = Store(out)
    for count in itertools.count(1):
        assert set(runs.keys()) >= set(SHARED)
        for key in SHARED:
            assert runs.result(key) is not None, key
            for name in store.DOCUMENTS:
                assert documents.read_json(runs.directory(key) / name)
        assert runs.failure("failed")
        assert documents.read_json(out / store.DOCUMENT)["text"] == LONG
        for name in (index.TABLE, index.POINTS):
            # by one open(): Polars opens a file twice
            assert pl.read_parquet((out / name).read_bytes()).height
        assert set(SHARED) <= set(index.read(out).filter(status="ok")["key"])
        if ended.exists():
            return count
    raise AssertionError


def test_writers_and_readers_at_once_lose_and_break_nothing(
    processes: Executor, tmp_path: Path
) -> None:
    out, ended = tmp_path / "out", tmp_path / "ended"
    runs = Store(out)
    for key in SHARED:
        entry = keep(runs, key, 1)
    index.keep_points(out, [{"key": SHARED[0], "alone": [], "axis": 0}])
    runs.keep_failed("failed", {"entry": entry, "scenario": {}, "build": BUILD})
    runs.forget_failed("failed")
    index.read(out)
    write(out, 0)
    readers = [processes.submit(read, out, ended) for _ in range(READERS)]
    writers = [processes.submit(write, out, number) for number in range(1, WRITERS + 1)]
    with contextlib.ExitStack() as stack:
        stack.callback(ended.touch)
        own = {key for writer in writers for key in writer.result()}
    for reader in readers:
        assert reader.result() > 0
    # all that was written is there, in the table, and where it was in its sweep
    assert own < set(runs.keys())
    assert own < set(pl.read_parquet(out / index.TABLE)["key"])
    points = pl.read_parquet(out / index.POINTS)
    assert own < set(points["key"])
    for number in range(1, WRITERS + 1):
        assert sorted(points[f"axis{number}"].drop_nulls()) == list(range(ROUNDS))
    assert list(out.rglob(".partial-*")) == []
