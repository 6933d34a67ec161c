# SPDX-License-Identifier: GPL-2.0-only
"""Records that are kept elsewhere come back as they were, or the reason is reported."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from mptcplab.errors import InputError, MachineError, MptcplabError
from mptcplab.runs import archive, store
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
    # what is broken or gone is reported
    about = archive.keep(memory, "1.tar.gz", b"records")
    fsspec.filesystem("memory").pipe_file("/share/runs/1.tar.gz", b"record?")
    with pytest.raises(MptcplabError, match=r"1\.tar\.gz: changed since it was stored"):
        archive.read(about)
    fsspec.filesystem("memory").rm("/share/runs/1.tar.gz")
    with pytest.raises(MptcplabError, match=r"memory://share/runs/1\.tar\.gz: "):
        archive.read(about)


def test_what_is_no_storage_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for url, message in (
        ("/share", r"--storage\n  /share: not a URL; accepted is a URL, such as file:///"),
        ("what://share", "what://share: Protocol not known: what"),
        (f"file://{tmp_path}/file/runs", r"file://.*/file/runs: .*Not a directory"),
    ):
        with pytest.raises(InputError if url == "/share" else MptcplabError, match=message):
            archive.require(url)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MachineError, match=r"^storage needs fsspec, .*\n.* .fsspec"):
        archive.require(f"file://{tmp_path}")


def test_records_elsewhere_are_fetched_by_the_key_of_a_run(
    memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Store(tmp_path / "out")
    full = tmp_path / "full"
    full.mkdir()
    store.write_json(full / store.SCENARIO, {"a": 1})
    (full / "client.samples").write_bytes(b"samples")
    about = archive.keep(memory, "b.tar.gz", archive.pack(full))
    for key in ("a", "b", "c"):
        with out.new_run(key) as run:
            store.write_json(run / store.SCENARIO, {"a": 1})
            if key != "a":
                store.write_json(run / archive.ARCHIVE, about)
    run = out.directory("b")
    assert (store.keeps_records(run), store.has_records(run)) == (True, False)
    again = rf"kept at memory://.*; to fetch them: mptcplab results fetch b --out {out.out}"
    with pytest.raises(MptcplabError, match=again):
        store.require_records(run)

    text = r"results fetch\n  d: no run of that key in .*; accepted"
    with pytest.raises(InputError, match=text) as unknown:
        store.fetch(out, ["b", "d"])
    assert unknown.value.problems[0].key == ""
    with monkeypatch.context() as patched:
        patched.setattr(archive, "extract", Mock(side_effect=OSError(28, "the disk is full")))
        with pytest.raises(MptcplabError, match=f"^{out.out}: the disk is full$"):
            store.fetch(out)
    assert store.fetch(out) == 2
    assert sorted(file.name for file in run.iterdir()) == ["client.samples", store.SCENARIO]
    # what is here is not fetched once more
    assert store.fetch(out, ["a", "b"]) == 0


def elsewhere(out: Store, memory: str, content: bytes) -> Path:
    """The directory of run a, whose records are this content on a storage."""
    about = archive.keep(memory, "a.tar.gz", content)
    with out.new_run("a") as run:
        (run / "mine").write_text("mine")
        store.write_json(run / archive.ARCHIVE, about)
    return out.directory("a")


# What is not from `archive.pack`, or not from it any more.


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for about, data in members:
            tar.addfile(about, io.BytesIO(data))
    return gzip.compress(content.getvalue())


def member(name: str, data: bytes = b"x", **about: Any) -> tuple[tarfile.TarInfo, bytes]:
    found = tarfile.TarInfo(name)
    found.size = len(data)
    for key, value in about.items():
        setattr(found, key, value)
    return found, data


def link(kind: bytes, name: str, to: str) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, b"", type=kind, linkname=to)


CUT = tar_of(member("a", b"x" * 5000), member("b", b"y" * 5000))
CUT = gzip.compress(gzip.decompress(CUT)[:3000])
ATTACKS = {
    "up": (tar_of(member("../../elsewhere")), "'../../elsewhere' is not a file of a run"),
    "hidden up": (tar_of(member("a/../../../elsewhere")), "is not a file of a run"),
    "absolute": (tar_of(member("/tmp/elsewhere")), "'/tmp/elsewhere' is not a file of a run"),
    "the run": (tar_of(member(".", b"", type=tarfile.DIRTYPE)), "'.' is not a file of a run"),
    "a link": (tar_of(link(tarfile.SYMTYPE, "a", "b")), "'a' is not a file of a run"),
    "through a link": (
        tar_of(link(tarfile.SYMTYPE, "a", "../../.."), member("a/elsewhere")),
        "'a' is not a file of a run",
    ),
    "a hard link": (
        tar_of(member("b"), link(tarfile.LNKTYPE, "a", "b")),
        "'a' is not a file of a run",
    ),
    "a pipe": (tar_of(member("a", b"", type=tarfile.FIFOTYPE)), "'a' is not a file of a run"),
    "twice": (tar_of(member("a"), member("a")), "File exists"),
    "file and folder": (tar_of(member("a"), member("a/b")), "File exists"),
    "cut off": (CUT, ""),
    "other bytes": (b"what?", ""),
    "no tar": (gzip.compress(b"what?"), ""),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_harmful_archive_leaves_nothing(memory: str, tmp_path: Path, attack: str) -> None:
    content, message = ATTACKS[attack]
    out = Store(tmp_path / "out")
    elsewhere(out, memory, content)
    before = everything(tmp_path)
    with pytest.raises(
        MptcplabError, match=rf"memory://share/runs/a\.tar\.gz: refused as .*{message}.*; accepted"
    ):
        store.fetch(out)
    assert everything(tmp_path) == before
    assert not Path("/tmp/elsewhere").exists()


@pytest.mark.parametrize("about", [[], {}, {"url": 1, "sha256": "a"}, {"url": "memory://a"}])
def test_a_run_without_the_place_of_its_records_is_reported(tmp_path: Path, about: Any) -> None:
    out = Store(tmp_path / "out")
    with out.new_run("a") as run:
        store.write_json(run / archive.ARCHIVE, about)
    with pytest.raises(MptcplabError, match=r"a/archive\.json: not the place of a run.s records"):
        store.fetch(out)


def everything(place: Path) -> dict[str, bytes | None]:
    return {
        str(each.relative_to(place)): each.read_bytes() if each.is_file() else None
        for each in place.rglob("*")
    }


def test_what_links_lead_to_is_not_packed(tmp_path: Path) -> None:
    """A guest can make any link in its directory; it would send any file of this machine."""
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_bytes(b"secret")
    run = tmp_path / "run"
    run.mkdir()
    (run / "client.samples").write_bytes(b"samples")
    (run / "file").symlink_to(tmp_path / "secret")
    (run / "directory").symlink_to(tmp_path / "secrets")
    os.mkfifo(run / "pipe")
    with tarfile.open(fileobj=io.BytesIO(archive.pack(run))) as tar:
        assert tar.getnames() == ["client.samples"]
