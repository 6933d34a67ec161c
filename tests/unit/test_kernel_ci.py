# SPDX-License-Identifier: GPL-2.0-only
"""examples/kernel-ci: check.sh, with a program in place of mptcplab that notes how it is called.

And the recipes of services that call it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "examples" / "kernel-ci"
SCRIPT = EXAMPLES / "check.sh"
# It leaves the JUnit report that its last word names, and ends with the status of that name.
NOTING = """\
#!/bin/sh
echo "$*" >>"$NOTES/calls"
find "$TREE" | sort | cksum >>"$NOTES/trees"
for last; do :; done
name=$(basename "$last" .xml)
case "$1" in
kernel) name=build && echo "it compiles" >&2 ;;
compare | selftests) touch "$last" && mkdir -p "${last%.xml}/runs" ;;
report) touch "$last" ;;
esac
exit "$(cat "$NOTES/$name" 2>/dev/null || echo 0)"
"""
CHECKS = ("aggregation", "handover", "stream", "receive-window", "small-buffer")


class Checking:
    """The script with a tree, in a directory whose name has a space."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.out = place / "what comes out"
        self.tree = place / "a tree"
        self.tree.mkdir()
        self.notes = place / "notes"
        self.bin = place / "bin"
        self.bin.mkdir()
        self.program("mptcplab", NOTING)

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(self, statuses: Mapping[str, int] | None = None, *, selftests: str = "yes") -> int:
        """The exit status, if the build, checks and selftests end with these, the rest with 0."""
        return self.call(SCRIPT, self.tree, self.out, statuses=statuses, SELFTESTS=selftests)

    def call(
        self,
        *command: str | Path,
        cwd: Path | None = None,
        statuses: Mapping[str, int] | None = None,
        **settings: str,
    ) -> int:
        shutil.rmtree(self.notes, ignore_errors=True)
        self.notes.mkdir()
        for name, status in (statuses or {}).items():
            (self.notes / name).write_text(str(status))
        path = f"{self.bin}:{os.environ['PATH']}"
        places = {"NOTES": str(self.notes), "TREE": str(self.tree), "PATH": path}
        environment = {**os.environ, **places, **settings}
        return subprocess.run(command, env=environment, cwd=cwd, check=False).returncode

    def calls(self) -> list[str]:
        file = self.notes / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def trees(self) -> set[str]:
        """What the tree was, at each call."""
        return set((self.notes / "trees").read_text().splitlines())


@pytest.fixture
def checking(tmp_path: Path) -> Checking:
    return Checking(tmp_path)


def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*")}


def test_the_kernel_of_the_tree_is_not_that_of_other_commands(checking: Checking) -> None:
    assert checking.run() == 0
    build, *others = checking.calls()
    assert build == f"kernel build --source {checking.tree} --name kernel-ci"
    assert [call.split()[0] for call in others] == 5 * ["compare"] + ["selftests"]
    assert all("--kernel kernel-ci" in call for call in others)


@pytest.mark.parametrize("status", [1, 2, 3])
def test_what_is_left_is_of_this_tree(checking: Checking, status: int) -> None:
    assert checking.run({"stream": 4}) == 4
    assert {"stream/runs", "stream.html", "stream.xml"} <= files(checking.out)
    assert checking.run() == 0
    assert {"stream.txt", "stream.xml"} <= files(checking.out)
    assert not {"stream", "stream.html"} & files(checking.out)
    # nothing is run or left if the tree does not build
    (checking.out / "of somebody else.xml").touch()
    assert checking.run({"build": status}, selftests="") == status
    assert len(checking.calls()) == 1
    assert files(checking.out) == {"build.txt", "of somebody else.xml"}


@pytest.mark.parametrize(
    ("statuses", "ends_with"),
    [
        ({"handover": 3, "stream": 4}, 3),
        ({"handover": 4, "stream": 3}, 4),
        ({"handover": 3, "stream": 1, "small-buffer": 4}, 1),
        ({"handover": 4, "selftests": 1}, 1),
        ({"selftests": 4}, 4),
    ],
)
def test_the_exit_status_is_the_first_or_else_that_something_failed(
    checking: Checking, statuses: Mapping[str, int], ends_with: int
) -> None:
    assert checking.run(statuses) == ends_with
    assert [call.split()[0] for call in checking.calls()].count("compare") == len(CHECKS)


