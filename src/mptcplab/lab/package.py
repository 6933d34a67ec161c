# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of schedulers for kernels without our patches, as source for DKMS (dkms/).

The lab's package has the adapter and the schedulers that it carries. The package of a user's
scheduler has the adapter's source, too: it compiles the adapter to learn its symbols, and installs
the scheduler alone.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from mptcplab import __version__, resources
from mptcplab.errors import MptcplabError
from mptcplab.lab import adapter, doctor

#: The lab's package, as DKMS knows it; Debian's name ends in -dkms.
NAME = "mptcplab-schedulers"
#: The time of all files, so that the same files give the same bytes: 2020-02-02, as in wheels.
TIME_S = 1580601600

# Of dkms/, dpkg's own; the others are source.
_SCRIPTS = ("postinst", "prerm")
_FOR_DPKG = ("control", *_SCRIPTS)
# Below kernel/mptcp.
_ADAPTER = (
    *("adapter/*", "compat.h", "framework.h", "mpsched.h", "params.h", "parts/*.h"),
    *("helpers.c", "params.c", "registry.c", "view.c"),
)
# The adapter, and the kernel's own modules with such names.
_OTHER_MODULES = ("adapter", "crypto_test", "diag", "token_test")


def check(own: Path, *, anyway: bool) -> None:
    """Raises ValueError if the scheduler in a user's file is none for such a kernel.

    Only its author knows if a function that the kernel lacks is its whole rule; `anyway`: it is
    not.
    """
    if own.stem in _OTHER_MODULES:
        raise ValueError(f"there is a module mptcp_{own.stem} already; choose another name")
    if (lost := adapter.rules_lost(own)) and not anyway:
        found = " and ".join(f"{rule} ({name})" for rule, name in lost.items())
        raise ValueError(
            f"{found}, which needs our patches for MPTCP; if it can do without, add --anyway"
        )


def make(out: Path, own: Path | None = None) -> Path:
    """Makes the package of the lab's schedulers, or of the one in a user's file; returns its file.

    A package of the user's has the time of the scheduler's file in its version: a later one
    replaces it. Raises MachineError without dpkg-deb, and MptcplabError if the package cannot be
    written.
    """
    program = doctor.require_tool("dpkg-deb", "dpkg")
    try:
        with tempfile.TemporaryDirectory(prefix="mptcplab-") as root:
            if own is None:
                name, version = NAME, __version__
                carried = [resources.SCHEDULERS / f"{each}.c" for each in adapter.carried()]
                _fill(Path(root), name, version, carried)
            else:
                # Debian's names have no _
                name = f"mptcplab-scheduler-{own.stem.replace('_', '-')}"
                time = datetime.fromtimestamp(int(own.stat().st_mtime), UTC)
                version = f"{__version__}+{time:%Y%m%d%H%M%S}"
                _fill(Path(root), name, version, [own], needed=f"{NAME}-dkms (= {__version__})")
            file = out / f"{name}-dkms_{version}_all.deb"
            out.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(
                [program, "--root-owner-group", "-Zxz", "--build", root, file],
                env={**os.environ, "SOURCE_DATE_EPOCH": str(TIME_S)},
                capture_output=True,
                text=True,
                check=False,
            )
    except OSError as error:
        raise MptcplabError(f"cannot make a package in {out}: {error}") from error
    if done.returncode:
        raise MptcplabError(f"cannot make {file}: {done.stderr.strip()}")
    return file


def _fill(
    root: Path, name: str, version: str, schedulers: Sequence[Path], needed: str = ""
) -> None:
    """Makes the tree of a package for dpkg-deb; `needed` has the adapter's module, if not this."""
    source, lab = root / "usr" / "src" / f"{name}-{version}", resources.KERNEL / "mptcp"
    modules = [f"mptcp_{file.stem}" for file in schedulers]
    files = {source / "lab" / "sched" / file.name: file.read_bytes() for file in schedulers}
    # compiled in vain unless a scheduler includes them
    parts = ["parts/*.c"] if any(b'"parts/' in content for content in files.values()) else []
    for path in (file for pattern in (*_ADAPTER, *parts) for file in lab.glob(pattern)):
        files[source / "lab" / path.relative_to(lab)] = path.read_bytes()
    values = {
        "NAME": name,
        "VERSION": version,
        "MODULES": " ".join(modules),
        "NEEDED": f", {needed}" if needed else "",
    }
    for path in resources.DKMS.iterdir():
        text = path.read_text()
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        if path.name == "dkms.conf":
            for number, module in enumerate(modules if needed else ["mptcp_adapter", *modules]):
                text += f'BUILT_MODULE_NAME[{number}]="{module}"\n'
                text += f'DEST_MODULE_LOCATION[{number}]="/updates/dkms"\n'
        folder = root / "DEBIAN" if path.name in _FOR_DPKG else source
        files[folder / path.name] = text.encode()
    lines = ("# Before sysctl.d, where net.mptcp.scheduler may name a scheduler.", *modules, "")
    at_start = root / "usr" / "lib" / "modules-load.d" / f"{name}.conf"
    files[at_start] = "\n".join(lines).encode()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.name in _SCRIPTS else 0o644)
