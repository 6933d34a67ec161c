# SPDX-License-Identifier: GPL-2.0-only
"""What `import mptcplab` offers, as a program and a notebook use it."""

from __future__ import annotations

import html
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import mptcplab as lab
from mptcplab import api
from mptcplab.errors import InputError

ROOT = Path(__file__).parents[2]
PATHS = ["wifi:20mbit,10ms", "lte:10mbit,20ms"]


pytestmark = pytest.mark.usefixtures("builds")


def test_importing_it_imports_nothing_else() -> None:
    program = "import sys, mptcplab; print(len([m for m in sys.modules if 'mptcplab' in m]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"1"


def test_all_that_is_offered_is_there() -> None:
    assert set(lab._OFFERED) == set(api.__all__)
    for name in lab._OFFERED:
        assert getattr(lab, name) is getattr(api, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        lab.nothing  # noqa: B018


def test_a_run_has_figures_series_and_a_picture(tmp_path: Path) -> None:
    one = lab.run(lab.request(path=PATHS, scheduler="minrtt", duration="1s"), out=tmp_path)
    # 30 Mbit/s on the wire, at most 1448 of 1514 bytes of a packet are data
    goodput = one.metrics["goodput_bps"]
    assert goodput is not None
    assert 0.5 * 30e6 < goodput < 30e6 * 1448 / 1514
    assert one.paths()["name"].to_list() == ["wifi", "lte"]
    series = one.series()
    assert {"goodput_bps", "srtt_ms"} <= set(series["metric"])
    assert "carry" in one.explain().text()
    with pytest.raises(InputError, match="the run has one, without a name"):
        one.explain("x")
    (picture,) = one.draw(tmp_path / "picture")
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert one.draw(tmp_path / "figure.pdf") == [tmp_path / "figure.pdf"]
    again = lab.open_run(one.directory)
    assert again.metrics == one.metrics
    assert again.scenario == one.scenario


def test_a_comparison_is_a_table_and_a_document(tmp_path: Path) -> None:
    shares: list[float] = []
    wanted = lab.request(path=PATHS, scheduler=["default", "minrtt"], duration="1s", repeat=1)
    found = lab.compare(wanted, out=tmp_path, progress=shares.append)
    assert found.table()["scheduler"].to_list() == ["default", "minrtt", None, None]
    benefits = found.table()["aggregation_benefit"].to_list()
    assert benefits[:2] == [run["metrics"]["aggregation_benefit"] for run in found.document["runs"]]
    assert benefits[2:] == [None, None]
    assert [run.scenario.scheduler.name for run in found.runs()] == ["default", "minrtt"]
    assert "minrtt" in str(found)
    assert found._repr_html_() == f"<pre>{html.escape(str(found))}</pre>"
    drawn = lab.figure([tmp_path], "goodput", width="60mm")
    assert [row["scheduler"] for row in drawn.plain.rows] == ["default", "minrtt"]
    assert shares == sorted(shares)
    page = lab.write_report([tmp_path], tmp_path / "report.html")
    assert b"minrtt" in page.read_bytes()


def test_errors_are_reported_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(lab.InputError, match=r"path\[1\].rate|slow"):
        lab.request(path=["a:slow,10ms"])
    with pytest.raises(TypeError, match='unknown flag paths; did you mean "path"'):
        lab.request(paths=PATHS)
    with pytest.raises(TypeError, match="unknown flag x; accepted: path, path_from, link"):
        lab.request(path=PATHS, x=1)
    with pytest.raises(TypeError, match="unknown options: jbos"):
        lab.compare(lab.request(path=PATHS), jbos=2)  # type: ignore[call-arg]
    with pytest.raises(lab.MptcplabError, match=r"2 runs; compare\(\) makes several"):
        lab.run(lab.request(path=PATHS, repeat=2), out=tmp_path)
    lossy = lab.request(path=["a:10mbit,10ms,loss=99.9999999%", "b:10mbit,10ms"], duration="1s")
    with pytest.raises(lab.RunError, match="path a"):
        lab.run(lossy, out=tmp_path)
    with pytest.raises(lab.RunError, match="it wrote more than the disk limit of 10KB"):
        lab.run(lab.request(path=PATHS, duration="1s"), out=tmp_path, disk_limit=10_000)


def test_what_there_is_is_listed() -> None:
    assert {"default", "minrtt"} <= set(lab.schedulers()["name"])
    assert {"cubic", "lia"} <= set(lab.congestion_controls()["name"])


def test_the_notebook_runs() -> None:
    """As it is in examples/, from its directory; its outputs are not kept there."""
    notebook = nbformat.read(ROOT / "examples" / "notebook.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs for cell in cells)
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    made = cells[5].outputs[-1]["data"]["text/plain"]
    assert made == "(8, 0)"
    # a run and a figure
    assert sum("image/png" in each.get("data", ()) for cell in cells for each in cell.outputs) == 2
    assert "scheduler" in cells[-1].outputs[-1]["data"]["text/plain"]
