# SPDX-License-Identifier: GPL-2.0-only
"""`mptcplab explain` as a person calls it, with the changes that it tries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calls import mptcplab

#: Cubic halves its window at each random loss: some 5 Mbit/s of 20.
LOSSY = ("--path", "wifi:20mbit,10ms", "--path", "lte:20mbit,40ms,loss=1%", "--duration", "5s")


@pytest.mark.usefixtures("lab_kernel")
def test_what_may_help_is_named_and_tried(tmp_path: Path) -> None:
    out, tried = tmp_path / "out", tmp_path / "tried"
    mptcplab("run", *LOSSY, "--out", out)
    (run,) = out.glob("runs/*")
    named = mptcplab("explain", run).stdout
    assert f"What may help; mptcplab explain {run} --try tries it:\n  --cc bbr; docs/" in named
    assert "instead of" not in named

    done = mptcplab("explain", run, "--try", "--out", tried)
    assert "Tried:\n  --cc bbr: " in done.stdout
    # the run as it was, and its change
    assert len(list(tried.glob("runs/*"))) == 2
    assert (tried / "runs" / run.name).is_dir()
    (found,) = json.loads(mptcplab("explain", run, "--try", "--out", tried, "--json").stdout)
    (change,) = found["remedies"]
    assert (change["flag"], change["value"], change["reason"]) == ("cc", "bbr", "losses")
    assert change["before"] == pytest.approx(found["goodput_bps"])
    assert change["after"] > 1.2 * change["before"]
    before, after = (f"{change[key] / 1e6:.2f} Mbit/s" for key in ("before", "after"))
    assert f"--cc bbr: {after} instead of {before}; docs/congestion/README.md" in done.stdout


@pytest.mark.usefixtures("lab_kernel")
def test_data_both_ways_is_explained_and_tried_in_each_direction(tmp_path: Path) -> None:
    mptcplab("run", *LOSSY, "--direction", "both", "--out", tmp_path)
    text = mptcplab("explain", tmp_path, "--try", "--out", tmp_path / "tried").stdout
    up, _, down = text.partition("\n\n")
    assert "default, seed 1, data up: " in up
    assert "default, seed 1, data down: " in down
    goodputs = [part.partition("instead of ")[2].partition(";")[0] for part in (up, down)]
    for part, goodput in zip((up, down), goodputs, strict=True):
        assert f": {goodput} of the " in part
