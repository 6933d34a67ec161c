# SPDX-License-Identifier: GPL-2.0-only
"""What is told of congestion controls, and how several are asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mptcplab import resources
from mptcplab.errors import InputError
from mptcplab.scenario import congestion
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import from_flags, load_file

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


def test_a_parameter_follows_the_name_and_only_what_differs_is_kept() -> None:
    assert congestion.read("lia : exact=on:segments=0") == "lia:exact=on"
    assert congestion.read("olia:used_only=1:exact=true") == "olia:exact=on:used_only=on"
    assert congestion.read("lia:exact=off") == congestion.read("lia") == "lia"
    assert congestion.name_of("lia:exact=on") == "lia"
    assert congestion.sysctls("reno") == ["net.ipv4.tcp_congestion_control=reno"]
    assert congestion.sysctls("olia:exact=on:draft_ssthresh=on") == [
        "net.ipv4.tcp_congestion_control=olia",
        "net.mptcp.olia.exact=1",
        "net.mptcp.olia.draft_ssthresh=1",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("lia:exct=on", r'unknown parameter of lia; did you mean "exact"\? known: exact, segments'),
        ("cubic:exact=on", "cubic has no parameters"),
        ("olia:exact=2", "exact is on or off"),
        ("olia:exact", '"exact" is not PARAM=VALUE'),
        ("olia:exact=on:exact=off", "exact is given twice"),
        ("lua:exact=on", "is cubic, reno, bbr, vegas, balia, lia, olia or wvegas"),
        ("lia,lia:exact=off", '"lia:exact=off" is named twice'),
    ],
)
def test_a_wrong_parameter_is_told_with_what_is_accepted(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        from_flags(Flags(path=PATH, cc=text))
    with pytest.raises(InputError, match=r'known is cubic, reno, .* did you mean "olia"'):
        congestion.find("ohlia")


@pytest.mark.parametrize("name", OURS)
def test_head_page_and_table_name_the_same_differences(name: str) -> None:
    found = congestion.find(name)
    _, _, told = found.description.partition("Differs from the source:\n")
    named = re.findall(r"^- (\w+): ", told, re.MULTILINE)
    assert [each for each in named if each != "always"] == [p.name for p in found.parameters]
    # the kernel keeps a bit for each
    assert {(p.kind, p.default) for p in found.parameters} == {("bool", 0)}
    page = (ROOT / "docs" / "congestion" / f"{name}.md").read_text()
    assert page.startswith(f"# {name}\n")
    assert f"[`{name}`]({name}.md)" in (ROOT / "docs" / "congestion" / "README.md").read_text()
    _, _, table = page.partition("## Differences to the source\n")
    switches = [
        line.rstrip("| ").rsplit("| ")[-1] for line in table.splitlines() if line[:1] == "|"
    ]
    assert switches[0] == "switch"
    assert {each.strip("`") for each in switches[2:]} == set(named)


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
    for text, ccs in (
        ('"lia"', ("lia",)),
        ('["lia", "reno"]', ("lia", "reno")),
        ('["lia", "lia:exact=on"]', ("lia", "lia:exact=on")),
    ):
        file.write_text(f"cc = {text}{paths}")
        assert load_file(file).ccs == ccs
