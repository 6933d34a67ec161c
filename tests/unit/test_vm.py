# SPDX-License-Identifier: GPL-2.0-only
"""Schedulers on unmodified kernels: cells, results and verdicts. Nothing is booted."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks import qemu
from checks.vm import __main__ as command
from checks.vm import cells, machine, runs
from checks.vm.cells import Cell
from checks.vm.machine import PLANTED, Parts
from checks.vm.runs import Boot, Result
from mptcplab.errors import RunCancelledError, RunError
from mptcplab.lab.engine import Watch
from mptcplab.metrics import run_files

CELL = Cell("minrtt", "bulk", "6.12", 2)
END = Cell("-", cells.UNLOAD, "6.12", 2)
COUNTS = "end ms=1500 forced=2 refused=0 lacking=0"
PARTS = Parts("parts", "6.12.1", Path("vmlinuz"), {}, {})
WARNING = "[    2.000000] WARNING: CPU: 0 PID: 9 at net/mptcp/protocol.c:1 f+0x1/0x2"


def line(number: int, connection: int, **client: object) -> str:
    """What a machine sends of a connection that ended well, but for this of its client."""
    size = {each.client.bytes for each in CELL.case().connections}.pop()
    end = {"there": 1, "connected": 1, "wrote": size, "read": size, "wrong_at": -1, "read_end": 1}
    end |= {"closed": 1, "fell_back": 0, "moved_us": 0}
    texts = {"did": "shutdown", "error": "", "error_of": ""}
    record = {"connection": connection, "client": end | texts | client, "server": end | texts}
    return f"{number} {json.dumps(record)}\r\n"


def sent(*, first: str = "", counts: str = COUNTS, more: str = "") -> str:
    """What a machine sends of CELL and END."""
    first = first or line(1, 1)
    lines = (line(1, 2), first, "1 carried 70 30\n", more, f"1 {counts}\r\n", f"2 {COUNTS}\n")
    return "".join(lines)


def only(content: str, console: str = "") -> Result:
    return next(runs.results([CELL, END], "6.12.1", content, console))


def test_any_two_values_meet() -> None:
    matrix = cells.pairwise(cells.schedulers(), cells.LOADS)
    values = [cells.schedulers(), cells.LOADS, cells.SERIES, cells.CPUS]
    fields = ("scheduler", "load", "series", "cpus")
    for (one, ones), (other, others) in itertools.combinations(zip(fields, values, strict=True), 2):
        found = {(getattr(cell, one), getattr(cell, other)) for cell in matrix}
        assert found == {*itertools.product(ones, others)}
    assert {*matrix} < {*cells.everything(cells.schedulers())}
    assert len({*matrix}) == len(matrix) == 80


def test_every_boot_ends_with_the_unloading() -> None:
    boots = cells.with_ends(cells.pairwise(cells.schedulers(), cells.LOADS))
    assert {*boots} == {*itertools.product(cells.SERIES, cells.CPUS)}
    for boot, those in boots.items():
        assert [cell.load for cell in those].index(cells.UNLOAD) == len(those) - 1
        assert {(cell.series, cell.cpus) for cell in those} == {boot}


@pytest.mark.parametrize("load", [*cells.LOADS, *cells.MORE_LOADS])
def test_the_program_can_do_each_load(load: str) -> None:
    cell = replace(CELL, load=load)
    connections = cell.case().connections
    assert 1 <= len(connections) <= 64
    for end in (end for each in connections for end in (each.client, each.server)):
        assert 1 <= end.write_chunk <= 65_536
        # what its gaps take leaves most of the bound
        assert end.bytes / end.write_chunk * end.write_gap / 1e6 <= max(cell.bound_s - 60, 60)
    assert cell.input().startswith(f"until={cell.bound_s}000000\n")
    assert cell.input() == replace(cell, cpus=4).input()


def test_a_good_cell() -> None:
    found = only(sent(), "[    1.000000] vm: begin 1\n[    2.000000] all is well\n")
    size = sum(2 * each.client.bytes for each in CELL.case().connections)
    assert found == Result(CELL, "6.12.1", 1500, size, 2, 0, 0, [70, 30])


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        (sent(first=line(1, 1, wrong_at=5)), "the byte at 5 is wrong"),
        (sent(first=line(1, 1, closed=0, did="", state={"queued": 1})), "client open"),
        (sent(first=line(1, 1, read=3)), "a clean end after 3 of"),
        (sent(first=line(1, 1, read=3, read_end=0, error="EPIPE")), "1 connections ended early"),
        (sent(first="\n"), "1 of 2 connections reported"),
        (sent(more="1 failed minrtt is not chosen\r\n"), "minrtt is not chosen"),
        (sent(counts=COUNTS.replace("lacking=0", "lacking=3")), "chose 3 times without"),
        (sent(counts=COUNTS.replace("refused=0", "refused=4")), "4 picks of a subflow"),
    ],
)
def test_a_cell_fails(content: str, failure: str) -> None:
    assert failure in "\n".join(only(content).failures)


def test_a_report_belongs_to_the_cell_in_which_it_came() -> None:
    begins = [f"[    {number}.500000] vm: begin {number}" for number in (1, 2)]
    for at, failed in ((0, 1), (1, 1), (2, 2)):
        console = "\n".join([*begins[:at], WARNING, *begins[at:], ""])
        found = list(runs.results([CELL, END], "6.12.1", sent(), console))
        assert [bool(result.failures) for result in found] == [failed == 1, failed == 2]


def test_what_has_not_ended_has_no_result() -> None:
    content = sent()
    for length in range(content.index("1 end")):
        assert not list(runs.results([CELL, END], "6.12.1", content[:length], ""))


# --- machines that end in different ways


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Has each machine in turn send a text and end in a way; returns what they were given."""
    seen: list[str] = []

    def play(*machines: tuple[str, Exception | None]) -> list[str]:
        left = iter(machines)

        def boot(_image: Path, initramfs: bytes, directory: Path, **_how: Any) -> None:
            seen.append(initramfs.decode())
            text, error = next(left)
            (directory / "line").write_text(text)
            (directory / run_files.CONSOLE).write_text("[    1.000000] the end\n")
            if error:
                raise error

        monkeypatch.setattr(Parts, "initramfs", lambda _self, given: given["cells/list"].encode())
        monkeypatch.setattr(qemu, "boot", boot)
        return seen

    return play


