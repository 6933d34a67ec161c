# SPDX-License-Identifier: GPL-2.0-only
"""The places of files other than Python: the sources of kernel and guest, the experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: The checkout that the package was installed from.
_ROOT: Final = Path(__file__).parents[2]

KERNEL: Final = _ROOT / "kernel"
SCHEDULERS: Final = KERNEL / "mptcp" / "sched"
#: Headers shared by the kernel and programs.
UAPI: Final = KERNEL / "mptcp" / "uapi"
CONGESTION_CONTROLS: Final = KERNEL / "mptcp" / "cc"
SCHEDULER_TEMPLATES: Final = KERNEL / "template"
GUEST: Final = _ROOT / "guest"
EXPERIMENTS: Final = _ROOT / "experiments"
DOCS: Final = _ROOT / "docs"
