# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments on the real kernel, as a person runs them."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
from pathlib import Path

import pytest

from mptcplab import resources
from mptcplab.cli.actions import common
from mptcplab.lab import guest, kernel
from mptcplab.lab.kernel import KernelBuild
from mptcplab.papers import reproduce
from mptcplab.papers.catalogue import DRAWS, PUBLISHED
from mptcplab.papers.claims import Verdict
from mptcplab.papers.stale import Now
from mptcplab.runs import store
from mptcplab.runs.runner import Runner
from tests.cli.calls import PROGRAM, call
from tests.unit.test_papers import load

#: The quickest one: requests over one idle path.
FIGURE = "cech2020/fig11"
FIRST = resources.KERNEL / "mptcp" / "sched" / "first.c"


def finished(*arguments: object) -> tuple[int, str, str]:
    done = call("papers", *arguments)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_figure_goes_on_where_it_stopped(
    how: signal.Signals, lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = [*PROGRAM, "papers", "run", FIGURE, "--quick", "--jobs", "1", "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    # three of the ten runs have ended
    for _ in range(3):
        assert "/10]" in process.stderr.readline()
    process.send_signal(how)
    _, err = process.communicate()
    if how == signal.SIGINT:
        assert process.returncode == 128 + signal.SIGINT
        assert "finished runs are kept" in err
    else:
        assert process.returncode == -signal.SIGKILL
    kept = sorted(file.name for file in (out / "runs").glob("[!.]*"))
    assert 3 <= len(kept) < 10
    assert not (out / f"{FIGURE}-quick.json").exists()

    status, shown, err = finished("run", FIGURE, "--quick", "--out", out)
    assert status == 0, err
    assert len(err.splitlines()) == 10 - len(kept)
    assert set(kept) < {file.name for file in (out / "runs").glob("[!.]*")}
    document = json.loads((out / f"{FIGURE}-quick.json").read_text())
    assert document["build"]["kernel"] == lab_kernel.id
    assert len(document["runs"]) == 10

    # nothing is run again, and what was found is the same
    status, again, err = finished("run", FIGURE, "--quick", "--out", out)
    assert (status, err) == (0, "")
    assert again == shown
    status, again, err = finished("show", FIGURE, "--quick", "--out", out)
    assert (status, again) == (0, shown)
    assert err.startswith("not run: published, 10 runs: ")
    # there is nothing else to show
    status, again, _ = finished("show", FIGURE, "--out", out)
    assert (status, again) == (0, shown)

    # A request of 100 bytes and its response are packets of less than 200 bytes: on 1 Gbit/s
    # they take less than 1.6 us each, and the delay of netem is exact: the seed adds up to 50 us.
    (least,) = [line for line in shown.splitlines() if "least excess" in line]
    assert 0 < float(least.split()[-2]) < 0.01 + 2 * 0.05

    pages = tmp_path / "pages"
    status, written, err = finished("publish", pages, "--out", out)
    assert status == 0, err
    assert f"written: {pages / 'cech2020.md'}" in written
    assert "The delay that netem makes" in (pages / "cech2020.md").read_text()


#: Two paths of 2 Mbit/s, known to 2 %; how much the second one carries is assumed.
VARIED = """
title = "Two paths"
place = "figure 1"
repeat = 5

[scenario]
scheduler = "{scheduler}"
vary = "2%"
path = [
    { name = "a", rate = "2mbit", delay = "10ms" },
    { name = "b", rate = "{second}kbit", delay = "10ms" },
]
workload.duration = "4s"
workload.warmup = "1s"

[[assumed]]
name = "second"
value = 2000
because = "the paper does not say"
range = [1500]
source = "common rates"

[grid]
scheduler = ["default", "first"]

[[variant]]
name = "slow"
says = "a fifth of the rate"
scenario."path.*.rate" = "400kbit"

[[metric]]
name = "goodput"
title = "Goodput"
unit = "Mbit/s"
value = "goodput_bps / 1e6"

[chart]
kind = "bars"
x = "scheduler"
y = ["goodput"]

[[claim]]
name = "both"
quote = "q"
says = "Two paths carry more than one."
place = "1"
holds = "median(goodput, scheduler='default') > 1.1 * median(goodput, scheduler='first')"

[[claim]]
name = "sum"
quote = "q"
says = "Two paths carry 3.5 Mbit/s."
place = "1"
holds = "more > 3.5"
figures.more = { says = "both", unit = "Mbit/s", value = "median(goodput, scheduler='default')" }

[[claim]]
name = "first"
quote = "q"
says = "One path carries 3 Mbit/s."
place = "1"
holds = "median(goodput, scheduler='first') > 3"
direction = "median(goodput, scheduler='first') > 2.5"
[[claim.because]]
says = "The slower, the less."
shown_by = "slow < 1"
figures.slow = { value = "median(goodput, scheduler='first', variant='slow')" }
"""


def test_variants_decide_what_depends_on_them(lab_kernel: KernelBuild, tmp_path: Path) -> None:
    published = load(tmp_path, VARIED)
    out, lab_guest = tmp_path / "out", guest.build()
    found = reproduce.run(
        published,
        lab_kernel,
        lab_guest,
        Runner(out, show=common.progress),
        parts=[PUBLISHED, "slow", "second=1500"],
        repeat=None,
    )
    assert list(found.ran) == [PUBLISHED, "slow", "second=1500"]
    assert found.missing == [DRAWS]
    both, total, first = found.judged
    assert [each.samples for each in found.judged] == [5, 5, 5]
    # a second path of 1.5 Mbit/s or 2 beside one of 2, each 2 % off at most
    assert (both.verdict, both.p_holds) == (Verdict.REPRODUCED, 1)
    # the paths of each seed are others, and so is what they carry: up to 2 % more or less
    low, high = total.intervals["more"]
    assert 3.5 < low < high < 4 * 1.02
    # with 1.5 Mbit/s it is 3.5 of all packets, 2 % more at most; 1448 of 1500 bytes are data
    assert total.p_holds == 1
    assert total.verdict is Verdict.INCONCLUSIVE
    assert total.reasons == [
        "depends on second: contradicted with 1500; the quick part alone: reproduced"
    ]
    assert (first.verdict, first.p_direction) == (Verdict.CONTRADICTED, 0)
    (because,) = first.because
    assert 0.3 < because.ours["slow"] < 0.4 * 1.02

    made = found.ran["slow"].provenance
    assert Now(kernel.parts(lab_kernel), lab_guest.id).changed(made) == []
    assert list(made.files) == ["sched/first.c"]
    assert made.files["sched/first.c"] == hashlib.sha256(FIRST.read_bytes()).hexdigest()
    assert made.cpu_s is not None
    (out / "paper2020" / "fig1-slow.json").unlink()
    assert reproduce.read(published, out, quick=False).missing == ["slow", DRAWS]


def test_draws_judge_alike_on_one_processor_and_two(
    lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    published, lab_guest = load(tmp_path, VARIED), guest.build()
    one, two = (
        reproduce.run(
            published,
            lab_kernel,
            lab_guest,
            Runner(tmp_path / str(jobs), jobs=jobs),
            parts=[PUBLISHED, DRAWS],
            repeat=None,
        )
        for jobs in (1, 2)
    )
    assert one.judged == two.judged
    both, total, first = one.judged
    assert both.verdict is Verdict.REPRODUCED
    assert first.verdict is Verdict.CONTRADICTED
    # of 2 Mbit/s and 1.5 to 2 there are 97 % data: above 3.5 from 1.63 Mbit/s on, 2 % more or less
    assert total.verdict is Verdict.DEPENDS
    depends = total.draws["holds"].depends
    assert depends is not None
    assert depends.name == "second"
    assert 1550 < min(end for end in (depends.low, depends.high) if end > 1510) < 1750
    # published ones are shown and drawn over time; of thousands of draws, the figures are kept
    drawn = {*two.ran[DRAWS].directories} - {*two.ran[PUBLISHED].directories}
    assert drawn
    assert not any(map(store.has_records, drawn))
    assert all(map(store.has_records, two.ran[PUBLISHED].directories))


def test_what_was_not_run_is_said(tmp_path: Path) -> None:
    status, _, err = finished("show", FIGURE, "--out", tmp_path)
    assert status == 1
    assert f"to make it: mptcplab papers run {FIGURE}" in err
    assert "--quick" not in err
    status, _, err = finished("publish", tmp_path / "x", "--out", tmp_path)
    assert status == 1
    assert "no experiment has been run" in err


@pytest.mark.parametrize("command", ["run", "show"])
def test_a_wrong_name_is_an_error(command: str, tmp_path: Path) -> None:
    status, _, err = finished(command, "cech2020/fig33", "--out", tmp_path)
    assert status == 2
    assert "cech2020/fig33: no such experiment; did you mean" in err
