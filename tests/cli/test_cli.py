# SPDX-License-Identifier: GPL-2.0-only
"""The program as a person uses it: what it prints, where, and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mptcplab.kernel import KernelBuild

PATHS = ("--path", "wifi:20mbit,10ms", "--path", "lte:10mbit,30ms,loss=0.1%")
QUICK = (*PATHS, "--duration", "2s")
PNG = b"\x89PNG\r\n\x1a\n"


def mptcplab(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mptcplab", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
    )


def without_wall_clock(document: dict[str, Any]) -> dict[str, Any]:
    for entry in document["runs"] + document["baselines"]:
        del entry["wall_s"]
    return document


def test_compare_prints_a_table_and_draws_a_picture(
    lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = mptcplab("compare", *QUICK, "-s", "default,roundrobin", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "default" in done.stdout
    assert "roundrobin" in done.stdout
    assert f"picture:  {out / 'goodput.png'}" in done.stdout
    assert (out / "goodput.png").read_bytes().startswith(PNG)
    assert (out / "goodput.svg").read_text().lstrip().startswith("<?xml")
    # progress goes elsewhere, a line per run: two schedulers, and plain TCP over each path
    assert len(done.stderr.splitlines()) == 4
    assert lab_kernel.id in (out / "comparison.json").read_text()


def test_json_is_one_document_and_the_same_each_time(
    lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    command = ("compare", *QUICK, "-s", "default,roundrobin", "--repeat", "2", "--json", "--out")
    first = mptcplab(*command, str(tmp_path / "one"), "--jobs", "1")
    second = mptcplab(*command, str(tmp_path / "two"), "--jobs", "3")
    assert (first.returncode, second.returncode) == (0, 0)
    document = json.loads(first.stdout)
    assert without_wall_clock(document) == without_wall_clock(json.loads(second.stdout))
    assert document["build"]["kernel"] == lab_kernel.id

    assert [(run["scheduler"], run["seed"]) for run in document["runs"]] == [
        *(("default", 1), ("default", 2), ("roundrobin", 1), ("roundrobin", 2))
    ]
    run = document["runs"][0]
    assert run["status"] == "ok"
    assert run["virtual_s"] > 2
    assert run["data_packets"] > 1000
    for name in (
        *("goodput_bps", "aggregation_benefit", "ofo_bytes_mean", "ofo_bytes_p99"),
        "retransmitted_packets",
    ):
        assert run["metrics"][name] is not None, name
    assert [path["name"] for path in run["paths"]] == ["wifi", "lte"]
    assert sum(path["share"] for path in run["paths"]) == pytest.approx(1)
    assert (tmp_path / "one" / run["directory"] / "plan.txt").exists()


def test_run_takes_a_file_and_flags_that_override_it(
    lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    del lab_kernel
    file = tmp_path / "scenario.toml"
    file.write_text('[[path]]\nname = "p"\nrate = "10mbit"\ndelay = "5ms"\n')
    done = mptcplab(
        "run", str(file), "--duration", "1s", "--seed", "7", "--json", "-o", str(tmp_path / "out")
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [run["seed"] for run in document["runs"]] == [7]
    assert document["scenario"]["workload"]["duration_ns"] == 10**9


def test_the_default_output_directory_is_in_the_working_directory(
    lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    del lab_kernel
    done = mptcplab("run", "-p", "p:10mbit,1ms", "--duration", "500ms", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mptcplab-out"]


def test_plan_prints_the_commands_and_runs_nothing(tmp_path: Path) -> None:
    done = mptcplab("compare", *QUICK, "-s", "default,roundrobin", "--plan", cwd=tmp_path)
    assert done.returncode == 0
    assert "tc -n router1 qdisc add dev rs1 root netem" in done.stdout
    assert "net.mptcp.scheduler=roundrobin" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_schema_is_one(tmp_path: Path) -> None:
    del tmp_path
    done = mptcplab("scenario", "schema")
    assert done.returncode == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run"], "path"),
        (["run", "--path", "wifi"], "--path"),
        (["run", "--path", "wifi:50mbit,-10ms"], "negative"),
        (["run", "--path", "wifi:50,10ms"], "rate"),
        (["compare", *PATHS, "--scheduler", "rondrobin"], "roundrobin"),
        (["compare", *PATHS, "--cc", "cubik"], "cubic"),
        (["run", "no-such-file.toml"], "no-such-file.toml"),
        (["run", *PATHS, "--jobs", "0"], "--jobs"),
        (["run", *PATHS, "--wall-limit", "-1"], "--wall-limit"),
        (["run", *PATHS, "--no-such-flag"], "--no-such-flag"),
        (["no-such-command"], "no-such-command"),
    ],
)
def test_bad_input_is_told_in_words_with_status_2(arguments: list[str], expected: str) -> None:
    done = mptcplab(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_several_mistakes_are_told_together(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('schedular = "default"\n[[path]]\nname = "p"\nrate = "fast"\ndelay = "-1ms"\n')
    done = mptcplab("run", str(file))
    assert done.returncode == 2
    assert "3 mistakes" in done.stderr
    for key in ("schedular", "path[1].rate", "path[1].delay"):
        assert key in done.stderr


def test_an_output_directory_that_cannot_be_made_is_told(
    lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    del lab_kernel
    (tmp_path / "file").write_text("")
    done = mptcplab("run", "-p", "p:10mbit,1ms", "-o", str(tmp_path / "file" / "out"))
    assert done.returncode == 1
    assert "cannot write to" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_that_fails_is_told_and_sets_the_exit_status(
    lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    del lab_kernel
    done = mptcplab(
        *("compare", "-p", "good:10mbit,10ms", "-p", "bad:10mbit,10ms,loss=99.9999999%"),
        *("--duration", "1s", "--json", "--no-baseline", "-o", str(tmp_path / "out")),
    )
    assert done.returncode == 1
    (run,) = json.loads(done.stdout)["runs"]
    assert run["status"] == "failed"
    assert "path bad" in run["reason"]
    assert run["metrics"]["goodput_bps"] is None


def test_doctor_says_what_there_is(lab_kernel: KernelBuild) -> None:
    done = mptcplab("doctor")
    assert done.returncode == 0, done.stdout
    assert lab_kernel.id in done.stdout


@pytest.mark.parametrize("command", [[], ["run"], ["compare"], ["kernel"], ["doctor"], ["bench"]])
def test_every_command_has_help(command: list[str]) -> None:
    done = mptcplab(*command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: ")
