# SPDX-License-Identifier: GPL-2.0-only
"""Commands start at once: they import what they need and no more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from mptcplab.cli import cli
from mptcplab.cli.actions import runs
from mptcplab.lab.kernel import KernelBuild
from mptcplab.report import comparison_chart, tables
from mptcplab.runs.entries import Document

#: Each takes longer to import than a short run of the kernel, or brings such a one along.
SLOW = frozenset(
    {
        "dask",
        "distributed",
        "duckdb",
        "matplotlib",
        "pandas",
        "plotly",
        "polars",
        "pyarrow",
        "scipy",
    }
)
#: Calls the program with what follows, and writes what was imported then into a file.
CALL = """
import json, pathlib, sys
from mptcplab.cli import main
modules = pathlib.Path(sys.argv.pop(1))
try:
    main()
finally:
    modules.write_text(json.dumps(sorted(sys.modules)))
"""
#: What help itself shows: schedulers and settings of drives are read by models, and by NumPy.
NEEDED = {"cc": {"pydantic"}, "scheduler": {"pydantic"}, "scenario": {"numpy", "pydantic"}}
PATHS = ("--path", "a:10mbit,10ms", "--path", "b:10mbit,20ms")


def imported(tmp_path: Path, *arguments: str) -> tuple[set[str], str]:
    """The modules that a command has imported when it ends, and what it has printed."""
    modules = tmp_path / "modules.json"
    done = subprocess.run(
        [sys.executable, "-c", CALL, str(modules), *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return set(json.loads(modules.read_text())), done.stdout


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_what_needs_nothing_imports_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    found, _ = imported(tmp_path, *arguments)
    assert {name for name in found if name.startswith("mptcplab")} == {
        *("mptcplab", "mptcplab.cli", "mptcplab.errors")
    }
    assert found & {*SLOW, "numpy", "pydantic", "rich"} == set()


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_help_waits_for_nothing_that_computes(tmp_path: Path, command: str) -> None:
    found, text = imported(tmp_path, command, "--help")
    assert text
    assert found & {*SLOW, "numpy", "pydantic"} <= NEEDED.get(command, set())


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (("run", *PATHS, "--bogus"), set()),
        (("compare", "--path", "a:10mbitt,10ms"), {"pydantic"}),
        (("scheduler", "list"), {"pydantic"}),
        (("papers", "list"), {"pydantic"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_or_a_list_waits_for_no_more_than_reads_it(
    tmp_path: Path, arguments: tuple[str, ...], needed: set[str]
) -> None:
    found, _ = imported(tmp_path, *arguments)
    assert found & {*SLOW, "numpy", "pydantic"} == needed


@pytest.mark.parametrize("arguments", [("doctor",), ("run", *PATHS, "--plan")], ids=" ".join)
def test_without_a_run_no_library_is_imported(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    found, text = imported(tmp_path, *arguments)
    assert text
    assert found & SLOW == set()


@pytest.mark.kernel
def test_a_run_draws_nothing_and_says_what_does(lab_kernel: KernelBuild, tmp_path: Path) -> None:
    del lab_kernel
    command = ("run", *PATHS, "--duration", "1s", "--jobs", "1", "--out", str(tmp_path / "out"))
    found, text = imported(tmp_path, *command)
    assert found & SLOW == set()
    (run,) = (tmp_path / "out" / "runs").iterdir()
    assert f"picture:  mptcplab show {run}\n" in text
    assert not list(tmp_path.glob("out/*.png"))


def test_matplotlib_starts_without_docstrings_of_properties(tmp_path: Path) -> None:
    call = (
        "from mptcplab.report import draw\n"
        "with draw.drawing():\n"
        "    from matplotlib import artist, lines\n"
        "    print('agg_filter' in lines.Line2D.set.__doc__, artist.kwdoc.__module__)\n"
    )
    found = subprocess.check_output([sys.executable, "-c", call], cwd=tmp_path, text=True)
    assert found == "False matplotlib.artist\n"


def test_the_table_does_not_wait_for_the_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []

    def write(_document: object, out: Path) -> list[Path]:
        shown.append(capsys.readouterr().out)
        return [out / "goodput.png"]

    monkeypatch.setattr(tables, "comparison_table", lambda _document: "a table")
    monkeypatch.setattr(comparison_chart, "write", write)
    document = SimpleNamespace(runs=[], expectations=())
    runs._show(cast(Document, document), tmp_path, as_json=False)
    assert shown == ["a table\n"]
    assert capsys.readouterr().out.splitlines() == [
        f"picture:  {tmp_path}/goodput.png",
        f"document: {tmp_path}/comparison.json",
    ]
