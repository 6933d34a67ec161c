# SPDX-License-Identifier: GPL-2.0-only
"""What people choose of the lab: whose kernel it resembles, and when a run is ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Whose arithmetic a run's kernel has (--kernel-like), and the variant that has it: Debian's
#: linux-image-amd64 or linux-image-cloud-amd64. docs/flavours.md.
FLAVOURS: Mapping[str, str] = {"amd64": "lab", "cloud": "cloud"}
DEFAULT_FLAVOUR = "amd64"
#: What the environment says the file of a cluster's key is.
KEY_VARIABLE = "MPTCPLAB_CLUSTER_KEY"


@dataclass(frozen=True)
class Limits:
    """When a run is ended from outside.

    `wall_s` limits its wall-clock time, and `disk_bytes` what it writes to the disk, all files
    together. A run has stalled if it has not come to its next event while it used `stall_cpu_s` of
    CPU time (a guest program or a scheduler that spins), or for `stall_wall_s` without wanting any
    (it waits for something that cannot come). CPU time, since on a loaded machine a healthy run may
    have to wait for its turn.
    """

    wall_s: float = 3600.0
    disk_bytes: int = 10 * 10**9
    stall_cpu_s: float = 20.0
    stall_wall_s: float = 120.0
