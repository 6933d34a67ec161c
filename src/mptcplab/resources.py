# SPDX-License-Identifier: GPL-2.0-only
"""The places of files other than Python: the sources of kernel and guest, experiments, cases.

In a clone they are where they are written; a wheel has them in the package, and has the lab kernel
and the guest program as well (lab/prebuilt.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKED: Final = Path(__file__).parent / "data"
_ROOT: Final = _PACKED if _PACKED.is_dir() else Path(__file__).parents[2]

KERNEL: Final = _ROOT / "kernel"
SCHEDULERS: Final = KERNEL / "mptcp" / "sched"
#: Headers shared by the kernel and programs.
UAPI: Final = KERNEL / "mptcp" / "uapi"
CONGESTION_CONTROLS: Final = KERNEL / "mptcp" / "cc"
SCHEDULER_TEMPLATES: Final = KERNEL / "template"
GUEST: Final = _ROOT / "guest"
#: What Debian packages for kernels without our patches are made from, beside KERNEL.
DKMS: Final = _ROOT / "dkms"
EXPERIMENTS: Final = _ROOT / "experiments"
CASES: Final = _ROOT / "cases"
DOCS: Final = _ROOT / "docs"
#: Only in a wheel.
PREBUILT: Final = _PACKED / "prebuilt"


def page(name: str, says: str) -> str:
    """A sentence on a page of docs/; nothing in a wheel, which has no pages."""
    return f"docs/{name} {says}." if (DOCS / name).is_file() else ""
