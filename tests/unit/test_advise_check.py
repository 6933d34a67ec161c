# SPDX-License-Identifier: GPL-2.0-only
"""Advice held to what further runs say: the paths that are drawn, and the verdict; no kernel."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from checks import advise_check
from checks.advise_check import Checked
from mptcplab import units
from mptcplab.runs import experiment
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.presets import PRESETS
from mptcplab.scenario.resolve import from_flags
from tests.unit.advised import GUEST, KERNEL, FakeKernel, Given, pretend

GOOD = Checked(
    *(("a:10mbit,10ms", "b:10mbit,20ms"), "latency", "ms", "minrtt, cubic", 10.2),
    *("blest, cubic", 10.0, 0.02, 20.0, -0.49),
)


def test_pairs_are_the_same_each_time_and_within_the_ranges_that_are_said() -> None:
    drawn = advise_check.pairs(60, 2026)
    assert advise_check.pairs(60, 2026) == drawn
    assert advise_check.pairs(8, 2026) == drawn[:8]
    assert len({*drawn, *advise_check.pairs(60, 1)}) > 100
    presets = {name for pair in advise_check.pairs(100, 3)[4::5] for name in pair}
    assert presets == {
        name
        for name, preset in PRESETS.items()
        if not preset.ranges
        and units.parse_rate(preset.path["down"]["rate"]) <= 200e6
        and units.parse_fraction(preset.numbers()["up.loss"]) <= 0.01
    }
    rates, rtts_ms, losses = [], [], []
    for number, paths in enumerate(advise_check.pairs(64, 2026)):
        base = from_flags(Flags(path=paths, direction="down")).base
        if number % 5 == 4:
            assert {path.name for path in base.paths} <= PRESETS.keys()
            continue
        for path in base.paths:
            rates.append(path.down.rate_bps / 1e6)
            rtts_ms.append((path.up.delay_ns + path.down.delay_ns) / 1e6)
            losses.append(float(path.down.loss or 0))
            product = path.down.rate_bps * rtts_ms[-1] / 8e3 / 1514
            queue = path.down.queue_packets or 0
            assert queue == 10 or 0.49 * product - 1 <= queue <= 4.01 * product + 1
    # a hundred points of an even design: each tenth of a range has some
    assert 1 <= min(rates) < 1.7 < 120 < max(rates) <= 200
    assert 5 <= min(rtts_ms) < 7.6 < 200 < max(rtts_ms) <= 300
    assert 0.005 < max(losses) <= 0.01
    # from 0.001 to 0.01 is one decade of three
    assert 0.2 < losses.count(0) / len(losses) < 0.45


@pytest.mark.parametrize(
    ("checked", "good"),
    [
        ([GOOD] * 20, True),
        # a twentieth may be off
        ([GOOD] * 19 + [replace(GOOD, behind=0.06)], True),
        ([GOOD] * 18 + [replace(GOOD, behind=0.06)], False),
        # no one may be a tenth worse than the default
        ([GOOD] * 19 + [replace(GOOD, over_reference=0.1)], True),
        ([GOOD] * 19 + [replace(GOOD, over_reference=0.11)], False),
    ],
)
def test_the_verdict(checked: list[Checked], good: bool, tmp_path: Path) -> None:
    lines, holds = advise_check.summary(checked)
    assert holds == good
    advise_check.write(checked, tmp_path)
    document = json.loads((tmp_path / "advise-check.json").read_text())
    assert document["holds"] == good
    assert document["summary"] == lines
    assert len(document["pairs"]) == len(checked)
    page = advise_check.markdown(checked, "make advise-check")
    missed = sum(not each.is_within or each.is_below for each in checked)
    assert page.count("minrtt, cubic") == missed
    assert all(f"- {line}." in page for line in lines)


def fast(scenario: Scenario) -> Given:
    """The faster the later a scheduler's name is in the alphabet."""
    return Given(50, 200 - ord(scenario.scheduler.name[0]), 200)


def fast_for_advice_only(scenario: Scenario) -> Given:
    if scenario.seed < 1000:
        return fast(scenario)
    return Given(50, 20 if scenario.scheduler.name == "default" else 30, 200)


def ran(
    fake: FakeKernel, out: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, list[dict[str, object]]]:
    pretend(fake, monkeypatch)
    monkeypatch.setattr(experiment, "built", lambda: (KERNEL, GUEST))
    status = advise_check.main(
        ["--pairs", "2", "--quick", "--cc", "cubic,bbr", "--out", str(out), *arguments]
    )
    return status, json.loads((out / "advise-check.json").read_text())["pairs"]


def test_advice_that_holds_on_other_seeds_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = FakeKernel(fast)
    status, pairs = ran(fake, tmp_path, monkeypatch)
    assert status == 0
    latency = pairs[1]
    assert (latency["goal"], latency["advised"]) == ("latency", "whenidle, cubic")
    assert latency["behind"] == 0
    # 81 ms instead of 100
    assert latency["over_reference"] == pytest.approx(-0.19)
    shown = capsys.readouterr()
    assert "2 pairs: 100.0 % within 5 % of the best" in shown.out
    assert "[2/2]" in shown.err
    # the whole catalogue was tried by both, with other seeds
    of_check = {run.scheduler.name for run in fake.ran if run.seed >= 10**6}
    assert of_check == {run.scheduler.name for run in fake.ran if run.seed < 10**6}
    assert len(of_check) > 20
    # nothing is run again
    again = FakeKernel(fast)
    assert ran(again, tmp_path, monkeypatch) == (status, pairs)
    assert again.ran == []


def test_advice_wrong_on_other_seeds_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- begin: make advise-check -->\n<!-- end: make advise-check -->\n")
    fake = FakeKernel(fast_for_advice_only)
    status, pairs = ran(fake, tmp_path, monkeypatch, "--docs", str(page))
    assert status == 1
    latency = pairs[1]
    assert (latency["advised"], latency["best"]) == ("whenidle, cubic", "default, bbr")
    assert latency["behind"] == latency["over_reference"] == pytest.approx(0.5)
    written = page.read_text()
    assert "| latency | 1 | 0 | 50.0 % | -50.0 % |" in written
    assert 'make advise-check ADVISE_ARGS="--pairs 2 --seed 2027 --quick --cc cubic,bbr"' in written