def test_the_build_is_seen_while_it_works(checking: Checking) -> None:
    """Two minutes of silence look like a script that hangs."""
    os.mkfifo(checking.place / "go on")
    slow = NOTING.replace("exit ", f"[ $1 = kernel ] && cat '{checking.place}/go on'\nexit ")
    checking.program("mptcplab", slow)
    checking.notes.mkdir()
    (checking.notes / "build").write_text("1")
    environment = {**os.environ, "NOTES": str(checking.notes), "TREE": str(checking.tree)}
    environment["PATH"] = f"{checking.bin}:{os.environ['PATH']}"
    with subprocess.Popen(
        ["timeout", "60", SCRIPT, checking.tree, checking.out],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        lines = [running.stderr.readline() for _ in range(2)]
        assert lines == [f"build   {checking.tree}\n", "it compiles\n"]
        assert running.poll() is None
        (checking.place / "go on").write_text("")
    assert running.returncode == 1
    assert (checking.out / "build.txt").read_text() == "it compiles\n"


@pytest.mark.parametrize("status", [130, 143])
def test_an_interrupt_ends_it_at_once(checking: Checking, status: int) -> None:
    assert checking.run({"aggregation": 4, "handover": status, "stream": 1}) == status
    assert "/handover.xml" in checking.calls()[-1]
    assert checking.run({"selftests": status}) == status


@pytest.mark.parametrize("out", [None, ".", "new/deep", "../a tree/kernel-ci", "../link/kernel-ci"])
def test_what_comes_out_is_not_put_into_the_tree(
    checking: Checking, out: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    (checking.place / "link").symlink_to(checking.tree)
    words = [] if out is None else [out]
    assert checking.call(SCRIPT, ".", *words, cwd=checking.tree) == 2
    assert "is inside TREE" in capfd.readouterr().err
    assert checking.calls() == []
    assert files(checking.tree) == set()
    # beside it, in a directory whose name begins like that of the tree
    assert checking.call(SCRIPT, ".", "../a tree's results", cwd=checking.tree) == 0


# --- the recipes

# What each recipe gets mptcplab with: a Python environment has a link that leads out of it.
FAKED = {
    "apt-get": "#!/bin/sh\n",
    "git": f'#!/bin/sh\nmkdir -p "$3/examples" && cp -R "{EXAMPLES}" "$3/examples"\n',
    "make": '#!/bin/sh\nmkdir -p "$2/.venv/bin" && ln -s /bin/sh "$2/.venv/bin/python3"\n',
}


def recipe(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text())


def reports(kept: Path) -> set[str]:
    return {path.name for path in kept.glob("*.xml")}


@pytest.fixture
def serving(checking: Checking) -> Checking:
    for name, text in FAKED.items():
        checking.program(name, text)
    return checking


def test_gitlab_runs_it_beside_the_tree_and_keeps_what_it_leaves(serving: Checking) -> None:
    job = recipe("gitlab.yml")["mptcp"]
    beside = serving.place / "beside"
    assert job["variables"] == {"BESIDE": "/tmp/beside"}
    settings = {"CI_PROJECT_DIR": str(serving.tree), "MPTCPLAB": "url", "BESIDE": str(beside)}

    def shell(lines: list[str], statuses: Mapping[str, int] | None = None) -> int:
        command = ("sh", "-e", "-c", "\n".join(lines))
        return serving.call(*command, cwd=serving.tree, statuses=statuses, **settings)

    assert shell(job["script"], {"stream": 4}) == 4
    assert len(serving.trees()) == 1
    assert files(serving.tree) == set()
    assert shell(job["after_script"]) == 0
    assert job["artifacts"]["paths"] == ["kernel-ci"]
    kept = serving.tree / "kernel-ci"
    assert reports(kept) == {f"{name}.xml" for name in CHECKS}
    assert (kept / "stream.html").exists()
    assert job["artifacts"]["reports"]["junit"] == "kernel-ci/*.xml"


def test_github_runs_it_beside_the_tree_and_keeps_what_it_leaves(serving: Checking) -> None:
    steps = recipe("github.yml")["jobs"]["mptcp"]["steps"]
    tree, own, *further = steps
    assert re.match("actions/checkout@", tree["uses"])
    serving.tree = serving.place / tree["with"]["path"]
    serving.tree.mkdir()
    shutil.copytree(EXAMPLES, serving.place / own["with"]["path"] / "examples" / EXAMPLES.name)
    *runs, upload = further
    for each in runs:
        assert serving.call("sh", "-e", "-c", each["run"], cwd=serving.place) == 0
    assert len(serving.trees()) == 1
    assert files(serving.tree) == set()
    assert reports(serving.place / upload["with"]["path"]) == {f"{name}.xml" for name in CHECKS}
