# SPDX-License-Identifier: GPL-2.0-only
"""What a wheel has besides the Python package: the files that a clone has beside it.

With MPTCPLAB_PREBUILT, a directory that `make wheel` fills, also kernel and guest as programs; then
the wheel is for Linux on x86-64. Without, it can only build them. An editable installation needs
none of this: resources.py finds the files of the clone.
"""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DATA = ("kernel", "guest", "dkms", "experiments", "cases", "docs/cases/verdicts.json")


class WheelData(BuildHookInterface):
    """Called by hatchling: pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "standard":
            return
        into = build_data["force_include"]
        for name in DATA:
            into[str(Path(self.root, name))] = f"mptcplab/data/{name}"
        prebuilt = os.environ.get("MPTCPLAB_PREBUILT")
        if prebuilt:
            into[prebuilt] = "mptcplab/data/prebuilt"
            build_data["pure_python"] = False
            # a wheel for any libc: the programs are static, and the package has no other
            build_data["tag"] = "py3-none-linux_x86_64"
