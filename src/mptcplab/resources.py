# SPDX-License-Identifier: GPL-2.0-only
"""Where the files lie that are no Python: the kernel's and guest's sources, the experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: The checkout that the package was installed from.
_ROOT: Final = Path(__file__).parents[2]

KERNEL: Final = _ROOT / "kernel"
SCHEDULERS: Final = KERNEL / "mptcp" / "sched"
#: Headers of what the kernel and programs have to agree on.
UAPI: Final = KERNEL / "mptcp" / "uapi"
CONGESTION_CONTROLS: Final = KERNEL / "mptcp" / "cc"
SCHEDULER_TEMPLATES: Final = KERNEL / "template"
GUEST: Final = _ROOT / "guest"
EXPERIMENTS: Final = _ROOT / "experiments"
