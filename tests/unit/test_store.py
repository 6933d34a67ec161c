# SPDX-License-Identifier: GPL-2.0-only
"""Stored runs are read back; anything else is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from operator import is_
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from mptcplab.capture import dissect
from mptcplab.errors import MptcplabError
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records, series
from mptcplab.metrics.records import Records
from mptcplab.metrics.series import Panel, RunSeries
from mptcplab.runs import documents, store
from mptcplab.scenario import resolve
from mptcplab.scenario.flags import Flags
from mptcplab.traces import link_trace, trace_file
from tests.unit import stored as stored_runs
from tests.unit import synthetic
from tests.unit.synthetic import FAST, SLOW

TRACE = "time_s,rate_mbit,sinr_db\n0,10,-3\n1,5,2.5\n"


def stored(directory: Path) -> Path:
    """A run as experiment.py leaves it."""
    directory.mkdir(parents=True, exist_ok=True)
    client, server = synthetic.run(FAST, SLOW)
    store.write_json(directory / "scenario.json", synthetic.scenario().model_dump(mode="json"))
    synthetic.write(client, directory / "client.samples")
    synthetic.write(server, directory / "server.samples")
    (directory / "links.samples").touch()
    return directory


def test_a_run_is_read_as_it_was_stored(tmp_path: Path) -> None:
    run = store.read_run(stored(tmp_path / "run"))
    assert run.scenario == synthetic.scenario()
    assert len(run.client.connection) == len(run.server.connection) == 1001
    assert run.traces == {}


def test_a_run_of_another_kernel_guest_or_scenario_is_another_run(tmp_path: Path) -> None:
    # whoever builds the kernel or the guest anew is shown no run of before
    kernel = KernelBuild("k1", "lab", tmp_path / "linux", tmp_path / "config")
    guest = Guest("g1", tmp_path / "guest")
    scenario = stored_runs.scenario()
    keys = [
        store.run_key(scenario, kernel, guest),
        store.run_key(scenario.with_(seed=scenario.seed + 1), kernel, guest),
        store.run_key(scenario, replace(kernel, id="k2"), guest),
        store.run_key(scenario, kernel, replace(guest, id="g2")),
    ]
    assert len(set(keys)) == 4
    # the same, wherever it lies
    elsewhere = replace(kernel, image=tmp_path / "other")
    assert store.run_key(scenario, elsewhere, guest) == keys[0]


def test_the_key_of_a_run_is_the_same_for_ever(tmp_path: Path) -> None:
    # another one, and nobody would find the runs that are stored: printf 'SCENARIO\nk1\ng1' |
    # sha256sum, of which the first 16 digits
    kernel = KernelBuild("k1", "lab", tmp_path / "linux", tmp_path / "config")
    scenario = stored_runs.scenario()
    digest = hashlib.sha256(scenario.key_text().encode() + b"\nk1\ng1").hexdigest()
    key = store.run_key(scenario, kernel, Guest("g1", tmp_path / "guest"))
    assert key == digest[:16]
    assert store.place(key) == f"runs/{key}"


def test_the_names_of_the_documents_are_those_that_are_documented() -> None:
    names = "scenario.json", "build.json", "result.json", "cost.json"
    assert names == store.DOCUMENTS
    assert names == (store.SCENARIO, store.BUILD, store.RESULT, store.COST)
    assert (store.SERIES, store.DOCUMENT) == ("series.parquet", "comparison.json")


def test_a_store_makes_its_directories_or_says_that_it_cannot(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    assert store.Store(deep, is_written=False).keys() == []
    assert not deep.parent.exists()
    assert store.Store(deep).keys() == []
    assert [each.name for each in deep.iterdir()] == ["runs"]
    # whose directories are there, and take no files, not even of root's
    with pytest.raises(MptcplabError, match=r"^cannot write to /proc/self: No such file"):
        store.make_directory(Path("/proc/self"))
    (tmp_path / "file").touch()
    with pytest.raises(MptcplabError, match=rf"^cannot write to {tmp_path}/file/x: Not a dir"):
        store.make_directory(tmp_path / "file" / "x")


def test_a_document_is_indented_by_one_and_ends_with_a_line(tmp_path: Path) -> None:
    store.write_json(tmp_path / "x.json", {"b": {"c": 1}, "a": 2})
    assert (tmp_path / "x.json").read_text() == '{\n "b": {\n  "c": 1\n },\n "a": 2\n}\n'


def test_a_model_within_a_document_is_written_as_json(tmp_path: Path) -> None:
    class Place(BaseModel):
        directory: Path
        files: frozenset[str]

    # JSON has neither paths nor sets: they become a text and a list
    content = {"place": Place(directory=Path("runs/1"), files=frozenset({"client.samples"}))}
    store.write_json(tmp_path / "x.json", content)
    assert json.loads((tmp_path / "x.json").read_text()) == {
        "place": {"directory": "runs/1", "files": ["client.samples"]}
    }


def test_files_that_are_missing_or_cut_off_are_named(tmp_path: Path) -> None:
    run = stored(tmp_path / "run")
    samples = run / "client.samples"
    samples.write_bytes(samples.read_bytes()[:-1])
    with pytest.raises(MptcplabError, match=r"client.samples: the record at offset \d+ is cut off"):
        store.read_run(run)
    samples.unlink()
    with pytest.raises(MptcplabError, match=r"client.samples: cannot be read"):
        store.read_run(run)
    resolved = json.loads((run / "scenario.json").read_text())
    del resolved["seed"]
    store.write_json(run / "scenario.json", resolved)
    with pytest.raises(
        MptcplabError, match=r"scenario.json: not the scenario of a run: seed: Field"
    ):
        store.read_run(run)
    (run / "scenario.json").write_text("{")
    with pytest.raises(MptcplabError, match=r"scenario.json: not JSON"):
        store.read_run(run)


def request(tmp_path: Path) -> resolve.Request:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "t.csv").write_text(TRACE)
    (tmp_path / "two" / "t.csv").write_text(TRACE.replace("10", "20"))
    file = tmp_path / "scenario.toml"
    file.write_text(
        '[[path]]\nname = "a"\ndelay = "5ms"\ntrace = "one/t.csv"\n'
        '[[path]]\nname = "b"\ndelay = "5ms"\nrate = "1mbit"\n'
        '[path.up.trace]\nfile = "two/t.csv"\noffset = "1s"\nrepeat = false\n'
    )
    return resolve.load_file(file, Flags())


def test_each_trace_is_kept_once_with_how_it_was_played(tmp_path: Path) -> None:
    asked = request(tmp_path)
    run = stored(tmp_path / "run")
    store.keep_traces(run, asked.base, asked.traces)
    assert sorted(file.name for file in (run / "traces").iterdir()) == ["2-t.csv", "t.csv"]
    found = store.read_run(run).traces
    assert list(found) == [("a", "up"), ("a", "down"), ("b", "up")]
    assert found["a", "up"] == found["a", "down"]
    kept = found["b", "up"]
    assert (kept.file, kept.offset_ns, kept.repeat) == (run / "traces/2-t.csv", 10**9, False)
    assert kept.file.read_bytes() == (tmp_path / "two" / "t.csv").read_bytes()


def test_a_baseline_keeps_the_traces_of_its_path(tmp_path: Path) -> None:
    asked = request(tmp_path)
    run = stored(tmp_path / "run")
    store.keep_traces(run, asked.base.single_path("b"), asked.traces)
    assert list(store.read_run(run).traces) == [("b", "up")]


def test_a_trace_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    asked = request(tmp_path)
    (tmp_path / "one" / "t.csv").write_text(TRACE.replace("5", "6"))
    with pytest.raises(MptcplabError, match=r"t.csv was changed in the meantime; run it again"):
        store.keep_traces(stored(tmp_path / "run"), asked.base, asked.traces)


def test_traces_json_of_something_else_is_reported(tmp_path: Path) -> None:
    run = stored(tmp_path / "run")
    for content in ("[]", '{"a": {"up": {}}}', '{"a": {"up": {"file": "x", "mode": 1}}}'):
        (run / "traces.json").write_text(content)
        with pytest.raises(MptcplabError, match="not the list of a run's traces"):
            store.read_run(run)


def test_a_sinr_is_read_if_it_is_wanted_and_there(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(TRACE)
    wanted, not_wanted = trace_file.read(file, sinr=True), trace_file.read(file)
    assert wanted.sinr_db is not None
    assert wanted.sinr_db.tolist() == [-3, 2.5]
    assert not_wanted.sinr_db is None
    file.write_text(TRACE.replace("-3", "loud"))
    assert trace_file.read(file).rate_bps is not None
    with pytest.raises(link_trace.TraceError, match='line 2, column "sinr_db": "loud"'):
        trace_file.read(file, sinr=True)


def test_what_dead_processes_left_is_removed_and_what_is_held_is_not(tmp_path: Path) -> None:
    runs = store.Store(tmp_path)
    (tmp_path / "runs" / ".partial-0123-dead").mkdir()
    (tmp_path / ".partial-runs.parquet-dead").mkdir()
    with runs.new_run("4567") as directory:
        (directory / "file").touch()
        store.Store(tmp_path).remove_abandoned()
        assert [each.name for each in (tmp_path / "runs").iterdir()] == [directory.name]
        assert [each.name for each in tmp_path.iterdir()] == ["runs"]
    assert runs.keys() == ["4567"]
    assert (runs.directory("4567") / "file").exists()


def test_an_error_in_a_run_leaves_the_former_one(tmp_path: Path) -> None:
    runs = store.Store(tmp_path)
    with runs.new_run("0123") as directory:
        store.write_json(directory / "result.json", {"first": True})
    with pytest.raises(FileNotFoundError), runs.new_run("0123"):
        raise FileNotFoundError
    assert runs.keys() == ["0123"]
    assert documents.read_json(runs.directory("0123") / store.RESULT) == {"first": True}


def keep(runs: store.Store, *kept: str) -> None:
    with runs.new_run("0123") as directory:
        for name in (store.RESULT, *kept):
            store.write_json(directory / name, {})


def test_who_makes_the_same_run_meanwhile_takes_no_records_away(tmp_path: Path) -> None:
    """A sweep, which keeps series, ends after a comparison, which goes on to draw its records."""
    runs = store.Store(tmp_path)
    with runs.new_run("0123") as directory:
        store.write_json(directory / store.RESULT, {})
        store.write_json(directory / store.SERIES, {})
        keep(store.Store(tmp_path), "client.samples")
    assert store.has_records(runs.directory("0123"))
    # what was there before it began is replaced: somebody asked for it
    keep(runs, store.SERIES)
    assert not store.has_records(runs.directory("0123"))
    # and what keeps more takes its place in any case
    with runs.new_run("0123") as directory:
        store.write_json(directory / store.RESULT, {})
        store.write_json(directory / "client.samples", {})
        keep(store.Store(tmp_path), store.SERIES)
    assert store.has_records(runs.directory("0123"))
    assert [each.name for each in (tmp_path / "runs").iterdir()] == ["0123"]


def test_of_two_that_keep_as_much_the_first_that_ended_stays(tmp_path: Path) -> None:
    first, second = store.Store(tmp_path), store.Store(tmp_path)
    with second.new_run("0123") as late:
        store.write_json(late / store.RESULT, {"by": "the second"})
        with first.new_run("0123") as early:
            store.write_json(early / store.RESULT, {"by": "the first"})
    kept = documents.read_json(first.directory("0123") / store.RESULT)
    assert kept == {"by": "the first"}


def test_a_former_run_is_there_until_the_new_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks finds one of them, whatever is renamed when."""
    runs = store.Store(tmp_path)
    keep(runs)
    there: list[bool] = []
    rename = Path.rename

    def looking(self: Path, target: Path) -> Path:
        there.append(runs.directory("0123").exists())
        try:
            return rename(self, target)
        finally:
            there.append(runs.directory("0123").exists())

    monkeypatch.setattr(Path, "rename", looking)
    keep(runs)
    assert there == [True] * len(there)


