# SPDX-License-Identifier: GPL-2.0-only
"""What the schedulers cost on an unmodified Debian kernel, in instructions: `make cost-test`.

QEMU counts the instructions of a machine with one CPU. A transfer with a scheduler, without limits
of rate, comes behind one with `default`: a pair. A scheduler is within the bounds if the medians of
its pairs are at most 1.05 times as many instructions, and 1.5 times as many packets that leave a
device, which are as large as the offloads make them. The same modules give the same figures.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from checks import tables
from checks.command_line import chosen, natural, parser_of, say
from checks.vm import cells, machine
from mptcplab import marked, resources
from mptcplab.errors import RunError, status_of
from mptcplab.lab import guest, stock_machine
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.scenario.scheduler import DEFAULT

#: What the default grain may cost, as parts of what `default` costs.
MOST_INSTRUCTIONS, MOST_PACKETS = 1.05, 1.5
_NAMES = ("overflow", "minrtt", "weighted", "blest", "ecf")
_MARK = "make cost-test"
_INIT = Path(__file__).with_name("cost.sh")
# As Debian starts it, but for addresses that differ at each start.
_ARGUMENTS = ("console=ttyS0", "panic=-1", "quiet", "nokaslr", "tsc=reliable", "nowatchdog")


class Transfer(BaseModel):
    """A transfer, as guest/cost/transfers.c prints it. A nanosecond is an instruction."""

    scheduler: str
    busy_ns: int
    idle_ns: int
    packets: int
    acks: int


#: A transfer with `default`, and the next one, with a scheduler.
Pair = tuple[Transfer, Transfer]


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if none is beyond the bounds; else 1."""
    parser = parser_of("vm.cost", __doc__)
    parser.add_argument("--docs", type=Path, help="a page that gets the table between its marks")
    text = f"with commas, also with a grain in bytes; else {', '.join(_NAMES)}"
    parser.add_argument("--scheduler", default="", help=text)
    parser.add_argument("--pairs", type=natural, default=20, help="for each scheduler (20)")
    parser.add_argument("--megabytes", type=natural, default=60, help="of a transfer (60)")
    parser.add_argument("--seed", type=natural, default=1, help="of the machine (1)")
    options = parser.parse_args(arguments)
    names = tuple(options.scheduler.split(",")) if options.scheduler else _NAMES
    known = [name for name in cells.schedulers() if name != DEFAULT]
    chosen(parser, "--scheduler", ",".join(name.partition(":")[0] for name in names), known)
    return status_of(lambda: _check(options, names))


def _check(options: argparse.Namespace, names: Sequence[str]) -> int:
    machine.require()
    parts = machine.parts(cells.SERIES[0])
    found = pairs(measure(parts, names, options.pairs, options.megabytes, options.seed))
    about = f"With {parts.release}, {options.pairs} pairs of transfers of {options.megabytes} MB"
    text = f"{about}:\n\n{markdown(found, options.megabytes)}"
    print(text, end="")
    if options.docs and not options.scheduler:
        marked.replace(options.docs, {_MARK: text})
    beyond = [name for name, those in found.items() if not is_good(those)]
    say(f"beyond the bounds: {', '.join(beyond) or 'none'}")
    return 1 if beyond else 0


def measure(
    parts: machine.Parts, names: Sequence[str], count: int, megabytes: int, seed: int
) -> list[Transfer]:
    """The transfers of one boot. Raises RunError and MachineError."""
    program = guest.build(resources.GUEST / "cost").program
    given = {**parts.files, "arguments": f"{megabytes}000000 {count} {' '.join(names)}\n".encode()}
    programs = {**parts.programs, "transfers": program.read_bytes()}
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
        directory = Path(name)
        image = directory / stock_machine.IMAGE
        image.write_bytes(stock_machine.initramfs(_INIT.read_bytes(), given, programs))
        command = stock_machine.counting(parts.image, _ARGUMENTS, seed)
        stock_machine.follow(command, directory, Limits(wall_s=24 * 3600), Watch())
        lines = (directory / stock_machine.LINE).read_text(errors="replace").splitlines()
        if lines[-1:] != ["end"]:
            said = lines[-1] if lines else "nothing came over the serial line"
            raise RunError(said, stock_machine.console_tail(directory))
    return [Transfer.model_validate_json(line) for line in lines[:-1]]


def pairs(transfers: Sequence[Transfer]) -> dict[str, list[Pair]]:
    """The pairs of each scheduler."""
    found: dict[str, list[Pair]] = {}
    for before, transfer in zip(transfers[::2], transfers[1::2], strict=True):
        found.setdefault(transfer.scheduler.replace(":", ":grain_bytes="), []).append(
            (before, transfer)
        )
    return found


def parts_of_default(those: Sequence[Pair], name: str) -> list[float]:
    """A figure of each pair, as a part of the figure of `default`; sorted."""
    return sorted(getattr(other, name) / getattr(default, name) for default, other in those)


def is_good(those: Sequence[Pair]) -> bool:
    """Whether a scheduler is within the bounds."""
    bounds = {"busy_ns": MOST_INSTRUCTIONS, "packets": MOST_PACKETS}
    return all(
        statistics.median(parts_of_default(those, name)) <= most for name, most in bounds.items()
    )


def markdown(found: dict[str, list[Pair]], megabytes: int) -> str:
    """The table, with a line for each scheduler."""
    head = ("scheduler", "instructions per byte", "as a part of `default`'s", "least", "most")
    rows = []
    for name, those in found.items():
        per_byte = statistics.median(other.busy_ns for _, other in those) / megabytes / 1e6
        cells_of = [f"{per_byte:.3f}"]
        for figure in ("busy_ns", "packets"):
            ratios = parts_of_default(those, figure)
            spread = (statistics.median(ratios), ratios[0], ratios[-1])
            cells_of += [f"{each:.2f}" for each in spread]
        rows.append([f"`{name}`", *cells_of])
    return tables.markdown((*head, "packets, as a part", "least", "most"), rows, numbers=True)


if __name__ == "__main__":
    raise SystemExit(main())
