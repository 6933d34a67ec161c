# SPDX-License-Identifier: GPL-2.0-only
"""How the kernel's selftests are run and judged, without running any."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.errors import MptcplabError
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.tools import selftests, selftests_expected
from mptcplab.tools.selftests import (
    OURS,
    UPSTREAM,
    Campaign,
    Job,
    Ran,
    Script,
    Tools,
    check_groups,
    choose_scheduler,
    plan,
)
from mptcplab.tools.selftests_expected import Expectations, Expected
from mptcplab.tools.tap import Result, Verdict

# As in mptcp_lib.sh of Linux 6.12.
LIBRARY = """\
	for netns in "${@}"; do
		ip netns exec "${!netns}" sysctl -q net.mptcp.enabled=1
		ip netns exec "${!netns}" sysctl -q net.ipv4.conf.all.rp_filter=0
	done
"""
DIAG = Script("diag.sh")
NOTHING = Expectations()


def build(variant: str) -> KernelBuild:
    return KernelBuild("0123456789ab", variant, Path("linux"), Path("config"))


def ran(
    variant: str, verdicts: dict[str, Verdict], scheduler: str = "default", error: str = ""
) -> Ran:
    return Ran(Job(DIAG, build(variant), scheduler), Result(verdicts, error=error), 1.0, 2.0)


def campaign(*all_ran: Ran) -> Campaign:
    made = Campaign()
    for one in all_ran:
        made.add(one)
    return made


def test_a_scheduler_is_chosen_by_one_line_for_each_namespace(tmp_path: Path) -> None:
    library = tmp_path / "mptcp_lib.sh"
    library.write_text(LIBRARY)
    choose_scheduler(library, "blest")
    added = '\t\tip netns exec "${!netns}" sysctl -q net.mptcp.scheduler=blest || exit 1'
    lines = LIBRARY.splitlines()
    assert library.read_text().splitlines() == [*lines[:2], added, *lines[2:]]


def test_parameters_of_a_scheduler_are_lines_too(tmp_path: Path) -> None:
    library = tmp_path / "mptcp_lib.sh"
    library.write_text(LIBRARY)
    # what is the default needs no line
    choose_scheduler(library, "roundrobin:num_segments=7:cwnd_limited=on")
    added = [line.split()[-4] for line in library.read_text().splitlines() if "|| exit" in line]
    assert added[:2] == ["net.mptcp.scheduler=roundrobin", "net.mptcp.roundrobin.num_segments=7"]


def test_a_scheduler_that_there_is_not_is_told(tmp_path: Path) -> None:
    library = tmp_path / "mptcp_lib.sh"
    library.write_text(LIBRARY)
    with pytest.raises(MptcplabError, match=r"scheduler rr: unknown scheduler.*roundrobin"):
        choose_scheduler(library, "rr")


def test_another_way_to_make_namespaces_is_told(tmp_path: Path) -> None:
    library = tmp_path / "mptcp_lib.sh"
    library.write_text(LIBRARY.replace("enabled=1", "enabled=2"))
    with pytest.raises(MptcplabError, match=r"mptcp_lib\.sh sets up namespaces otherwise"):
        choose_scheduler(library, "blest")


def test_groups_of_tests_that_would_not_be_run_are_told(tmp_path: Path) -> None:
    script = tmp_path / "mptcp" / "mptcp_join.sh"
    script.parent.mkdir()
    tools = Tools("0123456789ab", tmp_path, Guest("0123456789ab", tmp_path / "init"))
    chosen = "".join(script.options for script in selftests.SCRIPTS).replace("-", "")
    groups = [f"\t{letter}@{number}_tests" for number, letter in enumerate(chosen)]
    script.write_text("\n".join(["all_tests_sorted=(", *groups, ")"]))
    check_groups(tools)
    script.write_text("\n".join(["all_tests_sorted=(", *groups, "\tN@new_tests", ")"]))
    with pytest.raises(MptcplabError, match=r"has the groups \w*N\w*, of which"):
        check_groups(tools)


def test_a_plan_ends_with_the_script_and_its_options() -> None:
    assert plan(Script("mptcp_join.sh", "-fe")).splitlines()[-1] == "exec ./mptcp_join.sh -fe"
    in_turn = plan(Script("diag.sh", in_turn=True)).splitlines()[-1]
    assert in_turn == "exec chrt --fifo 1 ./diag.sh"


def test_each_script_runs_in_both_kernels_and_one_with_each_scheduler() -> None:
    jobs = selftests.jobs(build(UPSTREAM), build(OURS))
    for script in selftests.SCRIPTS:
        kernels = [j.kernel.variant for j in jobs if (j.script, j.scheduler) == (script, "default")]
        assert kernels == [UPSTREAM, OURS]
    own = [job for job in jobs if job.scheduler != "default"]
    assert {job.scheduler for job in own} >= {"minrtt", "roundrobin", "redundant", "first"}
    assert {(job.script, job.kernel.variant) for job in own} == {(Script("simult_flows.sh"), OURS)}
    forms = selftests.jobs(build(UPSTREAM), build(OURS), ["daps:repeat=off"])
    assert [job.scheduler for job in forms if job not in jobs] == ["daps:repeat=off"]


def test_every_job_has_a_directory_of_its_own() -> None:
    jobs = selftests.jobs(build(UPSTREAM), build(OURS))
    assert len({job.name for job in jobs}) == len(jobs)


def test_all_is_well_when_what_fails_also_fails_upstream() -> None:
    same: dict[str, Verdict] = {"a": "pass", "b": "fail", "c": "skip"}
    assert campaign(ran(UPSTREAM, same), ran(OURS, same)).problems(NOTHING) == []


def test_a_lost_test_is_a_problem() -> None:
    found = campaign(ran(UPSTREAM, {"a": "pass"}), ran(OURS, {"a": "fail"})).problems(NOTHING)
    assert found == ["diag.sh with default: passes upstream, not with ours: a"]


def test_a_script_that_did_not_end_is_a_problem_in_either_kernel() -> None:
    stuck = campaign(ran(UPSTREAM, {}, error="stuck"), ran(OURS, {}, error="stuck"))
    found = stuck.problems(NOTHING)
    assert found == ["diag.sh (selftest-upstream): stuck", "diag.sh with default: stuck"]


def judged(scheduler: str, verdicts: dict[str, Verdict], *tests: str) -> list[str]:
    """What is wrong when upstream passes a and b, not c, and `tests` are expected not to pass."""
    upstream = ran(UPSTREAM, {"a 1": "pass", "a 2": "pass", "c": "fail"})
    expected = [Expected("redundant", "diag.sh", tests, "it cannot")] if tests else []
    listed = Expectations(expected=tuple(expected))
    return campaign(upstream, ran(OURS, verdicts, scheduler)).problems(listed)


def test_a_scheduler_must_pass_what_upstream_does() -> None:
    assert judged("minrtt", {"a 1": "pass", "a 2": "pass", "c": "fail"}) == []
    assert judged("minrtt", {"a 1": "pass", "a 2": "fail", "c": "pass"}) == [
        "diag.sh with minrtt: passes upstream, not with ours: a 2"
    ]
    # one that is skipped, or missing, has not passed
    assert len(judged("minrtt", {"a 1": "skip"})) == 2


def test_what_is_expected_of_a_scheduler_is_no_problem_and_of_another_is() -> None:
    worse: dict[str, Verdict] = {"a 1": "fail", "a 2": "fail", "c": "fail"}
    assert judged("redundant", worse, "a *") == []
    assert judged("redundant", worse, "a 1", "a 2") == []
    assert judged("redundant", worse, "a 1") == [
        "diag.sh with redundant: passes upstream, not with ours: a 2"
    ]
    assert len(judged("minrtt", worse, "a *")) == 2


def test_what_is_expected_and_does_not_happen_is_a_problem() -> None:
    now: dict[str, Verdict] = {"a 1": "fail", "a 2": "pass", "c": "fail"}
    says = "is expected not to pass, and is not worse than upstream"
    assert judged("redundant", now, "a *") == [f"diag.sh with redundant: {says}: a 2"]
    # upstream fails, too
    assert judged("redundant", now, "a 1", "c") == [f"diag.sh with redundant: {says}: c"]
    assert judged("redundant", now, "a 1", "b*") == [
        "diag.sh with redundant: no test is called b*: take it out of selftests.toml"
    ]
    # a script that was not run with it says nothing
    assert judged("minrtt", {"a 1": "pass", "a 2": "pass", "c": "fail"}, "a *") == []


def late(runtime_ms: int, verdict: Verdict = "fail", remark: str = "09 a 1 ") -> list[str]:
    """What is wrong with a test that may take 20 ms longer than 100 ms."""
    remark += (
        f"transfer slower than expected! runtime {runtime_ms} ms, expected 100 ms max 100 [FAIL]"
    )
    now = Result({"a 1": verdict}, (remark,) if verdict == "fail" else ())
    return list(
        selftests_expected.judge(
            [Expected("daps", "diag.sh", ("a*",), "it commits", 20)], Result({"a 1": "pass"}), now
        )
    )


def test_a_test_may_be_late_by_so_much_or_pass() -> None:
    assert late(0, "pass") == []
    assert late(120) == []
    assert late(120, remark="09 a 1") == []
    too_late = ["is not late by at most 20 ms: a 1"]
    assert late(121) == too_late
    # that of another test, or it failed otherwise
    assert late(120, remark="10 a 1 - reverse direction") == too_late
    assert late(0, "skip") == too_late


def test_no_exception_excuses_a_script_that_did_not_end() -> None:
    upstream, stuck = ran(UPSTREAM, {"a": "pass"}), ran(OURS, {"a": "fail"}, "first", "stuck")
    listed = Expectations(expected=(Expected("first", "diag.sh", ("*",), "it cannot"),))
    assert campaign(upstream, stuck).problems(listed) == ["diag.sh with first: stuck"]


def read(text: str) -> Expectations:
    return selftests_expected.read(text, "list.toml", ["first", "daps"], ["diag.sh"])


ENTRY = """\
[[expected]]
scheduler = "first"
script = "diag.sh"
tests = ["a*"]
reason = "it cannot"
"""


def test_the_list_is_read() -> None:
    listed = read(f'forms = ["daps:repeat=off"]\n{ENTRY}')
    assert listed.forms == ("daps:repeat=off",)
    assert listed.of("diag.sh", "first") == (Expected("first", "diag.sh", ("a*",), "it cannot"),)
    assert listed.of("diag.sh", "daps") == ()
    assert read("") == NOTHING
    # what is expected of a form
    read('forms = ["daps:repeat=off"]\n' + ENTRY.replace('"first"', '"daps:repeat=off"'))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("forms = 1", "list.toml: forms: a list of texts is accepted"),
        ('forms = ["rr:x=1"]', "list.toml: forms: rr:x=1: scheduler rr: accepted are first, daps"),
        ("form = []", "list.toml: key form: accepted are forms, expected"),
        ("expected = 1", r"list.toml: expected: tables \[\[expected\]\] are accepted"),
        (ENTRY.replace("tests", "test"), "list.toml: expected 1: key test: accepted are scheduler"),
        (ENTRY.replace("first", "last"), "expected 1: scheduler last: accepted are first, daps"),
        (ENTRY.replace("diag", "dig"), "expected 1: script dig.sh: accepted are diag.sh"),
        (ENTRY.replace('["a*"]', "[]"), "expected 1: tests: names of tests are accepted"),
        (ENTRY.replace("it cannot", " "), "expected 1: reason: text is accepted"),
        (ENTRY + "late_ms = true", "expected 1: late_ms: a number of ms is accepted"),
        ("[[expected", "list.toml: "),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(text: str, says: str) -> None:
    with pytest.raises(MptcplabError, match=says):
        read(text)


def test_the_projects_list_is_valid_and_gives_reasons() -> None:
    listed = selftests.expectations()
    assert {each.scheduler for each in listed.expected} >= {"first", "redundant"}


def test_each_test_has_a_line_with_both_verdicts() -> None:
    made = campaign(
        ran(UPSTREAM, {"a": "pass", "b": "fail"}),
        ran(OURS, {"a": "pass", "c": "pass"}),
        ran(OURS, {"a": "pass"}, "ecf"),
    )
    assert list(made.lines()) == [
        "diag.sh\ta\tpass\tpass",
        "diag.sh\tb\tfail\tnone",
        "diag.sh\tc\tnone\tpass",
        "diag.sh, ecf\ta\t\tpass",
    ]


def test_a_script_that_there_is_not_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        selftests.main(["--only", "userspace"])
    assert ended.value.code == 2
    assert "--only userspace: in no name of a script" in capsys.readouterr().err