def test_the_result_of_a_run_is_its_entry(tmp_path: Path) -> None:
    entry = stored_runs.keep(tmp_path, stored_runs.scenario(), FAST, SLOW)
    runs = store.Store(tmp_path)
    (key,) = runs.keys()
    # the seconds of this machine are no part of it
    assert runs.result(key) == entry.model_copy(update={"wall_s": None})


@pytest.mark.parametrize("content", ["", "[]"])
def test_a_result_that_is_not_whole_is_none(tmp_path: Path, content: str) -> None:
    """As a power failure leaves it: the run is to be made again."""
    runs = store.Store(tmp_path)
    with runs.new_run("0123") as directory:
        (directory / "result.json").write_text(content)
    for key in ("0123", "4567"):
        assert not runs.has(key)
        assert runs.result(key) is None


def test_why_runs_failed_is_kept_until_they_succeed(tmp_path: Path) -> None:
    runs = store.Store(tmp_path)
    assert runs.failed() == []
    about = stored_runs.fail(tmp_path, "0123", synthetic.scenario())
    assert store.Store(tmp_path).failed() == ["0123"]
    assert [each.name for each in (tmp_path / "failed").iterdir()] == ["0123.json"]
    failure = runs.failure("0123")
    assert failure is not None
    assert failure.entry == about["entry"]
    assert failure.build == about["build"]
    runs.forget_failed("0123")
    runs.forget_failed("0123")
    assert runs.failed() == []
    assert runs.failure("0123") is None
    runs.keep_failed("0123", about)
    (tmp_path / "failed" / "0123.json").write_text("{")
    with pytest.raises(MptcplabError, match=r"0123.json: not JSON"):
        runs.failure("0123")


