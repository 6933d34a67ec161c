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
from checks.vm.machine import Parts
from checks.vm.runs import Boot, Result
from mptcplab.errors import RunCancelledError, RunError
from mptcplab.lab.engine import Watch
from mptcplab.metrics import run_files

CELL, END = Cell("minrtt", "bulk", "6.12", 2), Cell("-", cells.UNLOAD, "6.12", 2)
BYTES = 2_000_000
COUNTS = "end ms=1500 forced=2 refused=0 lacking=0"
BEGUN = "[    0.500000] vm: begin 1\n"
PARTS = Parts("parts", "6.12.1", Path("vmlinuz"), {}, {})
WARNING = "[    2.000000] WARNING: CPU: 0 PID: 9 at net/mptcp/protocol.c:1 f+0x1/0x2"


def line(connection: int, **client: object) -> str:
    """What a machine sends of a connection that ended well, but for this of its client."""
    end: dict[str, object] = {"there": 1, "connected": 1, "wrote": BYTES, "read": BYTES}
    end |= {"wrong_at": -1, "read_end": 1, "closed": 1, "fell_back": 0, "moved_us": 0}
    end |= {"did": "shutdown", "error": "", "error_of": ""}
    return f"1 {json.dumps({'connection': connection, 'client': end | client, 'server': end})}\n"


def sent(first: str = line(1), *, counts: str = COUNTS) -> str:
    """What a machine sends of CELL and END."""
    others = "".join(line(number) for number in (4, 3, 2))
    return f"{others}{first}1 carried 70 30\n1 {counts}\n2 {COUNTS}\n"


def test_any_two_values_meet() -> None:
    matrix = cells.pairwise(cells.schedulers(), cells.LOADS)
    values = [cells.schedulers(), cells.LOADS, cells.SERIES, cells.CPUS]
    fields = ("scheduler", "load", "series", "cpus")
    for (one, ones), (other, others) in itertools.combinations(zip(fields, values, strict=True), 2):
        found = {(getattr(cell, one), getattr(cell, other)) for cell in matrix}
        assert found == {*itertools.product(ones, others)}
    assert {*matrix} < {*cells.everything(cells.schedulers())}
    boots = cells.with_ends(matrix)
    assert {*boots} == {*itertools.product(cells.SERIES, cells.CPUS)}
    for those in boots.values():
        assert [cell.load for cell in those].index(cells.UNLOAD) == len(those) - 1


@pytest.mark.parametrize("load", [*cells.LOADS, *cells.MORE_LOADS])
def test_the_program_can_do_each_load(load: str) -> None:
    cell = replace(CELL, load=load)
    connections = cell.case().connections
    # a process of the program without a connection would wait until the bound
    assert max(cells.CPUS) <= len(connections) <= 64
    for end in (end for each in connections for end in (each.client, each.server)):
        assert 1 <= end.write_chunk <= 65_536
        # what its gaps take leaves time for the data
        assert end.bytes / end.write_chunk * end.write_gap / 1e6 <= cell.bound_s - 60
    assert cell.input().startswith(f"until={cell.bound_s}000000\n")


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        (sent(line(1, wrong_at=5)), "the byte at 5 is wrong"),
        (sent(line(1, closed=0, state={"queued": 1})), "client open"),
        (sent(line(1, read=3)), "a clean end after 3 of"),
        (sent(line(1, read=3, read_end=0, error="EPIPE")), "1 connections ended early"),
        (sent(line(1, read=3, read_end=0, error="EPIPE", error_of="write")), "write EPIPE"),
        (sent(""), "3 of 4 connections reported"),
        (sent(line(1) + "1 failed minrtt is not chosen\n"), "minrtt is not chosen"),
        (sent(counts=COUNTS.replace("lacking=0", "lacking=3")), "3 choices without"),
        (sent(counts=COUNTS.replace("refused=0", "refused=4")), "4 unusable picks"),
    ],
)
def test_a_cell_fails(content: str, failure: str) -> None:
    good, bad = (next(runs.results([CELL, END], each, "")) for each in (sent(), content))
    assert good == Result(CELL, 1500, 8 * BYTES, 2, 0, 0, [70, 30])
    assert failure in "\n".join(bad.failures)


