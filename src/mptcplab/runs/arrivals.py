# SPDX-License-Identifier: GPL-2.0-only
"""Records of runs that come from storage elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.runs import archive, documents
from mptcplab.runs.store import Store


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
            except OSError as error:
                raise MptcplabError(f"{out.out}: {error.strerror}") from error
            fetched += 1
    return fetched
