# SPDX-License-Identifier: GPL-2.0-only
"""The real kernel is built; what tests/unit/test_kernel.py pretends, make does here."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mptcplab import resources
from mptcplab.lab import doctor, kernel, kernel_tree
from mptcplab.lab.kernel import KernelBuild

pytestmark = pytest.mark.kernel

SCHEDULER = "sched/roundrobin.c"
ORIGINAL = resources.KERNEL


@pytest.fixture
def kernel_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of our kernel files, to be changed and built in the cache that all share; what was
    built is taken out of it again."""
    directory = tmp_path / "kernel"
    shutil.copytree(resources.KERNEL, directory)
    before = set((doctor.cache_dir() / "kernel").glob("*/linux"))
    monkeypatch.setattr(resources, "KERNEL", directory)
    yield directory
    unchanged = hashlib.sha256((ORIGINAL / "mptcp" / SCHEDULER).read_bytes()).hexdigest()
    for image in set((doctor.cache_dir() / "kernel").glob("*/linux")) - before:
        note = json.loads((image.parent / "build.json").read_text())
        # other tests, and other people, may have built theirs meanwhile
        if note["own_files"].get(SCHEDULER, unchanged) != unchanged:
            shutil.rmtree(image.parent)


def change(directory: Path, mark: int) -> None:
    """Another scheduler than before, and than in any earlier test."""
    with (directory / "mptcp" / SCHEDULER).open("a") as scheduler:
        scheduler.write(f"\n/* {directory} {mark} */\n")


def build_in_a_process(directory: Path) -> subprocess.Popen[str]:
    program = (
        "from pathlib import Path; from mptcplab import resources; from mptcplab.lab import kernel;"
        f"resources.KERNEL = Path({str(directory)!r});"
        "print(kernel.build().id)"
    )
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


def log_of_the_last_build() -> str:
    logs = (doctor.cache_dir() / "kernel").glob("trees/*/lab/build.log")
    return max(logs, key=lambda log: log.stat().st_mtime).read_text()


def test_a_kernel_that_is_built_is_not_built_again(lab_kernel: KernelBuild) -> None:
    before = lab_kernel.image.stat(), log_of_the_last_build()
    assert kernel.build() == lab_kernel
    assert kernel.current() == lab_kernel
    assert (lab_kernel.image.stat(), log_of_the_last_build()) == before


def test_the_kernel_is_a_program_without_libraries(lab_kernel: KernelBuild) -> None:
    done = subprocess.run([lab_kernel.image, "--version"], capture_output=True, text=True)
    assert done.stdout.startswith(kernel_tree.KERNEL_VERSION)


def test_a_change_in_one_of_our_files_compiles_that_file_only_and_once(
    kernel_files: Path, lab_kernel: KernelBuild
) -> None:
    first = lab_kernel
    note = kernel.tree_of(kernel.source_of(first).path) / "lab" / "built"
    if not (note.exists() and note.read_text() == first.id):
        change(kernel_files, 1)
        first = kernel.build()  # whatever was built in the tree before: now it is this
    change(kernel_files, 2)
    processes = [build_in_a_process(kernel_files) for _ in range(2)]
    ids = {process.communicate()[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    (build_id,) = ids
    assert build_id != first.id
    compiled = re.findall(r"^ +CC +(\S+)", log_of_the_last_build(), re.MULTILINE)
    assert compiled[0] == f"net/mptcp/lab/{SCHEDULER.removesuffix('.c')}.o"
    # The rest is what every link compiles: the version and the table of symbols.
    assert all(re.match(r"init/version|\.tmp_vmlinux", other) for other in compiled[1:])
