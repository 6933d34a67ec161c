# SPDX-License-Identifier: GPL-2.0-only
"""The same bytes on other processors, which QEMU emulates: `make cpu-test`.

Runs are made here, and what starts their kernels is kept. A virtual machine of Debian's kernel, on
a copy of this machine's files that is thrown away, starts them again.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from mptcplab.lab import run_directory, stock_machine, stock_package
from tests import digests

#: The first has nothing beyond SSE3, where numpy cannot run; the last all that QEMU knows.
PROCESSORS = ("qemu64", "Nehalem", "Haswell", "max")
WITHOUT_NUMPY = ("qemu64",)
# Of Debian's kernel, in an order in which they can be loaded.
MODULES = ("netfs", "9pnet", "9pnet_virtio", "9p", "overlay")
BOOT = Path(__file__).parents[1] / "engine" / "programs" / "boot.c"
# An emulated processor is some fifty times slower.
LIMIT_S = 3600


@pytest.fixture(scope="module")
def here(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, str]]:
    """A directory with runs that can be started again, and the digests of those made here."""
    if not request.config.getoption("--processors"):
        pytest.skip("make cpu-test makes runs on other processors")
    kept = tmp_path_factory.mktemp("kept")
    begin = subprocess.Popen

    def keep(command: list[str], **how: Any) -> subprocess.Popen[bytes]:
        if how.get("cwd") is not None and Path(how["cwd"]).name == run_directory.GUEST:
            run = Path(how["cwd"]).parent
            copytree(run, kept / run.name, symlinks=True)
            # there is but one CPU
            words = re.sub(r"taskset --cpu-list \d+", "", shlex.join(command))
            settings = " ".join(
                shlex.quote(f"{name}={value}") for name, value in how["env"].items()
            )
            (kept / run.name / "again").write_text(f"exec env -i {settings} {words}\n")
        return begin(command, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mptcplab.lab.engine.subprocess.Popen", keep)
        made = dict([digests.plans(), *digests.runs(tmp_path_factory.mktemp("here"))])
    return kept, made


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a kernel of Debian, `vmlinuz`, and what it begins with, `initramfs`."""
    stock_machine.require()
    found = sorted(stock_package.packages_dir().glob("linux-image-*[0-9]-amd64*_amd64.deb"))
    if not found:
        pytest.fail(f"no kernel of Debian in {stock_package.packages_dir()}: make setup-stock")
    place = tmp_path_factory.mktemp("machine")
    names = "|".join(MODULES)
    unpacked = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", str(found[-1])], stdout=subprocess.PIPE, check=True
    )
    wanted = re.compile(rf"(?:.*/(?P<module>{names})\.ko(?P<packed>\.xz)?|\./boot/vmlinuz-.*)")
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(unpacked.stdout)) as archive:
        for member in archive:
            match = wanted.fullmatch(member.name) if member.isfile() else None
            if match is None:
                continue
            content = archive.extractfile(member).read()  # type: ignore[union-attr]
            if match["module"] is None:
                (place / "vmlinuz").write_bytes(content)
            else:
                number = MODULES.index(match["module"])
                files[f"{number:02}.ko"] = lzma.decompress(content) if match["packed"] else content
    assert len(files) == len(MODULES)
    program = place / "boot"
    subprocess.run(["cc", "-O2", "-Wall", "-static", "-o", program, BOOT], check=True)
    (place / "initramfs").write_bytes(stock_machine.initramfs(program.read_bytes(), files))
    return place


def script(kept: Path) -> str:
    """Starts each run again, and prints a digest of each file that it leaves."""
    lines = [f"cd {kept}"]
    for run in sorted(each.name for each in kept.iterdir()):
        lines.append(f"(cd {run}/guest && sh ../again > ../again.txt 2>&1 < /dev/null)")
        lines.append(f"tail -5 {run}/again.txt >&2")
        lines.append(f"find {run}/guest -maxdepth 1 -type f | xargs sha256sum")
    lines.append(f"cd {Path.cwd()} && exec {sys.executable} -m tests.digests")
    return "\n".join(lines)


def said(processor: str, machine: Path, kept: Path, out: Path) -> tuple[str, str]:
    """What the script has printed on a processor, and the errors."""
    (kept.parent / "again.sh").write_text(script(kept))
    command = [
        *("qemu-system-x86_64", "-accel", "tcg", "-cpu", processor, "-m", "3072"),
        *("-nodefaults", "-display", "none", "-no-reboot"),
        *("-serial", f"file:{out}/errors", "-serial", f"file:{out}/printed"),
        *("-kernel", str(machine / "vmlinuz"), "-initrd", str(machine / "initramfs")),
        *("-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"),
        *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host"),
        "-append",
        f"console=ttyS0 quiet panic=-1 mitigations=off -- / sh {kept.parent / 'again.sh'}",
    ]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    printed, errors = ((out / name).read_bytes().decode() for name in ("printed", "errors"))
    return printed, errors


@pytest.mark.parametrize("processor", PROCESSORS)
def test_another_processor_makes_no_difference(
    processor: str, here: tuple[Path, dict[str, str]], machine: Path, tmp_path: Path
) -> None:
    kept, made = here
    printed, errors = said(processor, machine, kept, tmp_path)
    again = {
        f"{run}/{name}": hashed[: len(digests.digest(b""))]
        for hashed, run, name in re.findall(r"(?m)^(\w{64})  (\w+)/guest/(\S+)\s*$", printed)
    }
    if processor in WITHOUT_NUMPY:
        # of SIGILL, before it could say what it needs
        assert "ended with wait status 0x4" in errors, errors
        again["plans"] = made["plans"]
    else:
        again |= json.loads(printed[printed.index("{") :])
    for name, here_it_is in made.items():
        print(f"{processor:8} {name:30} {here_it_is} {again.get(name)}")
    assert {name: again.get(name) for name in made} == made, errors
