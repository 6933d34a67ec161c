# SPDX-License-Identifier: GPL-2.0-only
"""What compilers say of our files is found, but for what is explained."""

from __future__ import annotations

import tomllib
from pathlib import Path

from checks import compilers
from checks.compilers import Finding
from mptcplab import resources
from mptcplab.lab import kernel
from mptcplab.lab.kernel_make import GCC


def test_a_warning_is_found_and_named_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "guest").mkdir()
    file = tmp_path / "guest/wrong.c"
    file.write_text("int one(int *i) { return (*i)++ + (*i)--; }\n")
    command = [GCC, "-Wall", "-c", "-o", "/dev/null", str(file)]
    (found,) = compilers._looked([command], tmp_path, f"{tmp_path}/guest/")
    assert (found.tool, found.file) == (GCC, "wrong.c")
    assert "may be undefined" in found.text
    assert compilers.unexplained([found]) == [found]


def test_every_explanation_has_a_reason_and_a_file() -> None:
    # for which alone it holds
    text = "context imbalance in 'coupled_lock' - wrong count at exit"
    mine, other = Finding("sparse", "coupled.c", text), Finding("sparse", "units.c", text)
    assert compilers.unexplained([mine, other]) == [other]
    names = {path.name for place in ("kernel", "guest") for path in _below(place)}
    for each in tomllib.loads(compilers.EXPLAINED.read_text())["explained"]:
        assert set(each) == {"file", "text", "why"}
        assert each["why"]
        assert each["file"].startswith("include/") or each["file"] in names


def _below(place: str) -> list[Path]:
    return list((resources.KERNEL.parent / place).rglob("*.c"))


def test_the_compiler_of_the_lab_is_the_first_and_each_is_there_once() -> None:
    found = compilers.installed()
    assert found[0] == GCC
    said = [kernel.compiler_version(name).partition(" ")[2] for name in found]
    assert all(said)
    assert len(set(said)) == len(said)
