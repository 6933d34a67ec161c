# SPDX-License-Identifier: GPL-2.0-only
"""Stored runs of which one file is wrong, whatever it is: they are shown, or they are refused."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mptcplab import cli
from mptcplab.errors import MptcplabError
from mptcplab.metrics import series
from mptcplab.report import run_chart
from mptcplab.runs import documents, index, store
from mptcplab.runs.archive import ARCHIVE
from mptcplab.runs.entries import document
from mptcplab.scenario.workload import Bulk
from tests.mutations import mutations
from tests.unit import stored, synthetic
from tests.unit.synthetic import FAST, SLOW

RUN, SWEPT = "runs/mptcp0000", "runs/mptcp0001"
SHOW, EXPLAIN = f"show OUT/{RUN} --out PICTURES --data", f"explain OUT/{RUN}"
SWEPT_SHOW, REPORT = f"show OUT/{SWEPT} --out PICTURES", "report OUT --out PAGE"
LIST, QUERY = "results list --out OUT", "results query --json --out OUT FROM~runs"
SERIES = "results query --json --out OUT SELECT~max(value)~FROM~series"
#: What reads each file of a store.
READERS = {
    f"{RUN}/scenario.json": (SHOW, EXPLAIN, LIST, QUERY, REPORT),
    f"{RUN}/result.json": (LIST, QUERY, REPORT),
    f"{RUN}/build.json": (LIST, REPORT),
    f"{RUN}/cost.json": (LIST, QUERY),
    f"{RUN}/guest.json": (EXPLAIN, REPORT),
    f"{RUN}/traces.json": (SHOW, REPORT),
    f"{RUN}/client.samples": (SHOW, EXPLAIN, REPORT),
    f"{RUN}/links.samples": (SHOW, EXPLAIN, REPORT),
    f"{SWEPT}/scenario.json": (SWEPT_SHOW, LIST),
    f"{SWEPT}/series.parquet": (SWEPT_SHOW, SERIES, REPORT),
    f"{SWEPT}/archive.json": (f"explain OUT/{SWEPT}", "results fetch --out OUT"),
    "failed/0123.json": (LIST, QUERY),
    "comparison.json": (REPORT, "show OUT --out PICTURES"),
    "runs.parquet": (LIST, QUERY),
    "points.parquet": (LIST, QUERY),
}
# Of so many mutations of each document.
COUNT = 6


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with all that a store can have."""
    out = tmp_path_factory.mktemp("whole") / "out"
    both = [stored.keep(out, stored.scenario(seed=seed), FAST, SLOW) for seed in (1, 2)]
    run, swept = out / RUN, out / SWEPT
    links = synthetic.links(FAST, SLOW, duration_ns=2 * 10**9, interval_ns=10**8)
    links.tofile(run / "links.samples")
    store.write_json(run / store.COST, {"wall_s": 1.5, "memory_bytes": 10**7})
    (run / "t.csv").write_text("time_s,rate_mbit\n0,10\n1,5\n")
    source = {"file": "t.csv", "digest": "0" * 64}
    store.write_json(run / store.TRACES, {"fast": {"up": source}})
    series.write(store.read_series(swept), swept / store.SERIES)
    for name in ("client.samples", "server.samples"):
        (swept / name).unlink()
    about = {"url": f"file://{out}/nothing.tar.gz", "bytes": 1, "sha256": "0" * 64}
    store.write_json(swept / ARCHIVE, about)
    stored.fail(out, "0123", stored.scenario(seed=3))
    points = [{"key": "mptcp0000", "alone": [], "rate": 5}, {"key": "0123", "rate": 6}]
    index.keep_points(out, points)
    index.read(out)
    store.write_json(
        out / store.DOCUMENT, document(both, [], stored.BUILD, stored.scenario(seed=1))
    )
    return out


