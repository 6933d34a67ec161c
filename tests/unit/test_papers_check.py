# SPDX-License-Identifier: GPL-2.0-only
"""make papers-check: no published claim disappears, and old data is reported."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from checks import papers_check
from mptcplab import resources
from mptcplab.errors import MptcplabError
from mptcplab.lab.kernel import Parts
from mptcplab.papers import catalogue, publish, stale
from mptcplab.papers.catalogue import PUBLISHED, TODAY
from mptcplab.papers.stale import Now
from tests.papers_by_hand import published, ran

RESULTS = resources.EXPERIMENTS.parent / "docs" / "results"


def test_no_published_claim_is_lost() -> None:
    everything = [catalogue.load(name) for name in catalogue.names()]
    changelog = (RESULTS.parents[1] / "CHANGELOG.md").read_text()
    assert papers_check.lost(RESULTS / "claims.json", everything, changelog) == []


def test_a_lost_claim_is_reported_unless_the_changelog_names_it(tmp_path: Path) -> None:
    file = tmp_path / "claims.json"
    assert papers_check.lost(file, [published()], "") == []
    file.write_text(json.dumps({"paper2020/fig1:more": {}, "paper2020/fig1:less": {}}))
    assert papers_check.lost(file, [published()], "") == ["paper2020/fig1:less"]
    assert papers_check.lost(file, [], "- `paper2020/fig1:less` is gone") == ["paper2020/fig1:more"]
    # a name that begins alike is another claim
    assert papers_check.lost(file, [published()], "paper2020/fig1:less-or-more") != []
    file.write_text("[")
    with pytest.raises(MptcplabError, match=r"claims\.json"):
        papers_check.lost(file, [], "")


def test_old_data_and_hidden_text_are_reported() -> None:
    of = published()
    old = {TODAY: ran(of, TODAY, digest="other")}
    parts = {PUBLISHED: ran(of, guest="g0"), **old}
    now = Now(Parts("b1", {"sched/minrtt.c": "m1", "sched/blest.c": "l1"}), "g1")
    said = list(papers_check.warnings([publish.section(of, {"": parts, "v0.95": old}, {"": now})]))
    assert said[:3] == [
        "paper2020/fig1: today: to be run again, since the experiment has changed",
        "paper2020/fig1: today on v0.95: to be run again, since the experiment has changed",
        "paper2020/fig1: published: run with another guest (g0, now g1)",
    ]
    assert said[3].startswith("paper2020/fig1:more: not shown: The queue is empty.")
    assert said[4].startswith("paper2020: headline not shown: minRTT has {goodput}.")
    assert len(said) == 5


def test_the_exit_status_says_whether_a_claim_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stale, "now", lambda _data, _kernels: {})
    of = dataclasses.replace(published())
    monkeypatch.setattr(catalogue, "names", lambda: ["paper2020/fig1"])
    monkeypatch.setattr(catalogue, "load", lambda _name: of)
    assert papers_check.main([], tmp_path) == 0
    assert papers_check.main(["--strict"], tmp_path) == 1
    (tmp_path / "claims.json").write_text('{"paper2020/fig1:gone": {}}')
    assert papers_check.main([], tmp_path) == 1
    assert "lost: paper2020/fig1:gone" in capsys.readouterr().out
