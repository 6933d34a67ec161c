# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab figure as a user calls it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.calls import mptcplab
from tests.unit import stored
from tests.unit.synthetic import FAST, SLOW


def test_a_figure_has_its_files_and_mistakes_write_none(tmp_path: Path) -> None:
    for name in ("default", "blest"):
        stored.keep(tmp_path / "mptcplab-out", stored.scenario(scheduler=name), FAST, SLOW)
    files = [str(tmp_path / f"fig.{end}") for end in ("pdf", "svg", "tsv", "py")]
    done = mptcplab("figure", *(word for file in files for word in ("-o", file)), cwd=tmp_path)
    assert done.stdout.splitlines() == [f"figure: {file}" for file in files]
    assert Path(files[2]).read_text().startswith("panel\tscheduler\tcategory\tGoodput (Mbit/s)\t")
    Path(files[0]).unlink()
    subprocess.run([sys.executable, files[3]], check=True)
    assert Path(files[0]).read_bytes().startswith(b"%PDF")
    out = tmp_path / "other.pdf"
    wrong = mptcplab("figure", "--metric", "speed", "-o", out, cwd=tmp_path, status=2)
    assert "1 mistake in --metric\n  speed: no figure of a run" in wrong.stderr
    wrong = mptcplab("figure", "--over", "rate", "-o", out, cwd=tmp_path, status=2)
    assert "the runs do not differ in it; they differ in no number" in wrong.stderr
    assert not out.exists()
