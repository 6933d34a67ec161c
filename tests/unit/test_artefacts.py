# SPDX-License-Identifier: GPL-2.0-only
"""Files that are sent to other machines arrive whole, or are refused."""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from pathlib import Path

import pytest

from mptcplab.errors import MptcplabError
from mptcplab.lab import artefacts
from mptcplab.lab.artefacts import Artefact, ArtefactError

CONTENT = b"\x7fELF" + bytes(range(256)) * 64


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def sent(tmp_path: Path) -> tuple[Artefact, bytes]:
    (tmp_path / "linux").write_bytes(CONTENT)
    return artefacts.pack("kernel 1", tmp_path / "linux")


def test_a_file_arrives_under_the_hash_of_its_content(sent: tuple[Artefact, bytes]) -> None:
    artefact, packed = sent
    assert len(packed) < len(CONTENT)
    artefacts.place(artefact, packed)
    file = artefacts.find(artefact)
    assert file.name == hashlib.sha256(CONTENT).hexdigest()
    assert file.read_bytes() == CONTENT
    assert os.access(file, os.X_OK)
    # nothing else is left, and to place it once more changes nothing
    before = file.stat().st_ino
    artefacts.place(artefact, packed)
    assert [f.stat().st_ino for f in file.parent.iterdir()] == [before]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (zlib.compress(CONTENT + b"x"), r"kernel 1 arrived broken: its SHA-256 is \w{12}\.\.\."),
        (zlib.compress(CONTENT)[:-9], "kernel 1 arrived broken: .*incomplete"),
        (b"what?", "kernel 1 arrived broken: "),
    ],
)
def test_broken_files_are_no_use(sent: tuple[Artefact, bytes], broken: bytes, message: str) -> None:
    artefact, _packed = sent
    with pytest.raises(ArtefactError, match=message):
        artefacts.place(artefact, broken)
    with pytest.raises(ArtefactError, match=r"kernel 1: .*cannot be read: No such file"):
        artefacts.find(artefact)


def test_changed_or_missing_files_are_refused(sent: tuple[Artefact, bytes], tmp_path: Path) -> None:
    artefact, packed = sent
    artefacts.place(artefact, packed)
    file = artefacts.find(artefact)
    file.write_bytes(CONTENT.replace(b"ELF", b"FLE"))
    with pytest.raises(
        ArtefactError, match=r"differs from the sent file: its SHA-256 is .*; remove it"
    ):
        artefacts.find(artefact)
    artefacts.place(artefact, packed)
    assert artefacts.find(artefact).read_bytes() == CONTENT
    with pytest.raises(MptcplabError, match=r"gone: cannot be read: No such file"):
        artefacts.pack("trace gone", tmp_path / "gone")
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(ArtefactError, match=r"kernel 1 cannot be kept in .*: Not a directory"):
        artefacts.place(*sent)
