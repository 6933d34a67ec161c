# SPDX-License-Identifier: GPL-2.0-only
"""Our scripts of packetdrill, with the program that PACKETDRILL or the search path names.

With `default` alone: `mptcplab selftests --packetdrill` runs them with each scheduler.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mptcplab.cli import load
from mptcplab.lab import doctor


def test_default_is_as_upstream_packet_by_packet(tmp_path: Path) -> None:
    program = os.environ.get("PACKETDRILL") or shutil.which("packetdrill")
    if not program:
        pytest.skip("there is no packetdrill: PACKETDRILL=PROGRAM; docs/selftests.md")
    doctor.require("iproute2", "procps")
    report = tmp_path / "report.xml"
    options = ["--only", "packetdrill", "--packetdrill", program, "--scheduler", "default"]
    where = ["--out", str(tmp_path / "out"), "--junit", str(report), "--jobs", "1"]
    load("selftests").main([*options, *where, "--strict", "--repeat", "2"], standalone_mode=False)
    root = ElementTree.parse(report).getroot()
    assert (root.get("failures"), root.get("errors")) == ("0", "0")
    scripts = [suite.get("name") for suite in root]
    assert scripts == ["packetdrill ours upstream", "packetdrill ours with default"]
    assert int(root[0].get("tests", 0)) == int(root[1].get("tests", 0)) - 1 >= 30
