# SPDX-License-Identifier: GPL-2.0-only
"""What users choose of the lab: the distribution's kernel to resemble, and the limits of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Whose arithmetic a run's kernel has (--kernel-like), and the variant with it: Debian's
#: linux-image-amd64 or linux-image-cloud-amd64. docs/flavours.md.
FLAVOURS: Mapping[str, str] = {"amd64": "lab", "cloud": "cloud"}
DEFAULT_FLAVOUR = "amd64"
#: What stands for the name of the kernel that is used without one.
CURRENT = "current"
#: The end of the names of Debian's packages of each of FLAVOURS.
DEBIAN_NAMES: Mapping[str, str] = {"amd64": "amd64", "cloud": "cloud-amd64"}
#: The environment variable with the file of a cluster's key.
KEY_VARIABLE = "MPTCPLAB_CLUSTER_KEY"


@dataclass(frozen=True)
class Limits:
    """When a run is ended from outside.

    `wall_s` limits its wall-clock time, and `disk_bytes` what it writes to the disk, all files
    together. A run has stalled if it uses `stall_cpu_s` of CPU time without reaching its next event
    (a guest program or a scheduler spins), or for `stall_wall_s` does not even want the CPU (it
    waits for something that cannot happen). CPU time, since on a loaded machine a healthy run may
    have to wait for its turn.
    """

    wall_s: float = 3600.0
    disk_bytes: int = 10 * 10**9
    stall_cpu_s: float = 20.0
    stall_wall_s: float = 120.0