def broken(raw: bytes, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """What becomes of a file by a full disk, by others, or by a bit that flips."""
    at = chance.randrange(len(raw))
    yield "cut off", raw[:at]
    yield "empty", b""
    yield "not UTF-8", raw[:at] + b"\xff\xfe" + raw[at:]
    yield "deep", b'{"a":[' * 50_000
    yield "zeros", b"\0" * len(raw)
    yield "a huge number", b"1" + b"0" * 5000
    for _ in range(3):
        at = chance.randrange(len(raw))
        yield "a bit", raw[:at] + bytes([raw[at] ^ 1 << chance.randrange(8)]) + raw[at + 1 :]


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_wrong_is_reported_or_does_no_harm(
    name: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # drawing takes most of the time, and reads nothing more
    monkeypatch.setattr(run_chart, "write", lambda *_: [])
    chance = random.Random(name)
    raw = (whole / name).read_bytes()
    found: list[tuple[str, bytes | None]] = list(broken(raw, chance))
    if name.endswith(".json"):
        wrong = list(mutations(json.loads(raw)))
        for what, content in chance.sample(wrong, COUNT):
            found.append((what, json.dumps(content).encode()))
    for number, (what, content) in enumerate([*found, ("a directory", None), ("gone", None)]):
        out = tmp_path / f"{number}"
        shutil.copytree(whole, out)
        if name != store.DOCUMENT:
            (out / store.DOCUMENT).unlink()
        if not name.endswith(".parquet"):
            (out / index.TABLE).unlink()
        file = out / name
        file.unlink()
        if content is not None:
            file.write_bytes(content)
        elif what == "a directory":
            file.mkdir()
        for reader in READERS[name]:
            words = {"PICTURES": f"{tmp_path}/pictures", "PAGE": f"{tmp_path}/page.html"}
            call = [
                words.get(word, word.replace("OUT", str(out)).replace("~", " "))
                for word in reader.split()
            ]
            done = CliRunner().invoke(cli.cli, call)
            error = done.exception
            if error is None or isinstance(error, SystemExit):
                continue
            assert isinstance(error, MptcplabError), (what, reader, repr(error))
            # where records are kept is another place, and what is computed names no file
            elsewhere = "fetch" in reader or "the run failed" in str(error)
            assert elsewhere or str(out) in str(error), (what, reader, str(error))
            assert "\n" not in str(error).removesuffix("\n") or "mistake" in str(error), what
        shutil.rmtree(out)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (store.RESULT, '{"seed": "1"}', "result.json: not the result of a run: scheduler: Field"),
        (store.RESULT, "[1]", "not the result of a run: as a whole: Input should be an object"),
        (store.RESULT, "[" * 10**5, r"result\.json: not JSON: recursion limit exceeded"),
        (store.RESULT, "\0", r"result\.json: not JSON: expected value"),
    ],
)
def test_what_is_wrong_is_reported_with_the_file_and_the_key(
    name: str, content: str, message: str, whole: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(whole / RUN, tmp_path / "run")
    (run / name).write_text(content)
    with pytest.raises(MptcplabError, match=message):
        documents.read_entry(run / name)


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("metrics", "goodput_bps"), float("nan"), "metrics.goodput_bps: Input should be a finite"),
        (("metrics", "goodput_bps"), 10**30, "metrics.goodput_bps: Input should be less than"),
        (("seed",), True, "seed: Input should be a valid integer"),
        (("paths", 0, "share"), [1], "paths.0.share: Input should be a valid number"),
        (("directory",), "../../etc", "directory: Input should be a place below"),
    ],
)
def test_a_value_that_cannot_be_is_reported(
    keys: tuple[str | int, ...], value: Any, message: str, whole: Path, tmp_path: Path
) -> None:
    content: Any = json.loads((whole / RUN / store.RESULT).read_text())
    home = content
    for key in keys[:-1]:
        home = home[key]
    home[keys[-1]] = value
    (tmp_path / store.RESULT).write_text(json.dumps(content))
    with pytest.raises(MptcplabError, match=f"result.json: not the result of a run: {message}"):
        documents.read_entry(tmp_path / store.RESULT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_interval_ns": 0}, "sample_interval_ns: Input should be greater than 0"),
        ({"paths": []}, "paths: at least one is expected"),
        ({"seed": -1}, "seed: Input should be from 0 to"),
        (
            {"events": [{"at_ns": 0, "path": "fast", "action": "down", "every_ns": 1}]},
            "events: at most 50000 occurrences are possible",
        ),
        (
            {"workload": {"kind": "bulk", "connections": 10**6, "interval_ns": 1}},
            "workload: at most 100000 messages are possible",
        ),
        (
            {"events": [{"at_ns": 0, "path": "x", "action": "down"}]},
            "events: each should name a path or a link",
        ),
    ],
)
def test_a_scenario_that_does_not_fit_together_is_reported(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    content = stored.scenario().model_dump(mode="json") | change
    store.write_json(tmp_path / store.SCENARIO, content)
    with pytest.raises(
        MptcplabError, match=rf"scenario\.json: not the scenario of a run: .*{message}"
    ):
        store.read_scenario(tmp_path)


@pytest.mark.parametrize("interval_ns", [0, 1, 10**6])
def test_a_scenario_of_many_connections_is_read_whatever_their_interval(
    interval_ns: int, tmp_path: Path
) -> None:
    base = stored.scenario()
    load = Bulk(connections=10_000, interval_ns=interval_ns, duration_ns=20 * 10**9)
    crowd = base.model_copy(update={"workload": load})
    store.write_json(tmp_path / store.SCENARIO, crowd.model_dump(mode="json"))
    assert store.read_scenario(tmp_path) == crowd


def test_a_figure_that_is_missing_is_none(whole: Path, tmp_path: Path) -> None:
    content = json.loads((whole / RUN / store.RESULT).read_text())
    content["metrics"] = {"goodput_bps": 1.0}
    store.write_json(tmp_path / store.RESULT, content)
    metrics = documents.read_entry(tmp_path / store.RESULT).metrics
    assert metrics["goodput_bps"] == 1.0
    assert metrics["fairness"] is None
