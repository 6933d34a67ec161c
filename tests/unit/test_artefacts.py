# SPDX-License-Identifier: GPL-2.0-only
"""Files that are sent to other machines arrive whole, or are refused."""

from __future__ import annotations

import hashlib
import os
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
    # a damaged one is replaced, and nothing else is left
    file.write_bytes(b"damaged")
    artefacts.place(artefact, packed)
    assert file.read_bytes() == CONTENT
    assert list(file.parent.iterdir()) == [file]


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
    with pytest.raises(ArtefactError, match=r"kernel 1: .* is gone"):
        artefacts.find(artefact)


def test_unreadable_files_are_reported(sent: tuple[Artefact, bytes], tmp_path: Path) -> None:
    with pytest.raises(MptcplabError, match=r"gone: cannot be read: No such file"):
        artefacts.pack("trace gone", tmp_path / "gone")
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(ArtefactError, match=r"kernel 1 cannot be kept in .*: Not a directory"):
        artefacts.place(*sent)
