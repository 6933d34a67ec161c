# SPDX-License-Identifier: GPL-2.0-only
"""The comparison of the speed of two versions: its statistics, its verdict, and its two sides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from checks import bench_against
from checks.bench_against import Cost, Version, interval, main, row, version_of
from checks.same_commands import ROOT
from mptcplab import cli
from mptcplab.cli.actions import kernels
from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab import kernel


# With n values, the k-th from either end leaves out the median with a probability of twice the
# binomial distribution below k: 2 * 1/64, 2 * 11/1024, 2 * 79/4096.
@pytest.mark.parametrize(("count", "ends"), [(6, (1, 6)), (10, (2, 9)), (12, (3, 10))])
def test_an_interval_of_a_median_is_as_wide_as_needed(count: int, ends: tuple[int, int]) -> None:
    values = [float(each) for each in range(count, 0, -1)]
    assert interval(values) == ends


# Six of ten ratios decide the median, the second smallest is the lower end of its interval.
@pytest.mark.parametrize(
    ("ratios", "slower"),
    [
        ([1.0] * 10, False),
        ([1.03] * 10, False),
        ([1.05] * 10, True),
        ([0.9, 0.9] + [1.05] * 8, False),
        ([0.9] + [1.05] * 9, True),
        ([1.01] * 6 + [1.2] * 4, False),
    ],
)
def test_a_version_is_slower_if_its_loss_is_large_and_certain(
    ratios: list[float], slower: bool
) -> None:
    assert row("blest", [(Cost(1.0, 1), Cost(each, 1)) for each in ratios])[1] is slower


def test_a_row_has_medians_of_ratios_in_pairs_not_ratios_of_medians() -> None:
    # each pair has the ratio 1.1, on a machine that becomes slower
    pairs = [(Cost(float(s), 1000), Cost(1.1 * s, 1080)) for s in range(1, 8)]
    expected = "| blest | 4.00 | 4.40 | 1.100 (1.100 to 1.100) **slower** | 1.080 |"
    assert row("blest", pairs) == (expected, True)


def test_versions_alternate_and_the_first_pair_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Version] = []

    def cost(version: Version, _case: str) -> Cost:
        calls.append(version)
        return Cost(len(calls), 1)

    monkeypatch.setattr(Version, "cost", cost)
    old, new = Version(Path("old")), Version(Path("new"))
    pairs = bench_against.measured("default", old, new, 3)
    assert calls == [old, new, new, old, old, new, new, old]
    assert [(old.cpu_s, new.cpu_s) for old, new in pairs] == [(4, 3), (5, 6), (8, 7)]


def test_a_revision_runs_its_own_code_and_an_id_that_of_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def path_of(version: Version) -> Path:
        found = "import mptcplab; print(mptcplab.__file__)"
        command = [sys.executable, "-c", found]
        said = subprocess.check_output(command, env={"PYTHONPATH": str(version.source)}, text=True)
        return Path(said).parents[2]

    with version_of("HEAD") as old:
        assert path_of(old) == old.source.parent != ROOT
    kept = SimpleNamespace(id="0123456789ab")
    monkeypatch.setattr(kernel, "built", lambda: [kept])
    monkeypatch.setattr(kernels, "named", lambda *_: kept)
    with version_of("0123456789ab+ba9876543210") as old:
        assert path_of(old) == ROOT
        assert '"0123456789ab+ba9876543210"' in old.program.replace("'", '"')
    for neither in ("no-such-revision", "0123456789ac"):
        with pytest.raises(SystemExit, match=neither), version_of(neither):
            pass


def test_an_id_of_no_guest_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = SimpleNamespace(id="0123456789ab")
    monkeypatch.setattr(kernel, "built", lambda: [kept])
    with pytest.raises(InputError, match="OLD"), version_of("0123456789ab+ba9876543210"):
        pass


def test_a_run_that_fails_is_reported_with_its_reason(tmp_path: Path) -> None:
    version = Version(tmp_path, "import sys; sys.exit('no kernel of this id')")
    with pytest.raises(MptcplabError, match="start: no kernel of this id"):
        version.cost("start")


def test_too_few_pairs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["HEAD", "--pairs", "5"])
    assert "--pairs 5: an interval takes at least 6" in capsys.readouterr().err


@pytest.mark.parametrize("case", bench_against.CASES)
def test_the_command_of_a_case_is_one_of_this_version(case: str) -> None:
    options = [*bench_against.CASES[case].split(), *bench_against._LATER, "--seed=1", "--plan"]
    done = CliRunner().invoke(cli.cli, ["run", *options])
    assert done.exit_code == 0, done.exception
