# SPDX-License-Identifier: GPL-2.0-only
"""The commands of README.md and docs/, page by page, run to their ends by a shell.

Comparisons have one seed instead of several. What is not run stands in NOT_RUN, with the reason;
tests/cli/test_docs.py has read it all the same.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mptcplab.lab.kernel import KernelBuild
from tests import docs_commands
from tests.docs_commands import PAGES, ROOT

#: Commands as patterns of a shell, and why they are not run here.
NOT_RUN = {
    "apt-get *": "installs packages",
    "cat *": "shows what is not there",
    "dask *": "never ends; tests/engine/test_cluster.py has clusters",
    "git *": "would need an address, or asks for the state of the clone",
    "grep *": "asks for the configuration of the host's kernel",
    "make *": "targets that CI makes, or that take from minutes to hours",
    "mptcplab *--cluster *": "needs a cluster; tests/engine/test_cluster.py has one",
    "mptcplab * nginx *": "needs /srv and root; tests/engine/test_exec.py has nginx",
    "mptcplab * tquic_client *": "needs the programs of a crate",
    "mptcplab bisect *": "needs a clone of Linux; make bisect-check has one",
    "mptcplab explain OUT/*": "of a cluster, see above",
    "mptcplab kernel build --source ARCHIVE*": "ARCHIVE is the reader's",
    "mptcplab * --kernel *mine": "only a reader's archive has this name",
    "mptcplab kernel compare *": "another kernel; tests/engine/test_kernel_compare.py has two",
    "mptcplab * --kernel *stock:PACKAGE.deb": "PACKAGE.deb is the reader's",
    "mptcplab kernel remove mine": "only a reader's archive has this name",
    "mptcplab kernel build --name 7.3": "make setup-kernels is not run",
    "mptcplab sweep * --kernel 6.12,7.3 *": "as of kernel build; 1,200 runs",
    "mptcplab leaderboard *": "ten minutes; tests/cli/test_leaderboard.py has a small one",
    "mptcplab papers publish docs/results": "of runs that take days",
    "mptcplab papers run all *": "takes days",
    "mptcplab papers * --variants": "takes an hour",
    "mptcplab papers * --variant *": "takes long; the quick part is run",
    "mptcplab report before after": "runs of the reader; tests/cli/test_report.py has several",
    "mptcplab results fetch *": "of a cluster, see above",
    "mptcplab selftests": "as of make selftests",
    "mptcplab selftests *": "builds further kernels, and takes minutes; make selftests",
    "mptcplab shell *": "waits for a person; tests/cli/test_exec_and_shell.py has one",
    "mptcplab show OUT/*": "of a cluster, see above",
    "mptcplab sweep */recovery.toml *": "900 runs",
    "mptcplab report recovery": "of these runs",
    "mptcplab sweep */slow-path.toml *": "604 runs",
    "mptcplab report slow-path *": "of these runs",
    "pip *": "changes the Python environment; tests/kernel/test_wheel.py installs the wheel",
    "podman *": "is not there; the image was built by another tool, docs/container.md",
    "python s*_cluster.py *": "needs a cluster, see above",
    "python3 -m venv *": "as of pip",
    "sha256sum *": "of nginx's file, see above",
    "uname *": "as of grep",
}
#: Of blocks, by page and language, that have another exit status than 0: an expectation is not met.
OTHER_STATUS = {("docs/expect.md", "console"): 4}
#: What the reader of a page has run before.
RUN_BEFORE = {
    "docs/results-store.md": "mptcplab run --path a:10mbit,10ms --path b:10mbit,20ms --duration 1s"
}


def stand_ins(directory: Path) -> str:
    """The search path with programs that run, or do not, as this file says."""
    names = directory / ".names"
    names.mkdir()
    cases = "".join(
        f"    {'*'.join(shlex.quote(x) if x else '' for x in pattern.split('*'))}) "
        f"echo not run: {shlex.quote(reason)} >&2; exit 0;;\n"
        for pattern, reason in NOT_RUN.items()
    )
    for program in docs_commands.PROGRAMS:
        real = shlex.quote(str(shutil.which(program) or "false"))
        if program == "mptcplab":
            real = f"{shlex.quote(sys.executable)} -m mptcplab"
        elif program.startswith("python"):
            real = shlex.quote(sys.executable)
        last = '[ "$1" = compare ] && set -- "$@" --repeat 1\n' if program == "mptcplab" else ""
        # What it calls itself, such as make for a kernel, is as it is.
        path = f"PATH={shlex.quote(os.environ['PATH'])}\n"
        text = f'#!/bin/sh\ncase "{program} $*" in\n{cases}esac\n{last}{path}exec {real} "$@"\n'
        (names / program).write_text(text)
        (names / program).chmod(0o755)
    local = directory / ".venv"
    local.mkdir()
    (local / "bin").symlink_to(names)
    return f"{names}:{os.environ['PATH']}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_works(page: Path, lab_kernel: KernelBuild, tmp_path: Path) -> None:
    assert lab_kernel  # built by now
    name = str(page.relative_to(ROOT))
    scripts = [x for x in docs_commands.blocks(page) if x.script and not x.text.startswith("--")]
    if not scripts:
        pytest.skip("a page without commands")
    docs_commands.make_files(name, tmp_path)
    results = tmp_path / "docs" / "results"
    shutil.copytree(ROOT / "docs" / "results", results)
    environment = {
        **os.environ,
        "PATH": stand_ins(tmp_path),
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "MPLBACKEND": "agg",
    }
    first = docs_commands.BEFORE + RUN_BEFORE.get(name, "") + "\n"
    for block in scripts:
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", first + block.script],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        print(done.stdout)
        expected = OTHER_STATUS.get((name, block.language), 0)
        assert done.returncode == expected, f"{block.place}:\n{block.script}{done.stdout[-2000:]}"
    if name == "docs/artefact.md":  # its `git status` shows no change
        for file in (ROOT / "docs" / "results").rglob("*.*"):
            copy = results / file.relative_to(ROOT / "docs" / "results")
            assert copy.read_bytes() == file.read_bytes(), copy
