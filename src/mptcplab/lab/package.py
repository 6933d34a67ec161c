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
from datetime import UTC, datetime
from pathlib import Path

from mptcplab import __version__, resources
from mptcplab.errors import MptcplabError
from mptcplab.lab import adapter, doctor
from mptcplab.scenario.scheduler import Scheduler

#: The lab's package, as DKMS knows it; Debian's name ends in -dkms.
NAME = "mptcplab-schedulers"
#: The time of each file, so that the same files give the same bytes: 2020-02-02, as in wheels.
TIME_S = 1580601600

# Of dkms/, dpkg's own; the others are source.
_SCRIPTS = ("postinst", "prerm")
_FOR_DPKG = ("control", *_SCRIPTS)
# Below kernel/mptcp.
_ADAPTER = (
    *("adapter/*", "compat.h", "framework.h", "mpsched.h", "params.h"),
    *("helpers.c", "params.c", "registry.c", "view.c"),
)
# The adapter, and the kernel's own modules with such names.
_OTHER_MODULES = ("adapter", "crypto_test", "diag", "token_test")
_DESCRIPTION = """\
packet schedulers for Multipath TCP, on the kernel's own net/mptcp
 Modules with packet schedulers from published papers: a sysctl chooses the
 scheduler of new MPTCP connections. Nothing of the kernel is replaced.
 .
 Linux 6.6 or later, with the headers of the kernel (linux-headers-amd64)."""
_OWN_DESCRIPTION = """\
packet scheduler {0} for Multipath TCP
 A module for the adapter of mptcplab-schedulers-dkms, whose source it
 contains. The sysctl net.mptcp.scheduler={0} chooses it."""


def check(own: Scheduler, *, anyway: bool) -> None:
    """Raises ValueError if the user's scheduler is none for such a kernel.

    Only its author knows if a function that the kernel lacks is its whole rule; `anyway`: it is
    not.
    """
    assert own.file is not None
    if own.name in _OTHER_MODULES:
        raise ValueError(f"there is a module mptcp_{own.name} already; choose another name")
    if (lost := adapter.rules_lost(own.file)) and not anyway:
        found = " and ".join(f"{rule} ({name})" for rule, name in lost.items())
        raise ValueError(
            f"{found}, which needs our patches for MPTCP; if it can do without, add --anyway"
        )


def make(out: Path, own: Scheduler | None = None) -> Path:
    """Makes the package of the lab's schedulers, or of the user's `own`; returns its file.

    A package of the user's has the time of the scheduler's file in its version: a later one
    replaces it. Raises MachineError without dpkg-deb, and MptcplabError if the package cannot be
    written.
    """
    program = doctor.require_tool("dpkg-deb", "dpkg")
    name, version = (NAME, __version__) if own is None else _own_version(own)
    file = out / f"{name}-dkms_{version}_all.deb"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="mptcplab-") as root:
            _fill(Path(root), name, version, own)
            done = subprocess.run(
                [program, "--root-owner-group", "-Zxz", "--build", root, file],
                env={**os.environ, "SOURCE_DATE_EPOCH": str(TIME_S)},
                capture_output=True,
                text=True,
                check=False,
            )
    except OSError as error:
        raise MptcplabError(f"cannot write {file}: {error.strerror}") from error
    if done.returncode:
        raise MptcplabError(f"cannot write {file}: {done.stderr.strip()}")
    return file


def _own_version(own: Scheduler) -> tuple[str, str]:
    assert own.file is not None
    time = datetime.fromtimestamp(int(own.file.stat().st_mtime), UTC)
    # Debian's names have no _
    name = own.name.replace("_", "-")
    return f"mptcplab-scheduler-{name}", f"{__version__}+{time:%Y%m%d%H%M%S}"


def _fill(root: Path, name: str, version: str, own: Scheduler | None) -> None:
    """The tree of a package, as dpkg-deb wants it."""
    source = root / "usr" / "src" / f"{name}-{version}"
    schedulers = _schedulers(own)
    modules = [f"mptcp_{file.stem}" for file in schedulers]
    values = {
        "NAME": name,
        "VERSION": version,
        "MODULES": " ".join(modules),
        "NEEDED": f", {NAME}-dkms (= {__version__})" if own else "",
        "DESCRIPTION": _OWN_DESCRIPTION.format(own.name) if own else _DESCRIPTION,
    }
    lab = resources.KERNEL / "mptcp"
    code = {Path("sched") / path.name: path.read_bytes() for path in schedulers}
    # compiled in vain unless a scheduler includes them
    parts = ["parts/*"] if any(b'"parts/' in content for content in code.values()) else []
    for path in (file for pattern in (*_ADAPTER, *parts) for file in lab.glob(pattern)):
        code[path.relative_to(lab)] = path.read_bytes()
    for path, content in code.items():
        _write(source / "lab" / path, content)
    for path in resources.DKMS.iterdir():
        folder = root / "DEBIAN" if path.name in _FOR_DPKG else source
        text = path.read_text()
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        _write(folder / path.name, text.encode())
    with (source / "dkms.conf").open("a") as conf:
        for number, module in enumerate(modules if own else ["mptcp_adapter", *modules]):
            conf.write(f'BUILT_MODULE_NAME[{number}]="{module}"\n')
            conf.write(f'DEST_MODULE_LOCATION[{number}]="/updates/dkms"\n')
    lines = ("# Before sysctl.d, where net.mptcp.scheduler may name a scheduler.", *modules, "")
    _write(root / "usr" / "lib" / "modules-load.d" / f"{name}.conf", "\n".join(lines).encode())
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.name in _SCRIPTS else 0o644)


def _schedulers(own: Scheduler | None) -> list[Path]:
    if own is None:
        return [resources.SCHEDULERS / f"{name}.c" for name in adapter.carried()]
    assert own.file is not None
    return [own.file]


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