def test_a_report_belongs_to_the_cell_in_which_it_came() -> None:
    begins = [f"[    {number}.500000] vm: begin {number}" for number in (1, 2)]
    for at, failed in ((0, 1), (1, 1), (2, 2)):
        console = "\n".join([*begins[:at], WARNING, *begins[at:], ""])
        found = list(runs.results([CELL, END], sent(), console))
        assert [bool(result.failures) for result in found] == [failed == 1, failed == 2]


# --- machines that end in different ways


Machines = Callable[..., list[str]]


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> Machines:
    """Has each machine in turn send a text and end in a way; returns what they were given."""
    seen: list[str] = []

    def play(*texts: str | tuple[str, Exception], began: str = BEGUN) -> list[str]:
        left = iter(texts)

        def boot(_image: Path, initramfs: bytes, directory: Path, **_how: Any) -> None:
            seen.append(initramfs.decode())
            text = next(left)
            (directory / qemu.LINE).write_text(text if isinstance(text, str) else text[0])
            (directory / run_files.CONSOLE).write_text(f"{began}[    1.000000] the end\n")
            if not isinstance(text, str):
                raise text[1]

        monkeypatch.setattr(Parts, "initramfs", lambda _self, given: given["cells/list"].encode())
        monkeypatch.setattr(qemu, "boot", boot)
        return seen

    return play


def performed(out: Path, parts: Parts = PARTS) -> Boot:
    boot = Boot(parts, [CELL, END], out)
    runs.perform(boot, Watch(cancel=threading.Event()))
    return boot


def test_a_result_is_kept_until_something_changes(machines: Machines, tmp_path: Path) -> None:
    seen = machines(sent(), sent(), sent())
    boot = performed(tmp_path)
    assert performed(tmp_path).kept() == boot.kept() == list(runs.results(boot.cells, sent(), ""))
    assert seen == ["1 minrtt bulk\n2 - unload\n"]
    performed(tmp_path, replace(PARTS, id="other"))
    boot.file(CELL).unlink()
    performed(tmp_path)
    assert seen == ["1 minrtt bulk\n2 - unload\n"] * 3


def test_a_machine_that_breaks_down_fails_its_cell(machines: Machines, tmp_path: Path) -> None:
    seen = machines(("", RunError("panic")), f"1 {COUNTS}\n")
    first, end = performed(tmp_path).kept()
    assert first.failures[0] == "the machine ended: panic"
    assert "the end" in first.failures[-1]
    assert end.failures == []
    assert seen[1] == "1 - unload\n"


def test_a_machine_that_does_not_start_fails_no_cell(machines: Machines, tmp_path: Path) -> None:
    machines(("", RunError("panic")), began="")
    with pytest.raises(RunError, match="no cell began: the machine ended: panic"):
        performed(tmp_path)
    assert Boot(PARTS, [CELL, END], tmp_path).kept() == []


def test_an_interrupt_keeps_what_has_ended(machines: Machines, tmp_path: Path) -> None:
    content = sent()
    machines((content[: content.index("2 end")], RunCancelledError()))
    with pytest.raises(RunCancelledError):
        performed(tmp_path)
    boot = Boot(PARTS, [CELL, END], tmp_path)
    assert boot.missing() == [END]
    assert [result.cell for result in boot.kept()] == [CELL]


def test_the_command_fails_with_a_cell(
    machines: Machines,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(machine, "require", lambda _jobs: None)
    monkeypatch.setattr(machine, "parts", lambda _series: PARTS)
    arguments = ["--all", "--scheduler=minrtt", "--load=bulk", "--kernel=6.12", "--cpus=2"]
    arguments.append(f"--out={tmp_path}")
    machines(sent(line(1, wrong_at=5)), sent())
    assert [command.main(arguments) for _ in range(2)] == [1, 1]
    assert "| minrtt | 6.12/2: 1.5 (2) FAILED |" in capsys.readouterr().out
    assert command.main([*arguments, "--again"]) == 0
