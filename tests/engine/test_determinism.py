# SPDX-License-Identifier: GPL-2.0-only
"""Same scenario, seed and builds: the same bytes, whatever else the machine does."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mptcplab.lab import doctor
from mptcplab.lab.engine import Rig
from mptcplab.metrics import run_files
from mptcplab.runs import store
from mptcplab.runs.runner import Runner
from tests.vocabulary import RunScenario, scenario_of

# random loss and jitter on one path: a difference of a single packet changes all that follows
PATHS = ("wifi:50mbit,10ms,loss=0.3%", "lte:20mbit,40ms,jitter=3ms,loss=0.1%")
SAME = (
    store.RESULT,
    store.SCENARIO,
    run_files.PLAN,
    run_files.CLIENT_SAMPLES,
    run_files.SERVER_SAMPLES,
    run_files.LINKS_SAMPLES,
    run_files.GUEST_OUTCOME,
)


def run_into(out: Path, rig: Rig, *, seed: int = 1, jobs: int = 1, copies: int = 1) -> list[bytes]:
    """Run the scenario `copies` times, as many as `jobs` at a time; what each leaves."""
    scenario = scenario_of(*PATHS, scheduler="roundrobin", duration="5s", seed=str(seed))
    place = store.place(store.run_key(scenario, rig.kernel, rig.guest))

    def content(copy: int) -> bytes:
        own = out / str(copy)
        Runner(own).run([scenario], rig)
        return b"".join((own / place / name).read_bytes() for name in SAME)

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(content, range(copies)))


def burn() -> None:
    while True:
        pass


@pytest.fixture
def loaded_machine() -> Iterator[None]:
    """Twice as many busy processes as CPUs."""
    context = multiprocessing.get_context("spawn")
    burners = [context.Process(target=burn, daemon=True) for _ in range(2 * (os.cpu_count() or 1))]
    for burner in burners:
        burner.start()
    yield
    for burner in burners:
        burner.kill()
        burner.join()


#: Runs with what else is random, or comes at its time: their paths and flags.
AGAIN: dict[str, tuple[Sequence[str], dict[str, Any]]] = {
    "captures": (
        ("a:20mbit,10ms,loss=0.5%", "b:10mbit,30ms,jitter=2ms"),
        {"duration": "3s", "seed": "4", "pcap": True},
    ),
    "cross traffic": (
        ("a:20mbit,10ms,loss=1%,cross=5mbit", "b:20mbit,10ms"),
        {"event": ("1s:b:change,cross=30mbit,lasts=300ms",), "duration": "2s"},
    ),
    "events": (
        ("a:20mbit,10ms", "b:10mbit,30ms"),
        {
            "event": (
                *("1s:b:down", "2s:b:up", "2500ms:a:close"),
                "0s:b:handover,every=300ms,random=true",
            ),
            "size": "4MB",
        },
    ),
    "queues and losses": (
        (
            "a:10mbit,10ms,queue_discipline=pie,loss=1%,loss_burst=5,loss_bad=50%",
            "b:10mbit,20ms,queue_discipline=red,reorder=1%,reorder_by=5ms",
            "c:10mbit,20ms,queue_discipline=fq_codel,bottleneck=host,up.drop=5+100-110",
        ),
        {"scheduler": "roundrobin", "duration": "3s"},
    ),
    "several connections": (
        tuple(f"{name}:link=shared,delay=5ms" for name in "abt"),
        {
            "link": ("shared:10mbit,10ms,queue=100,queue_discipline=droptail,loss=0.1%",),
            "connection": ("m:paths=a/b", "t:paths=t,transport=tcp,cc=reno,start=300ms"),
            "duration": "2s",
        },
    ),
    "IPv6": (("a:50mbit,10ms", "b:50mbit,10ms,ip=6"), {"duration": "1s", "pcap": True}),
}


@pytest.mark.parametrize("what", AGAIN)
def test_the_same_run_leaves_the_same_files(run_scenario: RunScenario, what: str) -> None:
    paths, flags = AGAIN[what]
    one, same = (
        {
            file.name: file.read_bytes()
            for file in run_scenario(*paths, **flags).outcome.directory.iterdir()
            if file.name != run_files.CONSOLE
        }
        for _ in range(2)
    )
    captures = [name for name in one if name.endswith(".pcapng")]
    assert len(captures) == (len(paths) + 2 if "pcap" in flags else 0)
    assert [name for name in one.keys() | same.keys() if one.get(name) != same.get(name)] == []


def test_different_seeds_give_different_runs(rig: Rig, tmp_path: Path) -> None:
    found = [run_into(tmp_path / str(seed), rig, seed=seed)[0] for seed in (1, 2, 3)]
    assert len(set(found)) == 3


def test_seeds_make_runs_differ_also_without_any_loss(run_scenario: RunScenario) -> None:
    runs = [
        run_scenario("a:20mbit,10ms", "b:10mbit,20ms", duration="3s", seed=str(s)) for s in (1, 2)
    ]
    assert runs[0].outcome.guest["bytes_written"] != runs[1].outcome.guest["bytes_written"]


def test_runs_side_by_side_give_the_same_bytes(rig: Rig, tmp_path: Path) -> None:
    alone = run_into(tmp_path / "alone", rig)
    together = run_into(tmp_path / "together", rig, jobs=4, copies=4)
    assert set(together) == set(alone)


def test_load_and_no_load_agree(rig: Rig, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    calm = run_into(tmp_path / "calm", rig)
    request.getfixturevalue("loaded_machine")
    assert run_into(tmp_path / "loaded", rig, copies=2) == calm * 2


def test_an_address_layout_that_changes_changes_nothing(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container may forbid to fix it: results must not depend on it."""
    fixed = run_into(tmp_path / "fixed", rig)
    passes = doctor.passes
    monkeypatch.setattr(doctor, "passes", lambda name: name != "address layout" and passes(name))
    free = run_into(tmp_path / "free", rig, copies=4)
    assert set(free) == set(fixed)


def test_the_place_of_the_output_changes_nothing(rig: Rig, tmp_path: Path) -> None:
    awkward = tmp_path / "a \"long\" path with blanks, 'quotes' and ünïcode" / ("x" * 100)
    assert run_into(tmp_path / "short", rig) == run_into(awkward, rig)
