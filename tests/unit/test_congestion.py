# SPDX-License-Identifier: GPL-2.0-only
"""What is told of congestion controls, and how several are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab import resources
from mptcplab.errors import InputError
from mptcplab.spec import congestion
from mptcplab.spec.flags import Flags
from mptcplab.spec.resolve import from_flags, load_file

ROOT = Path(__file__).parents[2]
PATH = ["wifi:50mbit,10ms"]
OURS = [each.name for each in congestion.known().values() if each.file]


def test_those_of_the_kernel_come_first_then_one_for_each_file() -> None:
    files = sorted(file.stem for file in (resources.KERNEL / "mptcp" / "cc").glob("*.c"))
    assert list(congestion.known()) == ["cubic", "reno", "bbr", "vegas", *files]
    assert files == ["balia", "lia", "olia", "wvegas"]


@pytest.mark.parametrize("name", congestion.names())
def test_each_says_what_it_does_since_when_and_from_where(name: str) -> None:
    found = congestion.find(name)
    assert found.description.startswith(f"{name}: ")
    assert "\n" not in found.summary
    assert not found.summary.startswith(name)
    assert 1988 <= int(found.year) <= 2030
    assert "\nSource: " in found.description
    assert (found.couples == "nothing") == (found.file is None)


@pytest.mark.parametrize("name", OURS)
def test_each_of_ours_has_a_page_and_a_line_in_the_table(name: str) -> None:
    assert (ROOT / "docs" / "congestion" / f"{name}.md").read_text().startswith(f"# {name}\n")
    assert f"[`{name}`]({name}.md)" in (ROOT / "docs" / "congestion" / "README.md").read_text()


def test_an_unknown_one_is_told_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r'known is cubic, reno, .* did you mean "olia"'):
        congestion.find("ohlia")


def test_runs_are_by_scheduler_then_congestion_control_then_seed() -> None:
    flags = Flags(path=PATH, scheduler="default,minrtt", cc="reno, lia", repeat=2)
    runs = [(each.scheduler.name, each.cc, each.seed) for each in from_flags(flags).runs()]
    assert runs == [
        (scheduler, cc, seed)
        for scheduler in ("default", "minrtt")
        for cc in ("reno", "lia")
        for seed in (1, 2)
    ]


def test_a_file_has_one_or_a_list_of_them(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    paths = '\n[[path]]\nname = "a"\nrate = "1mbit"\ndelay = "1ms"\n'
    for text, ccs in (('"lia"', ("lia",)), ('["lia", "reno"]', ("lia", "reno"))):
        file.write_text(f"cc = {text}{paths}")
        assert load_file(file).ccs == ccs
