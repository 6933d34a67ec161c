# SPDX-License-Identifier: GPL-2.0-only
"""How the kernel's selftests are run and judged, without running any."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

import pytest
from click import UsageError
from rich.console import Console

from mptcplab.cli import load
from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab import doctor, guest, kernel
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild, Source
from mptcplab.lab.kernel_names import ENGINE, OURS, UPSTREAM
from mptcplab.scenario.scheduler import known
from mptcplab.selftests import campaign as campaigns
from mptcplab.selftests import expected_failures, reports
from mptcplab.selftests import scripts as selftests_scripts
from mptcplab.selftests.campaign import Campaign, Kernels, Wanted
from mptcplab.selftests.expected_failures import Expectations, ExpectedFailure
from mptcplab.selftests.jobs import Job, Ran, choice, choose_scheduler, plan
from mptcplab.selftests.scripts import OTHER_PACKETS, PACKETS, SCRIPTS, Script, Tools
from mptcplab.selftests.tap import Result, Verdict

# As in mptcp_lib.sh of Linux 6.12.
LIBRARY = """\
	for netns in "${@}"; do
		ip netns exec "${!netns}" sysctl -q net.mptcp.enabled=1
		ip netns exec "${!netns}" sysctl -q net.ipv4.conf.all.rp_filter=0
	done
