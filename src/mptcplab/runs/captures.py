# SPDX-License-Identifier: GPL-2.0-only
"""The captures of a run, packet by packet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mptcplab.capture import dissect
from mptcplab.capture.dissect import Packets
from mptcplab.metrics import run_files
from mptcplab.runs import documents


def read(directory: Path, names: Sequence[str]) -> tuple[Packets, int]:
    """The packets in captures of a run, by their names, and when its workload started, in ns.

    Raises MptcplabError if they cannot be read.
    """
    start_ns = documents.read(directory / run_files.GUEST_OUTCOME, documents.GUEST).start_ns
    return dissect.read([directory / name for name in names]), start_ns
