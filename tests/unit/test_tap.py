# SPDX-License-Identifier: GPL-2.0-only
"""What is made of the output of the kernel's selftests."""

from __future__ import annotations

import pytest

from mptcplab.selftests.tap import Result, Verdict, lost, parse

OUTPUT = """\
Created /tmp/tmp.a (size 1 KB) containing data sent by client
001 no JOIN
      join Rx                             [ OK ]
002 single subflow
      join Rx                             [FAIL] see above
      syn rx                              [FAIL] got 0 JOIN[s] syn rx expected 1
Server ns stats
003 ....chk last_data_sent                [SKIP] Feature probably not supported
004           (nobackup)                  [ OK ]

TAP version 13
1..4
ok 1 - mptcp_join: no JOIN # time=301ms
not ok 2 - mptcp_join: single subflow # time=1042ms
ok 3 - mptcp_join: ....chk last_data_sent # SKIP time=500ms
ok 4 - mptcp_join:           (nobackup) # time=0ms
"""


def tap(*lines: str) -> str:
    return "\n".join(["", "TAP version 13", f"1..{len(lines)}", *lines, ""])


def test_every_test_has_its_verdict() -> None:
    assert parse(OUTPUT, 1).verdicts == {
        "no JOIN": "pass",
        "single subflow": "fail",
        "....chk last_data_sent": "skip",
        "(nobackup)": "pass",
    }
    assert parse(OUTPUT, 1).error == ""


def test_the_time_a_test_took_is_not_in_its_name() -> None:
    slow, fast = (tap(f"ok 1 - diag: check fallback # time={ms}ms") for ms in (5, 2000))
    assert parse(slow, 0) == parse(fast, 0)


def test_colons_and_hashes_without_blanks_belong_to_the_name() -> None:
    line = "ok 1 - mptcp_connect: loopback v6: ns1 MPTCP -> ns1 (dead:beef:1::1:10003      ) TCP#2"
    name = "loopback v6: ns1 MPTCP -> ns1 (dead:beef:1::1:10003 ) TCP#2"
    assert list(parse(tap(line), 0).verdicts) == [name]


def test_a_failure_with_a_reason_is_a_failure() -> None:
    line = "not ok 1 - diag: many msk socket present # timeout time=20007ms"
    assert parse(tap(line), 1).verdicts == {"many msk socket present": "fail"}


def test_a_name_that_occurs_again_is_numbered() -> None:
    lines = [f"ok {number} - diag: again # time=0ms" for number in (1, 2, 3)]
    assert list(parse(tap(*lines), 0).verdicts) == ["again", "again (2)", "again (3)"]


def test_remarks_say_what_failed_or_was_skipped_and_in_which_test() -> None:
    assert parse(OUTPUT, 1).remarks == (
        "002 single subflow: join Rx [FAIL] see above",
        "002 single subflow: syn rx [FAIL] got 0 JOIN[s] syn rx expected 1",
        "003 ....chk last_data_sent [SKIP] Feature probably not supported",
    )


def test_a_script_without_results_has_not_ended() -> None:
    result = parse("[SKIP] Could not run all tests without iptables\n", 4)
    assert result.error == "it ended with status 4 and without results"
    assert result.remarks == ("[SKIP] Could not run all tests without iptables",)


def test_a_script_that_gave_fewer_results_than_it_announced_has_not_ended() -> None:
    text = "\nTAP version 13\n1..3\nok 1 - diag: a # time=0ms\n"
    assert parse(text, 0).error == "it announced 3 results and gave 1"


def test_a_script_that_failed_while_no_test_did_has_not_ended() -> None:
    text = tap("ok 1 - diag: a # time=0ms")
    assert parse(text, 1).error == "it ended with status 1 although no test failed"


LOST = ("pass", "fail"), ("pass", "skip"), ("pass", None), ("skip", "fail"), ("skip", None)
NEW_AND_FAILS = (None, "fail")


@pytest.mark.parametrize("before", ["pass", "fail", "skip", None])
@pytest.mark.parametrize("after", ["pass", "fail", "skip", None])
def test_a_test_is_lost_if_it_is_worse(before: Verdict | None, after: Verdict | None) -> None:
    one, other = (Result({"a": each} if each else {}) for each in (before, after))
    assert lost(one, other) == (["a"] if (before, after) in (*LOST, NEW_AND_FAILS) else [])


def test_only_results_of_the_script_itself_count() -> None:
    output = (
        "\nTAP version 13\n1..2\n"
        "    ok 1 - x: of a part\nok 1 - x: one\nok 2 - hello\nnot ok 2 - x: two\n"
    )
    assert parse(output, 1) == Result({"one": "pass", "two": "fail"})


def test_exit_statuses_are_behind_the_failure_in_either_form() -> None:
    late = "05 unbalanced bwidth      transfer slower than expected! runtime 2 ms, expected 1 ms"
    below = f"{late} max 1      [FAIL]\nclient exit code 1, server 0\n\nnetns ns3 socket stat\n"
    beside = f"{late}[FAIL] client exit code 1, server 0\n\nnetns ns3 (listener) socket stat\n"
    said = "05 unbalanced bwidth transfer slower than expected! runtime 2 ms, expected 1 ms"
    for text, more in ((below, " max 1 [FAIL]"), (beside, "[FAIL]")):
        result = parse(text + tap("not ok 1 - simult_flows: unbalanced bwidth"), 1)
        assert result.remarks == (f"{said}{more} client exit code 1, server 0",)