"""
DIAG = Script("diag.sh")
SIMULT = Script("simult_flows.sh")
NOTHING = Expectations()
TOOLS = Tools("0123456789ab", Path("net"), Guest("0123456789ab", Path("init")))
PACKETDRILL = replace(TOOLS, net=Path("packets"), scripts=(PACKETS,))


def build(variant: str, name: str = "") -> KernelBuild:
    return KernelBuild("0123456789ab", variant, Path("linux"), Path("config"), name)


def kernels(name: str = "", *, engine: bool = False) -> Kernels:
    if engine:
        return Kernels(name, build(ENGINE, name), None, (TOOLS,))
    return Kernels(name, build(UPSTREAM, name), build(OURS, name), (TOOLS, PACKETDRILL))


def ran(
    variant: str, verdicts: dict[str, Verdict], scheduler: str = "default", error: str = ""
) -> Ran:
    job = Job(DIAG, build(variant), TOOLS, scheduler)
    return Ran(job, Result(verdicts, error=error), 1.0, 2.0)


def campaign(*all_ran: Ran, expectations: Expectations = NOTHING, strict: bool = False) -> Campaign:
    jobs = dict.fromkeys(replace(one.job, number=1) for one in all_ran)
    made = Campaign(list(jobs), expectations, strict)
    for one in all_ran:
        made.add(one)
    return made


def problems(made: Campaign) -> list[str]:
    return [f"{suite.title}: {text}" for suite in made.suites() for text in suite.problems()]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    file = tmp_path / "mptcp_lib.sh"
    file.write_text(LIBRARY)
    return file


def test_a_scheduler_is_chosen_by_one_line_for_each_namespace(library: Path) -> None:
    choose_scheduler(library, "blest")
    added = '\t\tip netns exec "${!netns}" sysctl -q net.mptcp.scheduler=blest || exit 1'
    lines = LIBRARY.splitlines()
    assert library.read_text().splitlines() == [*lines[:2], added, *lines[2:]]


def test_parameters_of_a_scheduler_are_lines_too(library: Path) -> None:
    # a default needs no line
    choose_scheduler(library, "roundrobin:num_segments=7:cwnd_limited=on")
    added = [line.split()[-4] for line in library.read_text().splitlines() if "|| exit" in line]
    assert added[:2] == ["net.mptcp.scheduler=roundrobin", "net.mptcp.roundrobin.num_segments=7"]


def test_an_unknown_scheduler_and_other_namespaces_are_refused(library: Path) -> None:
    with pytest.raises(InputError, match=r"rr: unknown scheduler.*roundrobin"):
        choose_scheduler(library, "rr")
    library.write_text(LIBRARY.replace("enabled=1", "enabled=2"))
    with pytest.raises(MptcplabError, match=r"mptcp_lib\.sh sets up namespaces in an"):
        choose_scheduler(library, "blest")


#: The letters of all groups of tests of mptcp_join.sh in 6.12.
GROUPS = "".join(script.options for script in SCRIPTS).replace("-", "")


def scripts_of(directory: Path, groups: str, *, is_later: bool = False) -> tuple[Script, ...]:
    """What is run of a source in which mptcp_join.sh has these groups."""
    for script in SCRIPTS:
        (directory / script.name).touch()
    listed = [f"\t{letter}@{number}_tests" for number, letter in enumerate(groups)]
    join = directory / "mptcp_join.sh"
    join.write_text("\n".join(["all_tests_sorted=(", *listed, ")"]))
    return selftests_scripts._scripts_of(directory, is_later=is_later)


def test_groups_of_tests_that_a_newer_kernel_has_are_run_too(tmp_path: Path) -> None:
    assert scripts_of(tmp_path, GROUPS) == SCRIPTS
    newer = scripts_of(tmp_path, f"L{GROUPS}B")
    assert [each for each in newer if each not in SCRIPTS] == [Script("mptcp_join.sh", "-mzFuILB")]
    assert len(newer) == len(SCRIPTS)


def test_in_later_kernels_tests_wait_for_the_devices_that_they_set_up(tmp_path: Path) -> None:
    later = scripts_of(tmp_path, GROUPS, is_later=True)
    assert {each.name for each in later if each.settles} == {"mptcp_join.sh"}
    *set_up, _ = plan(later[0]).splitlines()
    # bash reads what is set up there, and `ip` and `sleep` are these
    for name in ("ip", "sleep"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@"\n[ "$1" != gone ]\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "mptcp").mkdir()
    calls = ["ip -net a link set b up", "ip gone link set c up", "ip link set b down", "ip addr up"]
    script = "\n".join([*set_up, "bash -c '", *calls, "ip gone || echo status $?", "'"])
    done = subprocess.run(
        ["bash", "-c", script.replace("/tmp/", f"{tmp_path}/")],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        *("ip -net a link set b up", "sleep 0.01", "ip gone link set c up"),
        *("ip link set b down", "ip addr up", "ip gone", "status 1"),
    ]


def test_a_script_or_group_that_is_gone_is_reported(tmp_path: Path) -> None:
    with pytest.raises(MptcplabError, match=r"mptcp_join.sh lacks the groups of tests F"):
        scripts_of(tmp_path, GROUPS.replace("F", ""))
    (tmp_path / "diag.sh").unlink()
    with pytest.raises(MptcplabError, match=r"source has no selftest diag.sh"):
        selftests_scripts._scripts_of(tmp_path, is_later=False)


@pytest.mark.parametrize(
    "name", ["mptcp/diag.sh", "lib.sh", "net_helper.sh", "lib/csum.c", "lib/sh/defer.sh"]
)
def test_shared_files_count(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "linux"
    net = tree / "tools/testing/selftests/net"
    (net / "mptcp").mkdir(parents=True)
    scripts_of(net / "mptcp", GROUPS)

    def made(source: Path, target: Path) -> None:
        shutil.copytree(source / "tools/testing/selftests/net", target / "net")

    monkeypatch.setattr(doctor, "require", lambda *_checks: None)
    monkeypatch.setattr(doctor, "cache_dir", lambda: tmp_path / "cache")
    # a directory's digest is that of what the kernel is built from
    source = Source(tree, "0123456789ab", "6.12.3")
    monkeypatch.setattr(kernel, "source_of", lambda _build: source)
    monkeypatch.setattr(selftests_scripts, "_make", made)
    monkeypatch.setattr(guest, "build", lambda _source: Guest("0123456789ab", Path("init")))
    before = selftests_scripts.prepare(build(UPSTREAM))
    assert selftests_scripts.prepare(build(UPSTREAM)) == before
    # another part of the network's tests, which the scripts do not use
    (net / "tcp_mmap.c").write_text("")
    assert selftests_scripts.prepare(build(UPSTREAM)) == before
    (net / name).parent.mkdir(parents=True, exist_ok=True)
    (net / name).write_text("# changed")
    after = selftests_scripts.prepare(build(UPSTREAM))
    assert after.id != before.id
    assert (after.net / name).read_text() == "# changed"


def test_a_plan_ends_with_the_script_and_its_options() -> None:
    assert plan(Script("mptcp_join.sh", "-fe")).splitlines()[-1] == "exec ./mptcp_join.sh -fe"
    assert plan(PACKETS) == "cd packetdrill && exec ./run.sh ours.txt\n"
    in_turn = plan(Script("diag.sh", in_turn=True)).splitlines()[-1]
    assert in_turn == "exec chrt --fifo 1 ./diag.sh"


def test_each_script_runs_in_both_kernels_and_one_with_each_scheduler() -> None:
    jobs = campaigns.jobs(kernels(), Wanted())
    # each has a directory of its own
    assert len({job.name for job in jobs}) == len(jobs)
    for script in SCRIPTS:
        variants = [
            j.kernel.variant for j in jobs if (j.script, j.scheduler) == (script, "default")
        ]
        assert variants == [UPSTREAM, OURS]
    own = [job for job in jobs if job.scheduler != "default"]
    assert {job.scheduler for job in own} == {*kernel.schedulers()} - {"default"}
    assert {(job.script, job.kernel.variant) for job in own} == {(SIMULT, OURS), (PACKETS, OURS)}
    forms = campaigns.jobs(kernels(), Wanted(), ["daps:repeat=off"])
    assert [job.scheduler for job in forms if job not in jobs] == ["daps:repeat=off"] * 2
    # whose script is not asked for
    assert {job.scheduler for job in campaigns.jobs(kernels(), Wanted(("diag",)))} == {"default"}


def test_schedulers_that_are_asked_for_run_all_scripts_beside_upstream() -> None:
    jobs = campaigns.jobs(kernels("7.3"), Wanted(("diag", "simult"), ("minrtt", "ecf")))
    assert [(str(job.script), job.kernel.variant, job.scheduler) for job in jobs] == [
        ("diag.sh", UPSTREAM, "default"),
        ("simult_flows.sh", UPSTREAM, "default"),
        ("diag.sh", OURS, "minrtt"),
        ("diag.sh", OURS, "ecf"),
        ("simult_flows.sh", OURS, "minrtt"),
        ("simult_flows.sh", OURS, "ecf"),
    ]
    assert [job.title for job in jobs][:3:2] == [
        "diag.sh upstream, 7.3",
        "diag.sh with minrtt, 7.3",
    ]


def test_an_engine_only_kernel_has_upstreams_own_alone() -> None:
    mine = kernels("mine", engine=True)
    jobs = campaigns.jobs(mine, Wanted(schedulers=("default",)))
    assert [(str(job.script), job.kernel.variant) for job in jobs] == [
        (str(script), ENGINE) for script in SCRIPTS
    ]
    with pytest.raises(InputError, match="minrtt: the kernel mine has only default"):
        campaigns.jobs(mine, Wanted(schedulers=("minrtt",)))
    # with nothing to hold it to, it must pass
    fails: dict[str, Verdict] = {"a": "pass", "b": "fail", "c": "skip"}
    assert problems(campaign(ran(ENGINE, fails))) == ["diag.sh upstream: fails upstream: b"]


def test_the_adapters_schedulers_are_held_to_the_default_of_the_same_kernel(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("\nCONFIG_MPTCP_LAB_ADAPTER=y\n")
    carrying = replace(build(ENGINE, "mine"), config=config)
    mine = Kernels("mine", carrying, None, (TOOLS,))
    jobs = campaigns.jobs(mine, Wanted(("diag",), schedulers=("default", "overflow:queue_ms=0")))
    assert [job.title for job in jobs] == [
        "diag.sh upstream, mine",
        "diag.sh with overflow:queue_ms=0, mine",
    ]
    with pytest.raises(InputError, match="redundant: the kernel mine has only default, "):
        campaigns.jobs(mine, Wanted(schedulers=("redundant",)))
    passed, fails = (Result({"a": verdict}) for verdict in ("pass", "fail"))
    made = campaign(*map(Ran, jobs, (passed, fails)))
    assert problems(made) == [
        "diag.sh with overflow:queue_ms=0, mine: passes upstream, but not with ours: a"
    ]
    assert [job.scheduler for job in campaigns.repeated(jobs, 2)][2:] == ["overflow:queue_ms=0"]


def test_a_test_may_fail_if_it_also_fails_upstream() -> None:
    same: dict[str, Verdict] = {"a": "pass", "b": "fail", "c": "skip"}
    both = (ran(UPSTREAM, same), ran(OURS, same))
    assert problems(campaign(*both)) == []
    assert problems(campaign(*both, strict=True)) == ["diag.sh upstream: fails upstream: b"]


def test_a_script_that_did_not_end_is_a_problem_in_either_kernel() -> None:
    stuck = campaign(ran(UPSTREAM, {}, error="stuck"), ran(OURS, {}, error="stuck"))
    assert problems(stuck) == ["diag.sh upstream: stuck", "diag.sh with default: stuck"]
    listed = Expectations(expected=(ExpectedFailure("first", "diag.sh", ("*",), "it cannot"),))
    both = ran(UPSTREAM, {"a": "pass"}), ran(OURS, {"a": "fail"}, "first", "stuck")
    assert problems(campaign(*both, expectations=listed)) == ["diag.sh with first: stuck"]


def test_repeats_must_be_the_same() -> None:
    def repeat(number: int, output: str = "a\nb\n", virtual_s: float = 1.0) -> Ran:
        job = Job(DIAG, build(OURS), TOOLS, number=number)
        return Ran(job, Result({"a": "pass"}), virtual_s, 2.0 * number, 0.0, output)

    upstream = ran(UPSTREAM, {"a": "pass"})
    # what took how long on the machine is no matter, nor which ended first
    same = campaign(upstream, repeat(2), repeat(3), repeat(1))
    assert problems(same) == []
    assert [case.name for case in same.suites()[1].points()] == ["a", "3 runs are the same"]
    other = campaign(
        upstream, repeat(1), repeat(2, "a\n"), repeat(3, "a\nc\nd"), repeat(4, virtual_s=1.5)
    )
    assert problems(other) == [
        "diag.sh with default: run 2 differs from run 1: line 2 is nothing instead of 'b'; "
        "run 3 differs from run 1: line 2 is 'c' instead of 'b'; run 4 differs from run 1: "
        "it took 1.500000000 s of virtual time instead of 1.000000000"
    ]
    # why a repeat was not run to its end, not that it printed less
    ended = replace(repeat(2, ""), result=Result({}, error="its process died of SIGKILL"))
    assert problems(campaign(upstream, repeat(1), ended)) == [
        "diag.sh with default: run 2 differs from run 1: it ended differently: its process died of "
        "SIGKILL"
    ]


def test_what_is_judged_is_repeated_after_all_have_run_once() -> None:
    first = campaigns.jobs(kernels(), Wanted(("diag",)))
    again = campaigns.repeated(first, 3)
    assert again[:2] == first
    assert again[2:] == [replace(first[1], number=2), replace(first[1], number=3)]
    alone = campaigns.jobs(kernels("mine", engine=True), Wanted(("diag",)))
    assert [job.number for job in campaigns.repeated(alone, 3)] == [1, 2, 3]
    # upstream is judged on its own, too
    strictly = campaigns.repeated(first, 3, strict=True)
    assert strictly == [replace(job, number=number) for number in (1, 2, 3) for job in first]


def test_what_two_names_of_one_kernel_share_is_run_once_and_shown_with_each() -> None:
    """As with a name for the source of a series, and one for its kernel without our schedulers."""
    upstream_alone = Kernels("alone", build(UPSTREAM, "alone"), None, (TOOLS,))
    named = (kernels("6.12"), kernels("mine"), upstream_alone)
    jobs = [job for each in named for job in campaigns.jobs(each, Wanted(("diag",)))]
    todo = campaigns.repeated(jobs, 2)
    assert [(job.title, job.number) for job in todo] == [
        ("diag.sh upstream, 6.12", 1),
        ("diag.sh with default, 6.12", 1),
        ("diag.sh with default, 6.12", 2),
        ("diag.sh upstream, alone", 2),
    ]
    assert len({(job.name, job.number) for job in todo}) == len(todo)
    made = Campaign(jobs, NOTHING)
    for job in todo:
        passed: Verdict = "fail" if job.kernel.has_framework else "pass"
        made.add(Ran(job, Result({"a": passed})))
    assert [suite.title for suite in made.suites()] == [
        *("diag.sh upstream, 6.12", "diag.sh with default, 6.12"),
        *("diag.sh upstream, mine", "diag.sh with default, mine"),
        "diag.sh upstream, alone",
    ]
    worse = "passes upstream, but not with ours: a"
    assert problems(made) == [f"diag.sh with default, {name}: {worse}" for name in ("6.12", "mine")]


def judged(scheduler: str, verdicts: dict[str, Verdict], *tests: str) -> list[str]:
    """What is wrong when upstream passes a and b, not c, and `tests` are expected not to pass."""
    upstream = ran(UPSTREAM, {"a 1": "pass", "a 2": "pass", "c": "fail"})
    expected = [ExpectedFailure("redundant", "diag.sh", tests, "it cannot")] if tests else []
    listed = Expectations(expected=tuple(expected))
    return problems(campaign(upstream, ran(OURS, verdicts, scheduler), expectations=listed))


def test_a_scheduler_must_pass_what_upstream_does() -> None:
    assert judged("minrtt", {"a 1": "pass", "a 2": "pass", "c": "fail"}) == []
    assert judged("minrtt", {"a 1": "pass", "a 2": "fail", "c": "pass"}) == [
        "diag.sh with minrtt: passes upstream, but not with ours: a 2"
    ]
    # one that is skipped, or missing, has not passed
    assert len(judged("minrtt", {"a 1": "skip"})) == 2


def test_what_is_expected_of_a_scheduler_is_no_problem_and_of_another_is() -> None:
    worse: dict[str, Verdict] = {"a 1": "fail", "a 2": "fail", "c": "fail"}
    assert judged("redundant", worse, "a *") == []
    assert judged("redundant", worse, "a 1", "a 2") == []
    assert judged("redundant", worse, "a 1") == [
        "diag.sh with redundant: passes upstream, but not with ours: a 2"
    ]
    assert len(judged("minrtt", worse, "a *")) == 2


def test_what_is_expected_and_does_not_happen_is_a_problem() -> None:
    now: dict[str, Verdict] = {"a 1": "fail", "a 2": "pass", "c": "fail"}
    says = "passes, but expected.toml lists it"
    assert judged("redundant", now, "a *") == [f"diag.sh with redundant: {says}: a 2"]
    # upstream fails, too, which may be by chance
    assert judged("redundant", now, "a 1", "c") == []
    assert judged("redundant", now, "a 1", "b*") == [
        "diag.sh with redundant: no test is called b*: remove it from expected.toml"
    ]
    # a script that was not run with it says nothing
    assert judged("minrtt", {"a 1": "pass", "a 2": "pass", "c": "fail"}, "a *") == []


SLOWER = "transfer slower than expected! runtime {} ms, expected 100 ms"


def late(
    runtime_ms: int,
    verdict: Verdict = "fail",
    remark: str = "09 a 1 ",
    ends: str = SLOWER,
    statuses: str = "client exit code 1, server 0",
) -> list[str]:
    """What is wrong with a test that may take 20 ms longer than 100 ms."""
    remark += f"{ends.format(runtime_ms)} max 100 [FAIL] {statuses}"
    now = Result({"a 1": verdict}, (remark,) if verdict == "fail" else ())
    cases = expected_failures.judge(
        [ExpectedFailure("daps", "diag.sh", ("a*",), "it commits", 20)],
        Result({"a 1": "pass"}),
        now,
    )
    return [case.why for case in cases if case.outcome == "wrong"]


def test_a_test_may_be_late_by_so_much_or_pass() -> None:
    assert late(0, "pass") == []
    assert late(120) == []
    assert late(120, remark="09 a 1") == []
    too_late = ["is later than 20 ms, or failed in another way: a 1"]
    assert late(121) == too_late
    # that of another test, or it failed otherwise
    assert late(120, remark="10 a 1 - reverse direction") == too_late
    assert late(0, "skip") == too_late
    # both ends
    both = SLOWER.format(110) + SLOWER
    assert late(120, ends=both, statuses="client exit code 1, server 1") == []
    assert late(121, ends=both, statuses="client exit code 1, server 1") == too_late


@pytest.mark.parametrize(
    "statuses",
    [
        # an end that crashed, was killed, or says nothing about why it failed
        "client exit code 1, server 139",
        "client exit code 124, server 1",
        "client exit code 1, server 1",
        "client exit code 2, server 0",
        # what came out was wrong, and both ends knew nothing of it
        "client exit code 0, server 0",
        "",
    ],
)
def test_a_test_that_is_late_and_fails_otherwise_is_not_excused(statuses: str) -> None:
    assert late(120, statuses=statuses) == ["is later than 20 ms, or failed in another way: a 1"]


def test_what_is_expected_of_default_is_so_of_all_and_upstream() -> None:
    def slow(ms: int) -> Result:
        said = f"05 a {SLOWER.format(ms)}[FAIL] client exit code 1, server 0"
        return Result({"a": "fail", "b": "pass"}, (said,))

    def wrong(before: Result, scheduler: str, after: Result, *, strict: bool = False) -> list[str]:
        upstream = replace(ran(UPSTREAM, {}), result=before)
        ours = replace(ran(OURS, {}, scheduler), result=after)
        return problems(campaign(upstream, ours, expectations=listed, strict=strict))

    by_chance = ExpectedFailure("default", "diag.sh", ("a",), "by chance", 20)
    never = ExpectedFailure("first", "diag.sh", ("*",), "it cannot")
    listed = Expectations(expected=(never, by_chance))
    passes, fails = Result({"a": "pass", "b": "pass"}), Result({"a": "fail", "b": "fail"})
    # upstream, ours with default, or another scheduler: late by so much is not wrong
    assert wrong(slow(120), "default", passes, strict=True) == []
    assert wrong(passes, "default", slow(120)) == []
    assert wrong(passes, "ecf", slow(120)) == []
    # that upstream is late excuses nobody who is later
    too_late = "is later than 20 ms, or failed in another way: a"
    assert wrong(slow(120), "ecf", slow(121)) == [f"diag.sh with ecf: {too_late}"]
    assert wrong(slow(121), "ecf", passes) == [f"diag.sh upstream: {too_late}"]
    # what is listed of a scheduler itself comes first, and is judged by its result alone
    assert wrong(slow(120), "first", fails) == []
    says = "passes, but expected.toml lists it: b"
    assert wrong(slow(120), "first", slow(120)) == [f"diag.sh with first: {says}"]


def test_the_list_is_about_scripts_and_schedulers_that_there_are() -> None:
    listed = expected_failures.listed()
    scripts = {str(script) for script in (*SCRIPTS, PACKETS, OTHER_PACKETS)}
    assert {each.script for each in listed.expected} <= scripts
    assert {each.scheduler for each in listed.expected} <= {*known(), *listed.forms}
    assert all(map(choice, listed.forms))
    assert {each.scheduler for each in listed.expected} >= {"first", "redundant"}
    (one,) = listed.expected[:1]
    assert one in listed.of(one.script, one.scheduler)


def of_all_kinds() -> Campaign:
    """A campaign with a case of each kind: b fails upstream, # is for names."""
    names: dict[str, Verdict] = {"a": "pass", "b": "fail", "c": "skip", "d #1": "pass"}
    listed = Expectations(expected=(ExpectedFailure("first", "diag.sh", ("a",), "it cannot"),))
    return campaign(
        ran(UPSTREAM, names),
        ran(OURS, names),
        ran(OURS, {**names, "a": "fail"}, "first"),
        ran(OURS, {**names, "d #1": "fail"}, "ecf", "stuck"),
        expectations=listed,
    )


