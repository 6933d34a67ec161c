# SPDX-License-Identifier: GPL-2.0-only
"""The histories with which bisections are checked: what is in them, without building any."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import bisect_check
from checks.bisect_check import FAULTS, Linux, drawn
from checks.histories import ancestors
from mptcplab.lab import kernel
from mptcplab.lab.kernel_files import Directory
from tests.unit.test_kernel import MAKEFILE, Repository, repository

__all__ = ["repository"]

SEEDS = range(100)
BROKEN, PATCHED = "net/mptcp/mib.c", "net/mptcp/Makefile"


def texts() -> dict[str, str]:
    """What the files that cases change have at the base, in a few lines."""
    made = dict.fromkeys((*bisect_check.REMARKED, BROKEN), "text\n")
    for fault in FAULTS:
        made[fault.file] = made.get(fault.file, "") + fault.right + "\n"
    made[PATCHED] = "one\n\nobj-$(CONFIG_BPF_SYSCALL) += bpf.o\n"
    return made


@pytest.fixture
def linux(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Linux:
    for name, text in texts().items():
        repository.write(f"source/{name}", text)
    program = repository.write("source/scripts/run.sh", "true\n")
    program.chmod(0o755)
    (repository.source / "linked").symlink_to("net/mptcp")
    files = Directory.read(repository.source, repository.source.parent / "note")
    source = kernel.Source(repository.source, "0123456789abcdef", "6.12", files)
    monkeypatch.setattr(kernel.Source, "chosen", lambda: source)
    return Linux()


def test_the_base_is_the_source(linux: Linux, repository: Repository) -> None:
    files = linux.repository.files(linux.base)
    content = dict(linux.repository.contents(files))
    assert content["Makefile"].decode() == MAKEFILE
    assert content["linked"] == b"net/mptcp"
    modes = {name: about.split()[0] for name, about in files.items()}
    assert (modes["linked"], modes["scripts/run.sh"], modes["Makefile"]) == (
        *("120000", "100755", "100644"),
    )
    assert {path.name for path in repository.source.rglob("*.c")} <= {Path(x).name for x in files}
    assert linux.texts == texts()
    assert Linux().base == linux.base  # it is not made again


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_each_commit_has_what_its_history_did(linux: Linux, seed: int) -> None:
    case = drawn(seed)
    commits, below = linux.put(case), ancestors(case.parents)
    for number, commit in enumerate(commits):
        files = linux.repository.files(commit)
        content = {name: text.decode() for name, text in linux.repository.contents(files)}
        assert (case.fault.wrong in content[case.fault.file]) == (case.faulty in below[number])
        for said, file in case.remarks.items():
            assert (f"remark {said} " in content.get(file, "")) == (said in below[number])
        for pair, file, sign in ((case.broken, BROKEN, "#error"), (case.unfit, PATCHED, "unfit")):
            is_broken = (
                pair is not None and pair[0] in below[number] and pair[1] not in below[number]
            )
            assert (sign in content[file]) == is_broken


def test_cases_are_of_all_kinds_and_end_mended() -> None:
    cases = [drawn(seed) for seed in SEEDS]
    for case in cases:
        *_, last = ancestors(case.parents)
        assert last == {*range(len(case.parents))}
        assert 0 < case.faulty < len(case.parents)
    assert {case.fault.name for case in cases} == {fault.name for fault in FAULTS}
    assert any(case.broken for case in cases)
    assert any(case.unfit for case in cases)
    assert any(len(own) > 1 for case in cases for own in case.parents)
    assert any(case.faulty == 1 for case in cases)
    assert any(case.faulty == len(case.parents) - 1 for case in cases)