def performed(tmp_path: Path) -> Boot:
    boot = Boot(PARTS, [CELL, END], tmp_path)
    runs.perform(boot, Watch(cancel=threading.Event()))
    return boot


def test_results_are_kept(boots: Callable[..., list[str]], tmp_path: Path) -> None:
    seen = boots((sent(), None))
    assert not any(result.failures for result in performed(tmp_path).kept())
    assert performed(tmp_path).missing() == []
    assert seen == ["1 minrtt bulk\n2 - unload\n"]
    assert Boot(replace(PARTS, id="other"), [CELL, END], tmp_path).missing() == [CELL, END]


def test_a_machine_that_breaks_down_fails_its_cell(
    boots: Callable[..., list[str]], tmp_path: Path
) -> None:
    seen = boots(("", RunError("panic")), (f"1 {COUNTS}\n", None))
    first, end = performed(tmp_path).kept()
    assert (first.failures, end.failures) == (["the machine ended: panic"], [])
    assert first.log == "[    1.000000] the end"
    assert seen[1] == "1 - unload\n"


def test_an_interrupt_keeps_what_has_ended(boots: Callable[..., list[str]], tmp_path: Path) -> None:
    content = sent()
    boots((content[: content.index("2 end")], RunCancelledError()))
    boot, watch = Boot(PARTS, [CELL, END], tmp_path), Watch()
    watch.cancel.set()
    with pytest.raises(RunCancelledError):
        runs.perform(boot, watch)
    assert boot.missing() == [END]
    assert [result.cell for result in boot.kept()] == [CELL]


def test_the_end_of_a_boot_is_repeated_with_any_cell(tmp_path: Path) -> None:
    boot = Boot(PARTS, [CELL, END], tmp_path)
    boot.file(END).parent.mkdir(exist_ok=True)
    boot.file(END).write_text("{}")
    assert boot.missing() == [CELL, END]


def test_the_command_fails_with_a_cell(
    boots: Callable[..., list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(machine, "require", lambda _jobs: None)
    monkeypatch.setattr(machine, "parts", lambda _series: PARTS)
    arguments = ["--all", "--scheduler=minrtt", "--load=bulk", "--kernel=6.12", "--cpus=2"]
    arguments.append(f"--out={tmp_path}")
    boots((sent(first=line(1, 1, wrong_at=5)), None))
    assert command.main(arguments) == 1
    assert "| minrtt | 6.12/2: 1.5 (2) FAILED |" in capsys.readouterr().out
    boots((sent(), None))
    assert command.main(arguments) == 1
    assert command.main([*arguments, "--again"]) == 0


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_changes_one_place(name: str) -> None:
    planted = PLANTED[name]
    root = Path(__file__).parents[2]
    place = "guest/torture" if planted.file.endswith("connections.c") else "kernel/mptcp"
    text = (root / place / planted.file.removeprefix("lab/")).read_text()
    assert text.count(planted.old) == 1