def test_a_swept_run_shows_its_series_and_says_how_to_have_records(tmp_path: Path) -> None:
    run = stored(tmp_path / "out" / "runs" / "0123")
    whole = series.run_series(synthetic.scenario(), *synthetic.run(FAST, SLOW))
    series.write(whole, run / "series.parquet")
    for name in ("client.samples", "server.samples"):
        (run / name).unlink()
    message = rf"0123: its sweep kept no records.* run {run}/scenario.json --out {tmp_path}/out$"
    with pytest.raises(MptcplabError, match=message):
        store.read_run(run)
    assert series_text(run) == series.csv_text(whole)


def series_text(run: Path) -> str:
    """The series of a run, as text, or why it has none."""
    try:
        return series.csv_text(store.read_series(run))
    except MptcplabError as error:
        return str(error)


def test_it_is_known_what_a_run_keeps(tmp_path: Path) -> None:
    """By its files: whether it has records, has them somewhere, and can be drawn."""
    found = {}
    for names in ((), ("client.samples",), ("series.parquet",), ("archive.json",)):
        run = tmp_path / "-".join(("run", *names))
        run.mkdir()
        for name in names:
            (run / name).touch()
        found[names] = store.has_records(run), store.keeps_records(run), store.has_series(run)
    assert found == {
        (): (False, False, False),
        ("client.samples",): (True, True, True),
        ("series.parquet",): (False, False, True),
        ("archive.json",): (False, True, False),
    }


