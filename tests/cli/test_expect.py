# SPDX-License-Identifier: GPL-2.0-only
"""--expect and --junit as a CI uses them: exit statuses, what is printed, and the report."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.calls import call as mptcplab

# a path of 10 Mbit/s has less than that as goodput, and, as of 1514 bytes 90 are headers, over 9
RUN = ("run", "--path", "a:10mbit,5ms", "--duration", "1s")
COMPARE = (
    *("compare", "--path", "a:10mbit,5ms", "--path", "b:5mbit,5ms", "--duration", "1s"),
    *("--repeat", "1", "--scheduler", "default,minrtt", "--no-baseline"),
)


@pytest.mark.usefixtures("lab_kernel")
def test_a_run_that_meets_what_is_expected(tmp_path: Path) -> None:
    report = tmp_path / "reports" / "junit.xml"
    texts = ("goodput >= 9mbit", "goodput_bps < 10e6")
    wanted = [option for text in texts for option in ("--expect", text)]
    done = mptcplab(*RUN, "--out", str(tmp_path), *wanted, "--junit", str(report))
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-2:]
    for line, text in zip(last, texts, strict=True):
        assert line.startswith(f"held:     {text}: 9.")
    (suite,) = ElementTree.parse(report).getroot()
    assert suite.get("name") == "mptcplab run"
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["2", "0", "0"]
    document = json.loads((tmp_path / "comparison.json").read_text())
    assert [each["held"] for each in document["expectations"]] == [True, True]


@pytest.mark.usefixtures("lab_kernel")
def test_one_that_is_not_met_has_an_exit_status_of_its_own(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    out = ("--out", str(tmp_path / "an out"))
    command = (*COMPARE, *out, "--expect", "goodput >= 20mbit", "--junit", str(report))
    done = mptcplab(*command, "--json")
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1] == "mptcplab: 2 of 2 expectations not met"
    found = json.loads(done.stdout)["expectations"]
    assert [(each["of"], each["held"]) for each in found] == [("default", False), ("minrtt", False)]
    assert all(each["right"] == 20e6 and each["left"] < 15e6 for each in found)
    failure = ElementTree.parse(report).getroot()[0][0][0]
    repeat = str(failure.text).splitlines()[-1].removeprefix("repeat:   ")
    assert shlex.split(repeat) == ["mptcplab", *command, "--json"]


@pytest.mark.usefixtures("lab_kernel")
def test_a_run_that_fails_is_neither_met_nor_unmet(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    wanted = ("--expect", "goodput > 0", "--junit", str(report))
    done = mptcplab(*RUN, "--wall-limit", "0.01", "--out", str(tmp_path), *wanted)
    assert done.returncode == 1
    assert "unknown:  goodput > 0: default has no goodput: 1 of 1 runs failed" in done.stdout
    assert ElementTree.parse(report).getroot().get("errors") == "1"


@pytest.mark.usefixtures("lab_kernel")
def test_a_sweep_meets_it_at_each_point(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    options = ("--sweep", "path.b.rate=5mbit,10mbit", "--out", str(tmp_path / "out"))
    wanted = ("--expect", "minrtt.goodput >= 15mbit", "--junit", str(report))
    done = mptcplab(*COMPARE, *options, *wanted)
    assert done.returncode == 4, done.stderr
    last = [line[10:].partition(": ")[0] for line in done.stdout.splitlines()[-2:]]
    assert last == [
        "minrtt.goodput >= 15mbit (path.b.rate=5mbit)",
        "minrtt.goodput >= 15mbit (path.b.rate=10mbit)",
    ]
    verdicts = [line.partition(":")[0] for line in done.stdout.splitlines()[-2:]]
    assert verdicts == ["not held", "held"]
    assert ElementTree.parse(report).getroot().get("failures") == "1"


@pytest.mark.parametrize("command", [RUN, COMPARE], ids=["run", "compare"])
def test_a_mistake_is_reported_and_nothing_is_run(command: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = tmp_path / "junit.xml"
    report.write_text("of an earlier run")
    wanted = ("--expect", "goodput >= 50ms", "--expect", "gooput > 0", "--junit", str(report))
    done = mptcplab(*command, "--out", str(out), *wanted)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "mptcplab: 2 mistakes in --expect",
        '  "goodput >= 50ms": a rate and a time do not fit together',
        '  "gooput > 0": unknown name gooput; did you mean "goodput"?',
    ]
    assert not out.exists()


def test_a_report_needs_an_expectation_and_a_place(tmp_path: Path) -> None:
    done = mptcplab(*RUN, "--junit", str(tmp_path / "junit.xml"))
    assert done.returncode == 2
    assert "--junit reports on --expect" in done.stderr
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "junit.xml"
    done = mptcplab(*RUN, "--expect", "goodput > 0", "--junit", str(place))
    assert done.returncode == 1
    assert done.stderr == f"mptcplab: cannot write {place}: File exists\n"


def test_only_a_former_report_is_removed_and_only_by_what_runs(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    report.write_text("of an earlier run")
    wanted = ("--expect", "goodput > 0", "--junit", str(report))
    for command in ((*RUN, "--plan"), (*COMPARE, "--dry-run")):
        done = mptcplab(*command, "--out", str(tmp_path), *wanted)
        assert done.returncode == 0, done.stderr
        assert report.read_text() == "of an earlier run"


@pytest.mark.usefixtures("lab_kernel")
def test_the_table_and_the_report_do_not_wait_for_each_other(tmp_path: Path) -> None:
    wanted = ("--out", str(tmp_path / "out"), "--expect", "goodput > 0", "--junit")
    full_disk = tmp_path / "full"
    full_disk.symlink_to("/dev/full")
    done = mptcplab(*RUN, *wanted, str(full_disk))
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "held:     goodput > 0" in done.stdout
    report = tmp_path / "junit.xml"
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "mptcplab", *RUN, *wanted, str(report)]
        assert subprocess.run(command, stdout=full, stderr=subprocess.PIPE).returncode == 1
    assert ElementTree.parse(report).getroot().get("failures") == "0"