def test_each_test_has_a_line_with_verdict_and_judgement() -> None:
    found = [line.split("\t") for line in reports.lines(of_all_kinds().suites())]
    assert len(found) == 4 * 4 + 1
    assert found[8:12] == [
        ["diag.sh with first", "a", "fail", "excused", "it cannot"],
        ["diag.sh with first", "b", "fail", "excused", "does not pass upstream either"],
        ["diag.sh with first", "c", "skip", "skipped", "skipped by the script"],
        ["diag.sh with first", "d #1", "pass", "passed", ""],
    ]


def test_tap_has_a_subtest_for_each_script() -> None:
    document = reports.tap(of_all_kinds().suites()).splitlines()
    assert document[:2] == ["TAP version 13", "1..4"]
    assert document[-12:] == [
        "    ok 4 - d \\#1",
        "ok 3 - diag.sh with first",
        "# Subtest: diag.sh with ecf",
        "    1..5",
        "    ok 1 - a",
        "    not ok 2 - b # TODO does not pass upstream either",
        "    ok 3 - c # SKIP skipped by the script",
        "    not ok 4 - d \\#1",
        "    # passes upstream, but not with ours: d #1",
        "    not ok 5 - it comes to its end",
        "    # stuck",
        "not ok 4 - diag.sh with ecf",
    ]
    assert "    not ok 1 - a # TODO it cannot" in document