def test_where_records_are_that_are_kept_elsewhere_is_reported(tmp_path: Path) -> None:
    run = tmp_path / "out" / "runs" / "0123"
    run.mkdir(parents=True)
    about = {"url": "file:///far/0123.tar", "sha256": "0" * 64, "size": 1}
    store.write_json(run / "archive.json", about)
    with pytest.raises(MptcplabError) as error:
        store.require_records(run)
    assert str(error.value) == (
        f"{run}: its records are kept at file:///far/0123.tar; to fetch them: mptcplab results"
        f" fetch 0123 --out {tmp_path}/out"
    )
    (run / "archive.json").write_text("{}")
    with pytest.raises(MptcplabError, match=r"archive.json: not the place of a run.s records"):
        store.require_records(run)


def test_of_a_run_with_records_and_a_series_the_records_are_read(tmp_path: Path) -> None:
    run = stored(tmp_path / "run")
    (run / "series.parquet").write_text("no series")
    whole = series.run_series(synthetic.scenario(), *synthetic.run(FAST, SLOW))
    assert series_text(run) == series.csv_text(whole)
    read = store.read_run(run)
    assert read.directory == run
    assert read.client is read.samples["client"]
    assert read.server is read.samples["server"]


def test_captures_are_read_with_the_start_of_the_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write_json(tmp_path / "guest.json", synthetic.guest())
    monkeypatch.setattr(dissect, "read", lambda files: files)
    found: tuple[Any, int] = store.read_captures(tmp_path, ["client.pcapng"])
    assert found == ([tmp_path / "client.pcapng"], synthetic.T0)


def test_why_a_run_has_no_series_names_the_run_once(tmp_path: Path) -> None:
    run = stored(tmp_path / "run")
    (run / "scenario.json").write_text("{")
    assert series_text(run).startswith(f"{run}/scenario.json: not JSON")
    assert series_text(run).count(str(run)) == 1


def test_records_that_do_not_fit_together_are_reported_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stored(tmp_path / "run")

    def impossible(*_: object, of_sockets: bool) -> None:
        assert not of_sockets
        raise wrong

    monkeypatch.setattr(series, "run_series", impossible)
    wrong: Exception = ValueError("no bins")
    assert series_text(run).startswith(f"{run}: the stored files contradict each other")
    wrong = MptcplabError("no connection")
    assert series_text(run) == f"{run}: no connection"


def test_what_the_store_gives_is_in_its_directory(tmp_path: Path) -> None:
    runs = store.Store(tmp_path)
    assert runs.directory("0123") == tmp_path / "runs" / "0123"
    with runs.new_run("0123") as directory:
        assert directory.parent == tmp_path / "runs"
        assert runs.keys() == []
        store.write_json(directory / "result.json", {"status": "ok"})
    # others may read what is kept
    assert runs.directory("0123").stat().st_mode & 0o777 == 0o755
    assert runs.has("0123")
    (tmp_path / "failed").mkdir()
    for name in ("b.json", "a.json", ".partial-c.json", "d.txt"):
        (tmp_path / "failed" / name).touch()
    assert runs.failed() == ["a", "b"]
    left = [each / ".partial-x-dead" for each in (tmp_path, tmp_path / "runs", tmp_path / "failed")]
    for each in left:
        each.mkdir(exist_ok=True)
    runs.remove_abandoned()
    assert [each for each in left if each.exists()] == []


