# SPDX-License-Identifier: GPL-2.0-only
"""What only some commands need: which packages, and what is said without them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mptcplab import extras, resources
from mptcplab.errors import MachineError
from mptcplab.runs import store
from tests.cli.calls import call

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"]
PATHS = ("--path", "wifi:50mbit,10ms", "--path", "lte:20mbit,40ms")
#: Tools of the clone alone, which `make` calls.
TOOLS = resources.DOCS.parent / "src" / "mptcplab" / "tools"
#: Makes the packages of all extras impossible to import, then runs the script that follows.
WITHOUT = f"""
import runpy, sys
for name in {sorted({name for names in extras.EXTRAS.values() for name in names})!r}:
    sys.modules[name] = None
runpy.run_path(sys.argv[2], run_name="__main__")
"""


def mptcplab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return call(*arguments, through=(sys.executable, "-c", WITHOUT))


def module(requirement: str) -> str:
    return re.split(r"[><=]", requirement)[0].replace("-", "_")


def test_the_extras_are_those_of_the_project() -> None:
    users = {name: list(map(module, OPTIONAL[name])) for name in extras.EXTRAS}
    assert users == {name: list(modules) for name, modules in extras.EXTRAS.items()}
    (everything,) = OPTIONAL["all"]
    assert sorted([*everything[len("mptcplab[") : -1].split(","), "cluster", "gym"]) == sorted(
        users
    )


def test_no_module_imports_the_packages_of_an_extra_at_its_head_without_saying_so() -> None:
    # `cluster` is imported by those who have a cluster alone, and its error is reported
    names = {name for modules in extras.EXTRAS.values() for name in modules}
    found = {
        str(file.relative_to(ROOT / "src" / "mptcplab"))
        for file in (ROOT / "src" / "mptcplab").rglob("*.py")
        if TOOLS not in file.parents
        for line in file.read_text().splitlines()
        if (words := line.split())[:1] in (["import"], ["from"])
        and not line.startswith(" ")
        and words[1].split(".")[0] in names
    }
    assert found <= {"runs/cluster.py"}


def test_a_missing_package_is_reported_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MachineError) as failure:
        extras.require("sweep", "a sweep")
    first, second = str(failure.value).splitlines()
    assert first == "a sweep needs polars, which is not installed"
    assert second.startswith(f"  to fix it: {sys.executable} -m pip install ")
    assert "polars" in second
    assert "scipy" in second
    extras.require("sweep", "a design", "scipy")


def test_an_environment_says_what_it_needs() -> None:
    program = "import sys; sys.modules['gymnasium'] = None; import mptcplab.gym"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "mptcplab.gym needs gymnasium, which is not installed" in done.stderr


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        (("sweep", "examples/sweeps/slow-path.toml"), "a sweep needs polars and scipy"),
        (("compare", *PATHS, "--sweep", "path.wifi.loss=0,1%"), "a sweep needs polars and scipy"),
        (("advise", *PATHS), "advice needs scipy"),
        (("results", "list", "--out", "{out}"), "the table of all runs needs polars"),
        (("results", "query", "FROM runs", "--out", "{out}"), "a query needs duckdb and polars"),
        (("cluster", "key", "{out}/key.pem"), "the key of a cluster needs cryptography"),
    ],
)
def test_commands_without_their_packages_say_so_in_a_line(
    command: tuple[str, ...], needs: str, tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    done = mptcplab(*(word.format(out=tmp_path) for word in command))
    assert done.returncode == MachineError.exit_status
    first, second = done.stderr.splitlines()
    assert re.fullmatch(rf"mptcplab: {needs}, which (is|are) not installed", first)
    assert second.startswith("  to fix it: ")


@pytest.mark.kernel
def test_the_basic_commands_need_no_extra(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    dry = mptcplab("compare", *PATHS, "--repeat", "3", "--dry-run", "--out", out)
    assert (dry.returncode, dry.stderr) == (0, "")
    # and plain TCP over each path, with each seed
    assert "runs:     3, at one point, and 6 of plain TCP" in dry.stdout
    assert "guessed from rates and durations" in dry.stdout
    flags = ("--duration", "1s", "--repeat", "3", "--scheduler", "default,minrtt", "--out", out)
    for command in (
        # a worker would have all packages
        ("compare", *PATHS, *flags, "--jobs", "1"),
        ("run", *PATHS, "--duration", "1s", "--out", out),
        ("show", out),
        ("report", out, "--out", f"{out}/report.html"),
        ("analyze", "--help"),
    ):
        done = mptcplab(*command)
        assert (done.returncode, done.stderr if done.returncode else "") == (0, "")
    assert (tmp_path / "out" / store.DOCUMENT).exists()
    run = next(iter((tmp_path / "out" / "runs").iterdir()))
    assert mptcplab("explain", str(run)).returncode == 0