def test_junit_has_a_suite_for_each_script() -> None:
    root = ElementTree.fromstring(reports.junit_report(of_all_kinds().suites(), "mptcplab x"))
    assert root.attrib == {"tests": "17", "failures": "1", "errors": "1"}
    assert [suite.get("name") for suite in root] == [
        *("diag.sh upstream", "diag.sh with default", "diag.sh with first", "diag.sh with ecf")
    ]
    assert [suite.get("skipped") for suite in root] == ["2", "2", "3", "2"]
    (failure,) = root.iter("failure")
    assert failure.get("message") == "passes upstream, but not with ours: d #1"
    assert str(failure.text).splitlines()[-1] == "repeat: mptcplab x"


def test_the_table_says_what_is_wrong_last() -> None:
    console = Console(width=100)
    with console.capture() as capture:
        reports.show(of_all_kinds().suites(), console)
    shown = capture.get().splitlines()
    assert shown[-2:] == [
        "problem: diag.sh with ecf: passes upstream, but not with ours: d #1",
        "problem: diag.sh with ecf: stuck",
    ]
    assert "  excused: it cannot" in shown


@pytest.fixture
def nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(name: str) -> NoReturn:
        raise AssertionError(f"{name} is built")

    monkeypatch.setattr(campaigns, "builds", built)


