# SPDX-License-Identifier: GPL-2.0-only
"""Measure what a run costs, beside others that do the same and as it grows: `make bench`.

All is measured in one call, and each thing in turn several times. `--docs` writes the figures into
a page, with charts and the data beside it; without it they are only shown.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from benches import growth, others, performance_page
from benches.figures import Machine, Measured
from benches.lab import Lab
from mptcplab.errors import InputError, Problem, status_of
from mptcplab.lab import doctor, guest, kernel
from mptcplab.mistakes import first_of
from mptcplab.runs import bench, experiment

_ROUNDS = 3
_DURATION, _QUICK_DURATION = "20s", "2s"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--docs", type=Path, metavar="PAGE", help="write all into this page")
    parser.add_argument(
        "--rounds",
        type=int,
        choices=range(1, 100),
        default=_ROUNDS,
        metavar="N",
        help=f"how often each thing is measured, in turn with the others  [{_ROUNDS}]",
    )
    parser.add_argument("--quick", action="store_true", help="once, and less of it: only to try")
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="do not measure, show what this file has"
    )
    options = parser.parse_args(arguments)
    return status_of(lambda: _measure_and_show(options))


def _measure_and_show(options: argparse.Namespace) -> int:
    measured = read(options.data) if options.data else measure(options.rounds, quick=options.quick)
    if options.docs:
        for file in performance_page.write(measured, options.docs):
            print(f"written: {file}")
    else:
        for name, text in performance_page.tables(measured).items():
            print(f"\n{name.removeprefix('make bench: ')}\n\n{text}", end="")
    return 0


def read(file: Path) -> Measured:
    """What was measured before. Raises InputError."""
    try:
        return Measured.model_validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(
            [Problem(str(file), "", "", f"cannot be read: {error.strerror}")]
        ) from error
    except ValidationError as error:
        key, message = first_of(error)
        raise InputError([Problem(str(file), key, "", message)]) from error


def measure(rounds: int, *, quick: bool) -> Measured:
    """All of it. Raises MptcplabError."""
    rounds = 1 if quick else rounds
    doctor.require(*doctor.RUN_CHECKS)
    builds = kernel.build(), guest.build()
    machine = machine_here()
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as directory:
        lab = Lab(*builds, Path(directory))
        contenders, ns3_start_cpu_s = others.measure(
            lab,
            rounds=rounds,
            duration=_QUICK_DURATION if quick else _DURATION,
            say=_say,
        )
        series = growth.measure(lab, growth.growths(quick), rounds=rounds, say=_say)
    figures = bench.run(*builds, repeat=rounds, say=_say, cancel=threading.Event())
    return Measured(
        quick=quick,
        machine=machine,
        contenders=contenders,
        ns3_start_cpu_s=ns3_start_cpu_s,
        series=series,
        bench=figures,
    )


def machine_here() -> Machine:
    """This machine, now."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return Machine(
        processor=names[0] if names else platform.machine(),
        cpus=len(experiment.cpus()),
        # the version alone: what a distribution or a machine adds tells nothing
        kernel=platform.release().partition("-")[0],
        load=os.getloadavg()[0],
    )


_BEGUN = time.monotonic()


def _say(what: str) -> None:
    print(f"{time.monotonic() - _BEGUN:5.0f} s  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
