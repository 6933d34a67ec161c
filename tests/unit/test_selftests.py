# SPDX-License-Identifier: GPL-2.0-only
"""How the kernel's selftests are run and judged, without running any."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.errors import MptcplabError
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.tools import selftests
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
from mptcplab.tools.tap import Result, Verdict

# As in mptcp_lib.sh of Linux 6.12.
LIBRARY = """\
	for netns in "${@}"; do
		ip netns exec "${!netns}" sysctl -q net.mptcp.enabled=1
		ip netns exec "${!netns}" sysctl -q net.ipv4.conf.all.rp_filter=0
	done
"""
DIAG = Script("diag.sh")


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


def test_every_job_has_a_directory_of_its_own() -> None:
    jobs = selftests.jobs(build(UPSTREAM), build(OURS))
    assert len({job.name for job in jobs}) == len(jobs)


def test_all_is_well_when_what_fails_also_fails_upstream() -> None:
    same: dict[str, Verdict] = {"a": "pass", "b": "fail", "c": "skip"}
    assert campaign(ran(UPSTREAM, same), ran(OURS, same)).problems() == []


def test_a_lost_test_is_a_problem() -> None:
    found = campaign(ran(UPSTREAM, {"a": "pass"}), ran(OURS, {"a": "fail"})).problems()
    assert found == ["diag.sh: passes upstream, not with ours: a"]


def test_a_script_that_did_not_end_is_a_problem_in_either_kernel() -> None:
    found = campaign(ran(UPSTREAM, {}, error="stuck"), ran(OURS, {}, error="stuck")).problems()
    assert found == ["diag.sh (selftest-upstream): stuck", "diag.sh (selftest): stuck"]


def test_a_scheduler_must_pass_all_unless_it_is_named_with_a_reason() -> None:
    failed: dict[str, Verdict] = {"a": "pass", "b": "fail"}
    found = campaign(*(ran(OURS, failed, name) for name in ("minrtt", "redundant"))).problems()
    assert found == ["diag.sh with minrtt: b"]


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