SEVERAL = Flags(
    path=("a:link=l,delay=1ms", "b:20mbit,10ms", "t:link=l,delay=1ms"),
    link=("l:10mbit,10ms",),
    connection=("m:paths=a/b", "t:paths=t,transport=tcp,start=5s"),
    duration="20s",
)


def read_as(directory: Path, flags: Flags, *hosts: str) -> store.StoredRun:
    """A run of these flags; the samples of each host are without records, and not each other."""
    samples = {host: synthetic.run(FAST, SLOW)[0] for host in hosts}
    scenario = resolve.from_flags(flags).base
    return store.StoredRun(directory, scenario, samples, {("a", "up"): TRACE_SOURCE})


TRACE_SOURCE = link_trace.Source(Path("t.csv"), "0123")
EDGES = np.array([0, 10, 20])


def test_the_decisions_of_a_run_are_of_its_only_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = read_as(tmp_path, Flags(path=("a:1mbit,1ms", "b:1mbit,1ms")), "client", "server")
    panel = Panel("t", "segments", ())

    def decided(*given: object) -> list[Panel]:
        assert all(map(is_, given, (run.scenario, run.client, run.server, EDGES)))
        assert len(given) == 4
        return [panel]

    monkeypatch.setattr(series, "decision_panels", decided)
    assert run.decisions(RunSeries(EDGES, ())) == [panel]


def test_the_decisions_of_several_connections_are_reported_with_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = read_as(tmp_path, SEVERAL, "client", "server", "client2", "server2")
    made = np.zeros(2, records.LINK_DTYPE)
    made["time_ns"] = 7, 8
    read: list[Path] = []

    def links(file: Path) -> Records:
        read.append(file)
        return made

    monkeypatch.setattr(records, "read_links", links)
    asked: list[tuple[object, ...]] = []

    def decided(*given: object) -> list[Panel]:
        asked.append(given)
        return [Panel("t", "segments", (), side=side) for side in ("", "up")]

    monkeypatch.setattr(series, "decision_panels", decided)
    found = run.decisions(RunSeries(EDGES, ()))
    assert [panel.side for panel in found] == ["m", "m up", "t", "t up"]
    assert read == [tmp_path / "links.samples"]
    # the bins of all are since the first record of the links
    assert asked == [
        (run.scenario.alone(pair), run.samples[client], run.samples[server], EDGES, 7)
        for pair, (client, server) in zip(
            run.scenario.pairs(), (("client", "server"), ("client2", "server2")), strict=True
        )
    ]


def test_the_series_of_one_connection_and_of_several_are_made_of_all_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = np.zeros(2, records.LINK_DTYPE)
    monkeypatch.setattr(records, "read_links", lambda _: made)
    given: list[tuple[object, ...]] = []

    def noting(name: str) -> Callable[..., None]:
        return lambda *each, **named: given.append((name, *each, *named.values()))

    for name in ("run_series", "shared_series"):
        monkeypatch.setattr(series, name, noting(name))
    one = read_as(tmp_path, Flags(path=("a:1mbit,1ms",), transport="tcp"), "client", "server")
    several = read_as(tmp_path, SEVERAL, "client", "server", "client2", "server2")
    one.series()
    several.series()
    expected: list[tuple[object, ...]] = [
        ("run_series", one.scenario, one.client, one.server, one.traces, True),  # no links
        ("shared_series", several.scenario, several.samples, made),
    ]
    for found, wanted in zip(given, expected, strict=True):
        assert len(found) == len(wanted)
        assert all(map(is_, found, wanted))


@pytest.mark.parametrize(
    ("free_bytes", "reason", "is_full"),
    [
        # a disk with less than a MiB is full
        ((1 << 20) - 1, "killed", True),
        (1 << 20, "killed", False),
        (1 << 20, "OSError: No space left on device", True),
        (1 << 20, "OSError: Disk quota exceeded", True),
    ],
)
def test_a_disk_is_full_by_its_space_or_by_the_words_of_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int, reason: str, is_full: bool
) -> None:
    out = store.Store(tmp_path)
    asked: list[Path] = []

    def disk_usage(directory: Path) -> SimpleNamespace:
        asked.append(directory)
        return SimpleNamespace(free=free_bytes)

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)
    assert out.is_full(reason) is is_full
    assert asked == [tmp_path]
