# SPDX-License-Identifier: GPL-2.0-only
"""examples/kernel-ci/check.sh, with a program in place of mptcplab that notes how it is called."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "kernel-ci" / "check.sh"
NOTING = """\
#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in
kernel*) exit "$BUILD" ;;
compare*/stream\\ *) exit "$STREAM" ;;
report*) touch "$4" ;;
esac
"""


class Checking:
    """The script with a tree, in a directory whose name has a space."""

    def __init__(self, place: Path) -> None:
        self.out = place / "what comes out"
        self.tree = place / "a tree"
        self.tree.mkdir()
        self.file = place / "calls"
        self.bin = place / "bin"
        self.bin.mkdir()
        (self.bin / "mptcplab").write_text(NOTING)
        (self.bin / "mptcplab").chmod(0o755)

    def run(self, *, build: int = 0, stream: int = 0) -> int:
        """The exit status, if a build and one of the checks end with these."""
        settings = {"CALLS": str(self.file), "BUILD": str(build), "STREAM": str(stream)}
        path = f"{self.bin}:{os.environ['PATH']}"
        environment = {**os.environ, **settings, "PATH": path, "SELFTESTS": "yes"}
        self.file.write_text("")
        command = [SCRIPT, self.tree, self.out]
        return subprocess.run(command, env=environment, check=False).returncode

    def calls(self) -> list[str]:
        return self.file.read_text().splitlines()


@pytest.fixture
def checking(tmp_path: Path) -> Checking:
    return Checking(tmp_path)


def test_the_kernel_of_the_tree_is_not_that_of_other_commands(checking: Checking) -> None:
    assert checking.run() == 0
    build, *others = checking.calls()
    assert build == f"kernel build --source {checking.tree} --name kernel-ci"
    assert [call.split()[0] for call in others] == 5 * ["compare"] + ["selftests"]
    assert all("--kernel kernel-ci" in call for call in others)


def test_what_is_left_is_of_this_tree(checking: Checking) -> None:
    assert checking.run(stream=4) == 4
    assert (checking.out / "stream.html").exists()
    (checking.out / "stream" / "runs").mkdir(parents=True)
    assert checking.run() == 0
    left = {path.name for path in checking.out.iterdir()}
    assert "stream.txt" in left
    assert not left & {"stream", "stream.html"}


@pytest.mark.parametrize("status", [1, 3])
def test_nothing_is_run_without_a_kernel(checking: Checking, status: int) -> None:
    assert checking.run(build=status) == status
    assert len(checking.calls()) == 1
