# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments on the real kernel, as a person runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mptcplab.lab.kernel import KernelBuild

#: The quickest one: requests over one idle path.
FIGURE = "cech2020/fig11"


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mptcplab", "papers", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(*arguments: str) -> tuple[int, str, str]:
    process = start(*arguments)
    out, err = process.communicate()
    return process.returncode, out, err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_figure_goes_on_where_it_stopped(
    how: signal.Signals, lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    process = start("run", FIGURE, "--quick", "--jobs", "1", "--out", str(out))
    assert process.stderr is not None
    # three of the ten runs have ended
    for _ in range(3):
        assert "/10]" in process.stderr.readline()
    process.send_signal(how)
    _, err = process.communicate()
    if how == signal.SIGINT:
        assert process.returncode == 128 + signal.SIGINT
        assert "finished runs are kept" in err
    else:
        assert process.returncode == -signal.SIGKILL
    kept = sorted(file.name for file in (out / "runs").glob("[!.]*"))
    assert 3 <= len(kept) < 10
    assert not (out / f"{FIGURE}-quick.json").exists()

    status, shown, err = finished("run", FIGURE, "--quick", "--out", str(out))
    assert status == 0, err
    assert len(err.splitlines()) == 10 - len(kept)
    assert set(kept) < {file.name for file in (out / "runs").glob("[!.]*")}
    document = json.loads((out / f"{FIGURE}-quick.json").read_text())
    assert document["build"]["kernel"] == lab_kernel.id
    assert len(document["runs"]) == 10

    # nothing is run again, and what was found is the same
    status, again, err = finished("run", FIGURE, "--quick", "--out", str(out))
    assert (status, err) == (0, "")
    assert again == shown
    assert finished("show", FIGURE, "--quick", "--out", str(out)) == (0, shown, "")

    # A request of 100 bytes and its response are packets of less than 200 bytes: on 1 Gbit/s
    # they take less than 1.6 us each, and the delay of netem is exact: the seed adds up to 50 us.
    (least,) = [line for line in shown.splitlines() if "least excess" in line]
    assert 0 < float(least.split()[-2]) < 0.01 + 2 * 0.05

    pages = tmp_path / "pages"
    status, written, err = finished("publish", str(pages), "--out", str(out))
    assert status == 0, err
    assert f"written: {pages / 'cech2020.md'}" in written
    assert "does not hold" in (pages / "README.md").read_text()


def test_what_was_not_run_is_said(tmp_path: Path) -> None:
    status, _, err = finished("show", FIGURE, "--out", str(tmp_path))
    assert status == 1
    assert f"to make it: mptcplab papers run {FIGURE}" in err
    status, _, err = finished("publish", str(tmp_path / "x"), "--out", str(tmp_path))
    assert status == 1
    assert "no experiment has been run" in err


@pytest.mark.parametrize("command", ["run", "show"])
def test_a_wrong_name_is_an_error(command: str, tmp_path: Path) -> None:
    status, _, err = finished(command, "cech2020/fig33", "--out", str(tmp_path))
    assert status == 2
    assert "cech2020/fig33: no such experiment; did you mean" in err
