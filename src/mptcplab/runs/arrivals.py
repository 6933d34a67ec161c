# SPDX-License-Identifier: GPL-2.0-only
"""Runs from elsewhere: from workers that cannot reach the store, and stored records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.runs import archive, documents, store
from mptcplab.runs.store import Store
from mptcplab.runs.tasks import Done


def unpack(done: Done, out: Store) -> None:
    """Put the returned files of a run into a store.

    Raises OSError if that fails, MptcplabError if they are not the files of that run.
    """
    assert done.files is not None, "the run is in a store already, or failed"
    with out.new_run(done.key) as directory:
        archive.extract(done.files, directory, source=f"run {done.key}")
        if missing := [name for name in store.DOCUMENTS if not (directory / name).exists()]:
            raise MptcplabError(f"run {done.key}: arrived without {', '.join(missing)}")
        result = documents.read_entry(directory / store.RESULT)
        documents.read(directory / store.BUILD, documents.BUILD)
        documents.read(directory / store.COST, documents.COST)
        if result.result() != done.entry.result():
            raise MptcplabError(f"run {done.key}: its {store.RESULT} differs from the report")


def fetch(out: Store, keys: Sequence[str] = ()) -> int:
    """Fetch records that are kept elsewhere, of some runs of a store, or without keys of all.

    Returns the number of runs. Raises MptcplabError.
    """
    if unknown := set(keys) - set(out.keys()):
        problem = f"no run of that key in {out.out}; accepted is the name of a directory in runs"
        raise InputError([Problem("results fetch", "", key, problem) for key in sorted(unknown)])
    fetched = 0
    for key in keys or sorted(out.keys()):
        stored = out.directory(key)
        if (stored / archive.ARCHIVE).exists():
            try:
                about = documents.read(stored / archive.ARCHIVE, documents.ARCHIVED)
                content = archive.read(dict(about))
                with out.new_run(key) as directory:
                    archive.extract(content, directory, source=about.url)
                    _require_same(stored, directory, about.url)
            except OSError as error:
                raise MptcplabError(f"{out.out}: {error.strerror}") from error
            fetched += 1
    return fetched


def _require_same(stored: Path, fetched: Path, url: str) -> None:
    """Raises MptcplabError if the fetched files would replace another run."""
    for name in (store.SCENARIO, store.BUILD, store.RESULT):
        if (stored / name).exists() and (
            documents.read_json(stored / name) != documents.read_json(fetched / name)
        ):
            raise MptcplabError(f"{url}: not the run of {stored}: {name} differs")
