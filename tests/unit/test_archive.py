# SPDX-License-Identifier: GPL-2.0-only
"""Records that are kept elsewhere come back as they were, or it is told why not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mptcplab.errors import InputError, MachineError, MptcplabError
from mptcplab.runs import archive, store, work
from mptcplab.runs.store import Store

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def memory() -> Iterator[str]:
    yield "memory://share/runs"
    fsspec.filesystem("memory").store.clear()


def test_what_is_kept_comes_back(memory: str, tmp_path: Path) -> None:
    for url in (memory, f"{memory}/", f"file://{tmp_path}/share/runs"):
        archive.require(url)
        about = archive.keep(url, "1.tar.gz", b"records")
        assert about["url"] == f"{url.rstrip('/')}/1.tar.gz"
        assert about["bytes"] == 7
        assert archive.read(about) == b"records"
        # once more is the same, and nothing else is there
        assert archive.keep(url, "1.tar.gz", b"records") == about
        files, path = fsspec.url_to_fs(url)
        assert [Path(name).name for name in files.ls(path, detail=False)] == ["1.tar.gz"]


def test_what_is_broken_or_gone_is_told(memory: str) -> None:
    about = archive.keep(memory, "1.tar.gz", b"records")
    fsspec.filesystem("memory").pipe_file("/share/runs/1.tar.gz", b"record?")
    with pytest.raises(MptcplabError, match=r"1\.tar\.gz: not what was kept there: its SHA-256 is"):
        archive.read(about)
    fsspec.filesystem("memory").rm("/share/runs/1.tar.gz")
    with pytest.raises(MptcplabError, match=r"memory://share/runs/1\.tar\.gz: "):
        archive.read(about)


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("/share", InputError, r"--storage\n  /share: no URL; accepted is a URL, such as file:///"),
        ("what://share", MptcplabError, "what://share: Protocol not known: what"),
    ],
)
def test_what_is_no_storage_is_told(url: str, error: type[MptcplabError], message: str) -> None:
    with pytest.raises(error, match=message):
        archive.require(url)


def test_what_is_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MptcplabError, match=r"file://.*/file/runs: .*Not a directory"):
        archive.require(f"file://{tmp_path}/file/runs")


def test_without_fsspec_it_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MachineError, match=r"to mend it: pip install 'mptcplab\[cluster\]'"):
        archive.require(f"file://{tmp_path}")


def test_records_that_are_elsewhere_are_fetched_by_the_key_of_their_run(
    memory: str, tmp_path: Path
) -> None:
    out = Store(tmp_path / "out")
    full = tmp_path / "full"
    full.mkdir()
    store.write_json(full / store.SCENARIO, {"a": 1})
    (full / "client.samples").write_bytes(b"samples")
    for key in ("a", "b"):
        with out.new_run(key) as run:
            store.write_json(run / store.SCENARIO, {"a": 1})
    about = archive.keep(memory, "b.tar.gz", work.pack(full))
    run = out.directory("b")
    store.write_json(run / archive.ARCHIVE, about)
    assert (store.keeps_records(run), store.has_records(run)) == (True, False)
    again = rf"kept at memory://.*; to have them here: mptcplab results fetch b --out {out.out}"
    with pytest.raises(MptcplabError, match=again):
        store.require_records(run)

    with pytest.raises(InputError, match=r"results fetch\n  c: no run of that key in .*; accepted"):
        work.fetch(out, ["b", "c"])
    assert work.fetch(out) == 1
    assert sorted(file.name for file in run.iterdir()) == ["client.samples", store.SCENARIO]
    # what is here is not fetched once more
    assert work.fetch(out, ["a", "b"]) == 0
