# SPDX-License-Identifier: GPL-2.0-only
"""Builds the wheel: the package with its data, and kernel and guest as programs (make wheel).

The programs are those of the cache, byte for byte, so that the runs are those of the clone. What
they are made from comes along, or is named to the version: `prebuilt/SOURCES.md`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from checks.command_line import parser_of
from mptcplab import __version__
from mptcplab.errors import MptcplabError, status_of
from mptcplab.lab import doctor, guest, kernel, prebuilt
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.prebuilt import Prebuilt

ROOT = Path(__file__).parents[1]
#: Where the build hook (scripts/wheel_data.py) finds the programs.
VARIABLE = "MPTCPLAB_PREBUILT"
_LICENCES = Path("/usr/share/common-licenses")
_LIBRARY_LICENCE = "LGPL-2.1"

_SOURCES = Path(__file__).with_name("wheel_sources.md")


def main() -> int:
    """Builds it, and prints its name and size."""
    parser = parser_of("wheel", __doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where to put it [dist]")
    options = parser.parse_args()
    return status_of(lambda: _make(options.out))


def _make(out: Path) -> int:
    made = make(out)
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")
    return 0


def make(out: Path) -> Path:
    """Builds the wheel into a directory; returns its file.

    Raises MptcplabError if it cannot be built, or if the sources of the programs cannot be named.
    """
    built, program = kernel.build(), guest.build()
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
        _gather(Path(name), built, program)
        stamps = {file: file.stat().st_mtime_ns for file in out.glob("*.whl")}
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
        done = subprocess.run(
            [*command, "--directory", str(out.absolute())],
            cwd=ROOT,
            env={**os.environ, VARIABLE: name},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    if done.returncode:
        raise MptcplabError(f"the wheel could not be built\n{done.stdout}")
    (made,) = (file for file in out.glob("*.whl") if file.stat().st_mtime_ns != stamps.get(file))
    return made


def _gather(directory: Path, built: KernelBuild, program: Guest) -> None:
    """Puts the programs into a directory, and says there what they are made from."""
    (directory / "kernel").mkdir()
    for name in ("linux", "config", "build.json"):
        shutil.copy(built.image.with_name(name), directory / "kernel" / name)
    shutil.copy(program.program, directory / prebuilt.GUEST)
    kernel.make_module_kit(built, directory / prebuilt.MODULE_KIT)
    source = kernel.source_of(built)
    about = Prebuilt(
        kernel=built.id,
        guest=program.id,
        source=source.digest,
        version=source.version,
        compiler=kernel.compiler_version(),
        sha256={
            name: hashlib.sha256((directory / name).read_bytes()).hexdigest()
            for name in prebuilt.FILES
        },
    )
    (directory / prebuilt.ABOUT).write_text(json.dumps(asdict(about), indent=1) + "\n")
    if source.path != doctor.DEBIAN_SOURCE:
        raise MptcplabError(
            f"the kernel is made from {source.path}, not from a package whose version can be named;"
            f" choose Debian's: mptcplab kernel build --source {doctor.DEBIAN_SOURCE}"
        )
    (directory / "SOURCES.md").write_text(
        _SOURCES.read_text().format(
            kernel_source=_source_package(doctor.DEBIAN_PACKAGE),
            archive=source.path.name,
            archive_sha256=source.digest,
            library_source=_source_package("libc6-dev"),
            compiler=kernel.compiler_version(),
            version=__version__,
            kernel=built.id,
            guest=program.id,
        )
    )
    try:
        shutil.copy(_LICENCES / _LIBRARY_LICENCE, directory / f"{_LIBRARY_LICENCE}.txt")
    except OSError as error:
        raise MptcplabError(f"the licence of the C library is missing: {error}") from error


def _source_package(package: str) -> str:
    """Name and version of the source package that an installed Debian package was built from."""
    command = ["dpkg-query", "--show", "--showformat=${source:Package} ${source:Version}"]
    try:
        done = subprocess.run([*command, package], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise MptcplabError(
            f"the version of Debian's {package} is unknown, and the wheel has to name it: {error}"
        ) from error
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