@pytest.mark.usefixtures("nothing_is_built")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--only", "userspace"], "userspace: selects no script; accepted is a part of"),
        # what would not be run, beside what is
        (
            ["--only", "mptcp_sockopt", "--only", "packetdrill"],
            "packetdrill: needs --packetdrill PROGRAM",
        ),
        (["--only", "packetdrill"], "packetdrill: needs --packetdrill PROGRAM"),
        (["--only", "others"], "others: needs --packetdrill PROGRAM with --packetdrill-scripts"),
        (
            ["--only", "others", "--packetdrill", "true"],
            "others: needs --packetdrill PROGRAM with --packetdrill-scripts DIR",
        ),
        (["--only", "diag", "--only", ""], "selects no script; accepted is a part of"),
        (["--only", " "], "selects no script; accepted is a part of"),
        (["--scheduler", "minrt"], "minrt: unknown scheduler"),
        (["--scheduler", "./mine.c"], "./mine.c"),
        (["--kernel", "7.99"], "7.99: no kernel has this name"),
        # as of a variable of a script that has no value
        (["--kernel", ""], "no kernel has this name"),
        (["--kernel", "6.12,"], "no kernel has this name"),
        (["--scheduler", ""], "unknown scheduler"),
    ],
)
def test_mistakes_are_reported_before_anything_is_built(
    options: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=says):
        load("selftests").main(options, standalone_mode=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("nothing_is_built")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--tap", "x", "--junit", "x"], "--junit x is the file of --tap"),
        (["--tap", "x", "--junit", "here/x"], "--junit here/x is the file of --tap"),
        (["--tap", "selftests-out/results.txt"], "is the file of results.txt of --out"),
        (["--out", "o", "--junit", "o/../o/results.txt"], "is the file of results.txt of --out"),
        (["--junit", "-"], "--junit takes a file; only --tap can be printed"),
    ],
)
def test_a_report_takes_the_place_of_no_other(
    options: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "require", lambda *_checks: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_text("a former one")
    (tmp_path / "here").symlink_to(".")
    with pytest.raises(UsageError, match=says):
        load("selftests").main(options, standalone_mode=False)
    assert (tmp_path / "x").read_text() == "a former one"


@pytest.mark.usefixtures("nothing_is_built")
def test_an_unwritable_directory_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MptcplabError, match="cannot write to"):
        load("selftests").main(["--out", str(tmp_path / "file" / "out")], standalone_mode=False)


def test_a_directory_has_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    def build(name: str) -> NoReturn:
        built.append(name)
        # as another process, while this one is at work
        call("--tap", str(tmp_path / "report.tap"))
        raise AssertionError("the other one works there, too")

    def call(*options: str) -> None:
        words = ["--only", "diag", "--out", str(tmp_path / "out"), *options]
        load("selftests").main(words, standalone_mode=False)

    monkeypatch.setattr(campaigns, "builds", build)
    monkeypatch.setattr(doctor, "require", lambda *_checks: None)
    (tmp_path / "report.tap").write_text("of the one that is at work")
    says = r"another mptcplab selftests works in .*out: .*--out"
    for time in (1, 2):
        with pytest.raises(MptcplabError, match=says):
            call()
        assert len(built) == time
    assert (tmp_path / "report.tap").exists()
