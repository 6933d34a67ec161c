# SPDX-License-Identifier: GPL-2.0-only
"""The program as a person uses it: what it prints, where, and its exit status."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mptcplab.lab import kernel
from mptcplab.lab.kernel import KernelBuild
from mptcplab.scenario import congestion
from mptcplab.scenario.presets import PRESETS, SOURCES
from tests.cli.calls import mptcplab

PATHS = ("--path", "wifi:20mbit,10ms", "--path", "lte:10mbit,30ms,loss=0.1%")
QUICK = (*PATHS, "--duration", "2s", "--repeat", "1")
OURS_ALONE = ("compare", *PATHS, "--repeat", "1", "--duration", "1s", "--no-baseline")
SCHEDULERS = Path(__file__).parents[1] / "scenario" / "schedulers"
PNG = b"\x89PNG\r\n\x1a\n"


def without_wall_clock(document: dict[str, Any]) -> dict[str, Any]:
    for entry in document["runs"] + document["baselines"]:
        del entry["wall_s"]
    return document


def test_compare_prints_a_table_and_a_picture(lab_kernel: KernelBuild, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = mptcplab("compare", *QUICK, "-s", "default,roundrobin", "--out", out)
    assert "default" in done.stdout
    assert "roundrobin" in done.stdout
    assert f"picture:  {out / 'goodput.png'}" in done.stdout
    assert (out / "goodput.png").read_bytes().startswith(PNG)
    assert (out / "goodput.svg").read_text().lstrip().startswith("<?xml")
    # progress goes elsewhere, a line per run: two schedulers, and plain TCP over each path
    assert len(done.stderr.splitlines()) == 4
    assert lab_kernel.id in (out / "comparison.json").read_text()


@pytest.mark.usefixtures("lab_kernel")
def test_all_compares_every_scheduler_with_an_overview(tmp_path: Path) -> None:
    done = mptcplab(*(*OURS_ALONE, "--out", tmp_path), *("-s", "all,roundrobin:num_segments=2"))
    document = json.loads((tmp_path / "comparison.json").read_text())
    compared = [run["scheduler"] for run in document["runs"]]
    assert compared == [*kernel.schedulers(), "roundrobin:num_segments=2"]
    # a row of each in the table, in no more than 80 columns, and in both pictures
    rows = {line.split(maxsplit=1)[0] for line in done.stdout.splitlines() if line.strip()}
    assert rows >= set(kernel.schedulers())
    assert max(map(len, done.stdout.partition("picture:")[0].splitlines())) <= 80
    for name in ("overview", "goodput"):
        assert f"picture:  {tmp_path / name}.png" in done.stdout
        assert (tmp_path / f"{name}.png").read_bytes().startswith(PNG)


def test_json_is_one_document_and_always_the_same(lab_kernel: KernelBuild, tmp_path: Path) -> None:
    command = ("compare", *QUICK, "-s", "default,roundrobin", "--repeat", "2", "--json", "--out")
    first = mptcplab(*command, tmp_path / "one", "--jobs", "1")
    second = mptcplab(*command, tmp_path / "two", "--jobs", "3", fork=False)
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


@pytest.mark.usefixtures("lab_kernel")
def test_table_and_explain_say_what_was_done_in_the_place_of_a_scheduler(tmp_path: Path) -> None:
    sleepy = str(SCHEDULERS / "sleepy.c")
    out = ("--out", tmp_path)
    done = mptcplab("run", *QUICK, "-s", sleepy, *out)
    said = mptcplab("explain", tmp_path)
    for text in (done.stdout, said.stdout):
        found = re.search(
            r"sleepy: next_segment\(\) let nothing leave with nothing in flight\s+(\d+)\s+"
            r"times:\s+a\s+segment\s+was\s+sent\s+for\s+it\.",
            text,
        )
        assert found
        # each after 200 ms and a round trip, of 2 s or a little more
        assert 5 <= int(found[1]) <= 11


@pytest.mark.usefixtures("lab_kernel")
def test_explain_tells_why_a_run_is_not_faster(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = mptcplab("run", *QUICK, "-s", "first:queue=off", "--out", out, "--json")
    run = json.loads(done.stdout)["runs"][0]
    said = mptcplab("explain", out)
    assert said.stdout.startswith("first:queue=off, seed 1: ")
    reason = (
        "path lte was idle 100.0 % of the time because the scheduler first:queue=off sent "
        "nothing over it"
    )
    assert reason in said.stdout.splitlines()[2]
    # the same by its own directory, and once if it is named twice, as a document
    directory = str(out / run["directory"])
    (once,) = json.loads(mptcplab("explain", directory, out, "--json").stdout)
    assert once["directory"] == directory
    assert once["connection"] is None
    assert once["goodput_bps"] == run["metrics"]["goodput_bps"]
    assert once["capacity_bps"] == 30e6
    assert (once["reasons"][0]["kind"], once["reasons"][0]["path"]) == ("scheduler", "lte")


@pytest.mark.usefixtures("lab_kernel")
def test_explain_takes_an_output_directory_and_schedulers(tmp_path: Path) -> None:
    out = tmp_path / "out"
    mptcplab(
        *("compare", *QUICK, "-s", "first:queue=off,first,default", "--repeat", "1"),
        *("--out", out),
    )

    def titles(*arguments: str) -> list[str]:
        said = mptcplab("explain", out, *arguments, "--json")
        return [each["title"] for each in json.loads(said.stdout)]

    # without plain TCP, whose runs are there, too
    assert titles() == ["first:queue=off, seed 1", "first, seed 1", "default, seed 1"]
    assert titles("-s", "first") == ["first:queue=off, seed 1", "first, seed 1"]
    assert titles("--scheduler", "default,first:queue=off") == [
        "first:queue=off, seed 1",
        "default, seed 1",
    ]
    nobody = mptcplab("explain", out, "-s", "blest", status=2)
    assert "blest: no run there has it; there are first:queue=off, first, default" in nobody.stderr
    near = mptcplab("explain", out, "-s", "defalt", status=2)
    assert 'no run there has it; did you mean "default"? there are first:queue=off' in near.stderr


@pytest.mark.usefixtures("lab_kernel")
def test_the_default_output_directory_is_in_the_working_directory(tmp_path: Path) -> None:
    mptcplab("run", "-p", "p:10mbit,1ms", "--duration", "500ms", cwd=tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mptcplab-out"]


def test_plan_prints_the_commands_and_runs_nothing(tmp_path: Path) -> None:
    done = mptcplab("compare", *QUICK, "-s", "default,roundrobin", "--plan", cwd=tmp_path)
    assert "tc -n router1 qdisc add dev rs1 root netem" in done.stdout
    assert "net.mptcp.scheduler=roundrobin" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_schema_is_one(tmp_path: Path) -> None:
    del tmp_path
    done = mptcplab("scenario", "schema")
    jsonschema.Draft202012Validator.check_schema(json.loads(done.stdout))


def test_the_presets_are_listed_with_their_numbers_and_sources() -> None:
    done = mptcplab("scenario", "presets")
    table, _, sources = done.stdout.partition("\n\n")
    rows = [line.split() for line in table.splitlines()]
    rows = [row for row in rows if row[0] in PRESETS]
    assert [row[0] for row in rows] == list(PRESETS)
    assert rows[1][:6] == ["lte", "7.6mbit", "29.5mbit", "10.5ms", "0.0001%", "190/730"]
    for label, source in SOURCES.items():
        assert label in table
        assert f"{label}: {source.title} {source.address}\n" in sources


def test_a_drive_is_written_as_a_scenario_that_can_be_planned(tmp_path: Path) -> None:
    drive = tmp_path / "drive"
    done = mptcplab("scenario", "drive", drive, "--seed", "3")
    names = ["5g-mmwave.csv", "lte.csv", "drive.toml"]
    assert done.stdout.splitlines()[:3] == [f"written: {drive / name}" for name in names]
    planned = mptcplab("run", drive / "drive.toml", "--plan")
    changes = [line for line in planned.stdout.splitlines() if line.startswith("at ")]
    assert {line.split()[4] for line in changes} == {"router1", "router2"}
    again = mptcplab("scenario", "drive", drive, status=2)
    assert "drive.toml: exists already; nothing was written" in again.stderr


def test_a_drive_is_written_with_what_was_set(tmp_path: Path) -> None:
    command = ("scenario", "drive", tmp_path / "drive")
    listed = mptcplab("scenario", "drive", "--list")
    assert "\nlte.power=30dBm  (-200dBm to 200dBm)\n" in listed.stdout
    bad = mptcplab(*command, "--set", "lte.power=40", "--set", "speed.east=fast", status=2)
    assert "mptcplab: 2 mistakes in --set" in bad.stderr
    assert not (tmp_path / "drive").exists()
    # without a building the sight line is there all the time, and the table's top rate with it
    mptcplab(*command, "--set", "building=none", "--set", "5g-mmwave.power=60dBm")
    rows = (tmp_path / "drive" / "5g-mmwave.csv").read_text().splitlines()[1:]
    assert {row.split(",")[1] for row in rows} == {"649339986"}


@pytest.mark.usefixtures("lab_kernel")
def test_show_draws_a_run_with_its_trace_and_writes_its_data(tmp_path: Path) -> None:
    drive, out, pictures = tmp_path / "drive", tmp_path / "out", tmp_path / "pictures"
    slow = ("--set", "5g-mmwave.share=2%", "--set", "duration=2s")
    mptcplab("scenario", "drive", drive, *slow)
    mptcplab(
        *("compare", drive / "drive.toml", "-s", "default,minrtt", "--no-baseline"),
        *("--repeat", "1", "--event", "1s:lte:down,lasts=300ms", "--out", out),
    )
    runs = json.loads((out / "comparison.json").read_text())["runs"]
    first, second = (out / run["directory"] for run in runs)
    kept = (first / "traces" / "lte.csv").read_bytes()
    assert kept == (drive / "lte.csv").read_bytes()

    one = mptcplab("show", first, "--data")
    assert one.stdout.splitlines() == [
        f"default, seed 1: {first / 'run.png'}",
        f"default, seed 1: {first / 'run.csv'}",
    ]
    picture = (first / "run.png").read_bytes()
    assert picture.startswith(PNG)
    assert int.from_bytes(picture[16:20], "big") == 1200
    with (first / "run.csv").open() as file:
        rows = list(csv.DictReader(file))
    # 2 s in bins of 20 ms; the trace's rows are of 100 ms, and the link is down from 1 s to 1.3 s
    assert len(rows) == 100
    traced = (drive / "lte.csv").read_text().splitlines()[1].split(",")
    assert float(rows[0]["sinr_db.lte"]) == float(traced[3])
    assert float(rows[0]["link_bps.lte"]) == pytest.approx(float(traced[1]))
    assert float(rows[55]["link_bps.lte"]) == 0
    received = sum(float(row["goodput_bps"]) for row in rows) * 0.02 / 2
    # the series counts in order: at the end, up to half a window of 20 ms at 100 Mbit/s may wait
    assert received == pytest.approx(runs[0]["metrics"]["goodput_bps"], abs=0.5e6)

    mptcplab("show", out, "-f", "svg", "--out", pictures)
    names = [f"{first.name}.svg", f"{second.name}.svg"]
    assert sorted(each.name for each in pictures.iterdir()) == sorted(names)
    drawn = (pictures / names[1]).read_text()
    for text in ("minrtt, seed 1: bulk up 2s, cubic", "down", "dB", "Mbit/s", "5g-mmwave"):
        assert f">{text}" in drawn

    figure = tmp_path / "new" / "fig.pdf"
    assert mptcplab("show", first, "-o", figure).stdout.endswith(f": {figure}\n")
    assert figure.read_bytes().startswith(b"%PDF")
    assert [each.name for each in figure.parent.iterdir()] == ["fig.pdf"]
    several = mptcplab("show", out, "-o", figure, status=2)
    assert f"--out {figure} is one file; with 2 runs, it takes a directory" in several.stderr

    (first / "client.samples").unlink()
    gone = mptcplab("show", first, status=1)
    assert f"{first / 'client.samples'}: cannot be read" in gone.stderr


@pytest.mark.usefixtures("lab_kernel")
def test_a_comparison_makes_the_missing_runs_alone(tmp_path: Path) -> None:
    given = ("compare", *PATHS, "--duration", "1s", "--repeat", "1", "--no-baseline")

    def made(schedulers: str, *more: str) -> tuple[str, list[dict[str, Any]]]:
        done = mptcplab(*given, "-s", schedulers, "--out", tmp_path, *more)
        runs = json.loads((tmp_path / "comparison.json").read_text())["runs"]
        return done.stderr.partition("[")[0], runs

    said, (first,) = made("default")
    assert "stored" not in said
    result = tmp_path / first["directory"] / "result.json"
    kept = result.stat().st_ino
    said, both = made("minrtt,default")
    assert said == "1 of 2 runs are stored already; --no-cache repeats them\n"
    assert (both[1], result.stat().st_ino) == ({**first, "wall_s": None}, kept)
    assert [run["scheduler"] for run in both] == ["minrtt", "default"]
    said, again = made("minrtt,default", "--no-cache")
    assert said == ""
    assert result.stat().st_ino != kept
    assert [run["metrics"] for run in again] == [run["metrics"] for run in both]
    # a run without its records is not whole
    (tmp_path / both[0]["directory"] / "client.samples").unlink()
    said, _ = made("minrtt")
    assert said == ""


def test_a_preset_is_planned_with_its_numbers() -> None:
    paths = ("--path", "lte:delay=60ms", "--path", "home:preset=wifi", "--seed-delay", "0us")
    done = mptcplab("run", *paths, "--plan")
    assert "netem limit 190 rate 7600kbit delay 60ms loss 0.0001%" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run"], "path"),
        (["run", "--path", "wfi"], 'did you mean "wifi"?'),
        (["compare", *PATHS, "--scheduler", "rondrobin"], "roundrobin"),
        (["scheduler", "new", "all"], "means all schedulers"),
        (["compare", *PATHS, "--cc", "cubik"], "cubic"),
        (["compare", *PATHS, "--cc", "reno,leia"], 'did you mean "lia"?'),
        (["run", *PATHS, "--cc", "reno,lia"], "2 congestion controls, where one is expected"),
        (["cc", "show", "leia"], 'did you mean "lia"?'),
        (["run", "no-such-file.toml"], "no-such-file.toml"),
        (["run", *PATHS, "--jobs", "0"], "--jobs"),
        (["run", *PATHS, "--wall-limit", "-1"], "--wall-limit"),
        (["run", *PATHS, "--disk-limit", "5 apples"], "'--disk-limit': '5 apples': unknown unit"),
        (["run", *PATHS, "--no-such-flag"], "--no-such-flag"),
        (["no-such-command"], "no-such-command"),
        (["run", *PATHS, "--event", "1s:lte:dwon"], 'did you mean "down"?'),
        (["run", *PATHS, "--decisions"], "--decisions"),
        (["run", *PATHS, "--trace"], "--trace is --decisions now"),
        (["scheduler", "show", "rondrobin"], 'did you mean "roundrobin"?'),
        (["scheduler", "show", "./none.c"], "there is no such file"),
        (["scheduler", "new", "default"], "a scheduler of the lab kernel has this name"),
        (["scheduler", "new", "My-Own"], "a scheduler's name is a letter"),
        (["kernel", "build", "--variant", "none"], "--variant"),
        (["show", "no-such-run"], "there is no such file or directory; accepted is"),
        (["show", "."], "no runs there; accepted is the directory of a run"),
        (["show", ".", "--format", "gif"], "--format"),
        (["scenario", "drive", "x", "--set", "lte.powr=1dBm"], 'did you mean "lte.power"?'),
        (["explain", "--jobs", "2"], "--jobs is for the runs of --try"),
        (["explain", "no-such-run"], "in no-such-run\n  there is no such file or directory"),
    ],
)
def test_bad_input_is_reported_in_words_with_status_2(arguments: list[str], expected: str) -> None:
    done = mptcplab(*arguments, status=2)
    assert done.stdout == ""
    assert expected in done.stderr


@pytest.mark.usefixtures("lab_kernel")
def test_an_output_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = mptcplab("run", "-p", "p:10mbit,1ms", "-o", tmp_path / "file" / "out", status=1)
    assert "cannot write to" in done.stderr


@pytest.mark.usefixtures("lab_kernel")
def test_a_run_that_fails_is_reported_and_sets_the_exit_status(tmp_path: Path) -> None:
    done = mptcplab(
        *("compare", "-p", "good:10mbit,10ms", "-p", "bad:10mbit,10ms,loss=99.9999999%"),
        *("--duration", "1s", "--json", "--no-baseline", "-o", tmp_path / "out"),
        *("--repeat", "1", "--start", "established"),
        status=1,
    )
    (run,) = json.loads(done.stdout)["runs"]
    assert run["status"] == "failed"
    assert "path bad" in run["reason"]
    assert run["metrics"]["goodput_bps"] is None


def test_doctor_says_what_there_is(lab_kernel: KernelBuild) -> None:
    done = mptcplab("doctor")
    assert lab_kernel.id in done.stdout


def test_the_list_of_schedulers_has_a_line_for_each() -> None:
    done = mptcplab("scheduler", "list")
    lines = done.stdout.partition("\n\n")[0].splitlines()
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert names == list(kernel.schedulers())


def test_the_list_of_congestion_controls_has_a_line_for_each() -> None:
    done = mptcplab("cc", "list")
    names = [
        line.split()[0] for line in done.stdout.splitlines() if re.match(r"[a-z]+ +\d{4} ", line)
    ]
    assert names == list(congestion.names())


def test_show_says_what_a_congestion_control_does() -> None:
    done = mptcplab("cc", "show", "olia")
    assert done.stdout.startswith("olia: ")
    assert "Source: " in done.stdout
    assert "kernel/mptcp/cc/olia.c" in done.stdout
    assert mptcplab("cc", "show", "reno").stdout.startswith("reno: ")


def test_congestion_controls_are_compared(tmp_path: Path) -> None:
    flags = ["--cc", "reno,lia", "--duration", "2s", "--out", tmp_path, "--json"]
    done = mptcplab("compare", *PATHS, "--repeat", "1", *flags)
    made = json.loads(done.stdout)
    assert [run["cc"] for run in made["runs"]] == ["reno", "lia"]
    # plain TCP over each path, with each of them
    alone = [(baseline["cc"], baseline["path"]) for baseline in made["baselines"]]
    assert alone == [("reno", "wifi"), ("reno", "lte"), ("lia", "wifi"), ("lia", "lte")]
    assert all(run["metrics"]["aggregation_benefit"] is not None for run in made["runs"])


def test_show_has_the_whole_header_and_every_parameter() -> None:
    done = mptcplab("scheduler", "show", "roundrobin")
    assert done.stdout.startswith("roundrobin: ")
    assert "Source: " in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.startswith("num_segments"))
    assert row.split()[:4] == ["num_segments", "1..255", "1", "segments"]
    assert "kernel/mptcp/sched/roundrobin.c" in done.stdout


def test_new_writes_two_files_and_never_over_others(tmp_path: Path) -> None:
    mptcplab("scheduler", "new", "mine", cwd=tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"mine.c", "mine_test.py"}
    again = mptcplab("scheduler", "new", "mine", cwd=tmp_path, status=2)
    assert "mine.c: there is a file of this name" in again.stderr
    shown = mptcplab("scheduler", "show", "./mine.c", cwd=tmp_path)
    assert shown.stdout.startswith("mine: ")


@pytest.mark.usefixtures("lab_kernel")
def test_an_event_takes_a_path_away_and_brings_it_back(tmp_path: Path) -> None:
    done = mptcplab(
        *("compare", *PATHS, "--repeat", "1", "--duration", "4s"),
        *("-s", "roundrobin", "--json", "-o", tmp_path),
        *("--event", "1s:wifi:down", "--event", "2s:wifi:up", "--event", "3s:lte:close"),
    )
    document = json.loads(done.stdout)
    assert document["runs"][0]["status"] == "ok"
    # plain TCP cannot be closed over one path
    assert [each["path"] for each in document["baselines"]] == ["wifi"]
    assert [event["path"] for event in document["scenario"]["events"]] == ["wifi", "wifi", "lte"]


# A scheduler of one's own


def own_scheduler(folder: Path, old: str = "", new: str = "") -> Path:
    """The file that `scheduler new` writes, changed."""
    file = folder / "mine.c"
    if not file.exists():
        mptcplab("scheduler", "new", "mine", cwd=folder)
    source = file.read_text()
    assert source.count(old) == 1 or not old
    file.write_text(source.replace(old, new) if old else source)
    return file


@pytest.mark.usefixtures("lab_kernel")
def test_a_scheduler_of_one_s_own_runs_from_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    own_scheduler(tmp_path / "here")
    scenario = tmp_path / "here" / "scenario.toml"
    scenario.write_text(
        'scheduler = ["mine.c", "mine.c:in_a_row=100"]\n'
        '[[path]]\nname = "a"\nrate = "20mbit"\ndelay = "5ms"\n'
        '[[path]]\nname = "b"\nrate = "10mbit"\ndelay = "20ms"\n'
        '[workload]\nduration = "1s"\n'
    )
    done = mptcplab(
        *("compare", str(scenario), "--repeat", "1", "--start", "established"),
        *("--no-baseline", "--json"),
        cwd=tmp_path,
    )
    one, many = json.loads(done.stdout)["runs"]
    assert (one["scheduler"], many["scheduler"]) == ("mine", "mine:in_a_row=100")
    assert one["metrics"] != many["metrics"]
    # 1 s of 30 Mbit/s in frames of which 1424 of 1514 bytes are data, a tenth of it warm-up
    assert one["metrics"]["goodput_bps"] > 0.5 * 30e6 * 1424 / 1514


@pytest.mark.usefixtures("lab_kernel")
def test_what_the_compiler_says_is_shown_with_file_and_line(tmp_path: Path) -> None:
    file = own_scheduler(tmp_path, "if (!head)", "if (!haed)")
    line = file.read_text().split("if (!haed)")[0].count("\n") + 1
    done = mptcplab("run", *QUICK, "-s", "./mine.c", cwd=tmp_path, status=1)
    assert f"mine.c:{line}:" in done.stderr
    assert "error: 'haed' undeclared" in done.stderr.replace("\u2018", "'").replace("\u2019", "'")
    # nothing was run or stored
    assert not (tmp_path / "mptcplab-out").exists()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("*(volatile int *)8 = 0;", "crashed (oops)"),
        ("BUG();", "mine_next_segment"),
        ("WARN_ON(1);", "the guest's kernel warned"),
    ],
)
@pytest.mark.usefixtures("lab_kernel")
def test_a_failed_scheduler_leaves_name_and_backtrace(tmp_path: Path, what: str, said: str) -> None:
    own_scheduler(
        tmp_path, "\tif (!head)\n", f"\tif (conn->una_seq > 20000)\n\t\t{what}\n\tif (!head)\n"
    )
    done = mptcplab("run", *QUICK, "-s", "./mine.c", "--json", cwd=tmp_path, status=1)
    (run,) = json.loads(done.stdout)["runs"]
    assert run["status"] == "failed"
    assert said in run["reason"]
    # the name, in the first line and decoded in the backtrace below it
    reason, _, below = run["reason"].partition("\n")
    assert "mine_next_segment" in reason
    assert re.search(r"mine_next_segment(\.cold)?\+0x\w+/0x\w+ \[mine\]", below)
    assert "mine, seed 1: failed: " in done.stderr


def test_many_connections_are_kept_and_found_again(tmp_path: Path) -> None:
    paths = ("--path", "a:50mbit,10ms", "--path", "b:20mbit,20ms")
    flags = ("--workload", "bulk:connections=50", "--duration", "1s", "--scheduler", "default")
    compare = ("compare", *paths, *flags, "--repeat", "2", "--out", tmp_path)
    first = mptcplab(*compare)
    assert "Connections, default: " in first.stdout
    again = mptcplab(*compare)
    assert "stored already" in again.stdout + again.stderr
    (run, *_) = sorted((tmp_path / "runs").iterdir())
    assert "Mbit/s" in mptcplab("explain", run).stdout
    assert mptcplab("show", run).stdout.rstrip().endswith("run.png")
    assert "report.html" in mptcplab("report", tmp_path, "-o", tmp_path / "report.html").stdout
    # compare's baselines, plain TCP over each path alone, have such connections, too
    query = "SELECT count(*), min(connections_established) > 0 FROM runs"
    found = mptcplab("results", "query", "--csv", "-o", tmp_path, query).stdout
    assert found.split()[-1] == "6,True"


def test_a_case_is_run_judged_and_shown_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = mptcplab("case", "run", "xp1484", "--repeat", "1", "--out", out)
    # a single seed is no sample of anything
    assert re.match(r"xp1484: .*: UNDECIDED\nprivate-octopus/picoquic#1484, ", ran.stdout)
    assert mptcplab("case", "show", "xp1484", "--out", out).stdout == ran.stdout
    listed = mptcplab("case", "list", "--out", out).stdout
    assert "xp1484" in re.findall(r"(?m)^(\w+) +undecided ", listed)
    mptcplab("case", "publish", tmp_path / "pages", "--out", out)
    assert (tmp_path / "pages" / "xp1484.svg").exists()
