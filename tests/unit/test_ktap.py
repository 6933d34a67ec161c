# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

from tests import ktap

CONSOLE = """\
some line of the boot
KTAP version 1
1..2
    KTAP version 1
    # Subtest: one
    # module: one_test
    1..4
    ok 1 passes
    # fails: EXPECTATION FAILED at one_test.c:7
    Expected a == 3, but
        a == 4 (0x4)
    not ok 2 fails
    ok 3 is_skipped # SKIP no such device
        KTAP version 1
        # Subtest: has_parameters
        ok 1 small
        # has_parameters: EXPECTATION FAILED at one_test.c:9
        not ok 2 large
    # has_parameters: pass:1 fail:1 skip:0 total:2
    not ok 4 has_parameters
# one: pass:1 fail:2 skip:1 total:4
not ok 1 one
    KTAP version 1
    # Subtest: two
    1..1
    # may_be_slow.speed: slow
    ok 1 may_be_slow
ok 2 two
"""


def test_every_case_has_its_result() -> None:
    results = ktap.results(CONSOLE)
    assert {key: result.passed for key, result in results.items()} == {
        ("one", "passes"): True,
        ("one", "fails"): False,
        ("one", "is_skipped"): True,
        ("one", "has_parameters"): False,
        ("two", "may_be_slow"): True,
    }
    # a failure comes with its lines and no others
    assert [line.strip() for line in results["one", "fails"].lines] == [
        "# fails: EXPECTATION FAILED at one_test.c:7",
        "Expected a == 3, but",
        "a == 4 (0x4)",
        "not ok 2 fails",
    ]
    assert "not ok 2 large" in [line.strip() for line in results["one", "has_parameters"].lines]
    assert results["one", "is_skipped"].skipped == "no such device"
    assert results["one", "passes"].skipped == ""


def test_a_kernel_that_dies_leaves_the_results_so_far() -> None:
    console = CONSOLE[: CONSOLE.index("    not ok 2 fails")] + "Kernel panic - not syncing: x\n"
    assert list(ktap.results(console)) == [("one", "passes")]
