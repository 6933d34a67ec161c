# SPDX-License-Identifier: GPL-2.0-only
"""Explanations of synthetic runs."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from mptcplab.errors import MptcplabError
from mptcplab.metrics import run_files
from mptcplab.metrics.compute import run_metrics
from mptcplab.metrics.recorded import flow as recorded_flow
from mptcplab.report import explain
from mptcplab.report.explain import Explanation
from mptcplab.runs import store
from mptcplab.scenario.model import Change, Event
from tests.unit import synthetic
from tests.unit.synthetic import FAST, MS, SECOND, SLOW, T0


def explained(
    *flows: synthetic.Flow, unsent_bytes: int = 0, window_bytes: int = 2**20, halved_ns: int = 0
) -> Explanation:
    """Of a run of these flows whose sender has so many bytes left and so much receive window, and
    whose scheduler halves a window at that time.
    """
    client, server = synthetic.run(*flows, window_bytes=window_bytes)
    client.connection["written_bytes"] += unsent_bytes
    client.subflow["penalties"] = halved_ns and client.subflow["time_ns"] >= T0 + halved_ns
    links = synthetic.links(*flows)
    scenario, guest = synthetic.scenario(), synthetic.guest()
    figures = run_metrics(scenario, client, server, guest, links)
    flow = recorded_flow(scenario, client, server, links, guest, "up")
    return explain.of_run(scenario, flow, figures, links, T0)


def test_an_idle_link_is_charged_to_what_its_sender_was_in() -> None:
    # 32 of 40 and 8 of 10 Mbit/s; packets have no headers here
    full, none_left = replace(FAST, in_flight=10), SLOW
    found = explained(full, none_left)
    assert [(r.kind, r.path, r.bps, r.idle) for r in found.reasons] == [
        ("growth", "fast", 8e6, 0.2),
        ("application", "slow", 2e6, 0.2),
    ]
    assert (found.goodput_bps, found.capacity_bps, found.not_explained_bps) == (40e6, 50e6, 0)


def test_a_window_that_was_halved_after_the_latest_loss_is_the_schedulers_fault() -> None:
    # measured from 1 to 10 s, idle a fifth of it; packets were lost before the first sample
    full = replace(FAST, in_flight=10, retransmitted_packets=2)
    found = explained(full, SLOW, halved_ns=5500 * MS)
    reasons = {r.kind: r for r in found.reasons if r.path == "fast"}
    # a state counts a path's delay later: 10 ms of a fifth of 9 s
    assert {kind: r.idle for kind, r in reasons.items()} == pytest.approx(
        {"losses": 0.1, "penalties": 0.1}, abs=0.2 * 0.01 / 9 * 1.01
    )
    assert "halved its congestion window, 1 times in all" in reasons["penalties"].text


def test_a_closed_window_and_a_waiting_scheduler_are_distinct() -> None:
    # the sender has 5000 bytes more than it sent, and no window or some
    found = explained(FAST, SLOW, unsent_bytes=5000)
    assert {(r.kind, r.path) for r in found.reasons} == {
        ("scheduler", "fast"),
        ("scheduler", "slow"),
    }
    found = explained(FAST, SLOW, unsent_bytes=5000, window_bytes=0)
    assert {r.kind for r in found.reasons} == {"window"}


def test_cross_traffic_is_a_reason_of_its_own_and_no_headers() -> None:
    # The paths carry 32 and 8 Mbit/s of data, the fast one also 4 of cross traffic from 3 s on, of
    # which a tenth is dropped. It is measured from 1 to 10 s.
    change = Change(cross_bps=4_000_000)
    event = Event(path="fast", action="change", at_ns=3 * SECOND, up=change)
    links = synthetic.links(FAST, SLOW)
    fast = links["device"] == b"rs1"
    ms = (links["time_ns"][fast] - np.uint64(T0)).astype(np.int64) // MS
    links["sent_bytes"][fast] += (np.maximum(ms - 3000, 0) * 450).astype(np.uint64)
    links["dropped_packets"][fast] = links["sent_packets"][fast] // 9
    scenario = synthetic.scenario().model_copy(update={"events": (event,)})
    client, server = synthetic.run(FAST, SLOW)
    figures = run_metrics(scenario, client, server, synthetic.guest(), links)
    flow = recorded_flow(scenario, client, server, links, synthetic.guest(), "up")
    found = explain.of_run(scenario, flow, figures, links, T0)
    by_kind = {reason.kind: reason for reason in found.reasons}
    mean_bps = 0.9 * 4e6 * 7 / 9
    assert by_kind["cross"].bps == pytest.approx(mean_bps, rel=1e-3)
    assert by_kind["cross"].text == "path fast carried cross traffic"
    assert abs(by_kind["headers"].bps if "headers" in by_kind else 0) < 1e-3 * mean_bps
    assert abs(found.not_explained_bps) < 1e-3 * mean_bps
    # in the other direction it is of no concern
    event = event.model_copy(update={"up": Change(), "down": change})
    scenario = scenario.model_copy(update={"events": (event,)})
    found = explain.of_run(scenario, flow, figures, links, T0)
    assert "cross" not in {reason.kind for reason in found.reasons}


def test_the_text_has_the_sum_the_reasons_and_the_rest() -> None:
    found = explained(replace(FAST, in_flight=10), SLOW)
    assert json.loads(json.dumps(asdict(found), allow_nan=False)) == asdict(found)
    lines = found.text().splitlines()
    assert lines[0] == (
        "default, seed 1: 40.00 Mbit/s of the 50.00 Mbit/s that its paths can carry (80.0 %)."
    )
    assert lines[1] == "Of the 10.00 Mbit/s missing:"
    assert lines[2].startswith("  8.00 Mbit/s: path fast was idle 20.0 % of the time because")
    assert lines[3].startswith("  2.00 Mbit/s: path slow was idle 20.0 % of the time because")
    assert "  0.00 Mbit/s: not explained" in lines


def test_the_error_of_an_unreadable_run_names_the_file(tmp_path: Path) -> None:
    scenario = tmp_path / store.SCENARIO
    scenario.write_text('{"paths": 1}')
    with pytest.raises(
        MptcplabError,
        match=r"scenario.json: not the scenario of a run: paths: Input should be a valid array",
    ):
        explain.explain(tmp_path)
    store.write_json(scenario, synthetic.scenario().model_dump(mode="json"))
    with pytest.raises(MptcplabError, match=r"guest.json: cannot be read: No such file"):
        explain.explain(tmp_path)
    (tmp_path / run_files.GUEST_OUTCOME).write_text(json.dumps(synthetic.guest()))
    with pytest.raises(MptcplabError, match=r"client.samples: cannot be read: No such file"):
        explain.explain(tmp_path)
    for name in ("client.samples", "server.samples", run_files.LINKS_SAMPLES):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(MptcplabError, match=f"^{tmp_path}: the records of the client have 0 conn"):
        explain.explain(tmp_path)
