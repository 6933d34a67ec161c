# SPDX-License-Identifier: GPL-2.0-only
"""What socket options do: programs/options.c is played in the lab, for tests and a page.

`python -m tests.socket_options` writes the tables of docs/socket-options.md.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab import marked, resources
from mptcplab.lab import guest as guest_module
from mptcplab.lab import kernel
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs import experiment
from mptcplab.runs.program import find
from mptcplab.scenario.workload import Program
from tests.vocabulary import output, scenario_of

PAGE = resources.DOCS / "socket-options.md"
SOURCE = Path(__file__).parent / "engine" / "programs" / "options.c"
#: Plain TCP, and the scheduler `default` on a kernel without the schedulers' patches; ours.
THEIRS, OURS = ("tcp", "default"), ("minrtt", "roundrobin", "redundant")
#: The client's paths have an RTT of 20 and 30 ms; no packet of the experiments is lost.
PATHS = ("a:20mbit,10ms", "b:10mbit,15ms")


@dataclass(frozen=True)
class Seen:
    """What came of an option: the error when it was set, and what was seen without and with it;
    both are empty where nothing is to be seen.
    """

    error: str
    without: str
    with_it: str

    @property
    def verdict(self) -> str:
        if self.error:
            return f"refused, {self.error}"
        return "ignored" if self.without and self.without == self.with_it else "taken"

    @property
    def cell(self) -> str:
        if not self.without or self.error:
            return self.verdict
        after = "" if self.without == self.with_it else f" → {self.with_it}"
        return f"{self.verdict}: {self.without}{after}"


#: By the name of the scheduler, or `tcp`, and that of the option.
Table = Mapping[str, Mapping[str, Seen]]


def play(
    build: KernelBuild,
    guest: Guest,
    directory: Path,
    names: Sequence[str],
    only: str = "",
    paths: Sequence[str] = PATHS,
) -> Table:
    """The experiments whose names contain `only`, in one run."""
    program = directory / "options"
    compiler = ["cc", "-O2", "-Wall", "-Werror", "-static", "-o", str(program), str(SOURCE)]
    subprocess.run(compiler, check=True)
    run = directory / "run"
    run.mkdir()
    scenario = scenario_of(
        *paths,
        sample_interval="1s",
        program=Program(
            client=find([str(program), "play", only, *names]),
            server=find([str(program), "serve"]),
            directory=str(directory),
            time_limit_ns=3600 * 10**9,
            input="none",
            listen="tcp:4000",
        ),
    )
    outcome = experiment.run(scenario, build, guest, run)
    assert outcome.guest["client_status"] == 0, output(outcome, "client.err")
    table: dict[str, dict[str, Seen]] = {name: {} for name in names}
    for line in output(outcome).splitlines():
        name, option, error, without, with_it = line.split("\t")
        table[name][option] = Seen(error, without, with_it)
    return table


def texts(theirs: Table, ours: Table) -> dict[str, str]:
    """The tables of the page, by their marks."""
    tcp, default, minrtt = theirs["tcp"], theirs["default"], ours["minrtt"]
    rows = ["| option or flag | plain TCP | `default` | ours |", "|---|---|---|---|"]
    for option in tcp:
        if tcp[option].without:
            cells = [table[option].cell for table in (tcp, default, minrtt)]
            if tcp[option].verdict == "ignored":
                # what is to be seen then?
                cells = [cell.replace("ignored", "no difference") for cell in cells]
            rows.append("| " + " | ".join((option, *cells)) + " |")
    silent = [
        option
        for option in tcp
        if (tcp[option].verdict, default[option].verdict) == ("taken", "ignored")
    ]
    others: dict[tuple[str, ...], list[str]] = {}
    for option in tcp:
        if not tcp[option].without:
            both = tuple(table[option].error or "accepted" for table in (tcp, default))
            others.setdefault(both, []).append(f"`{option}`")
    groups = ["| plain TCP | `default` and ours | options |", "|---|---|---|"]
    groups += [
        "| " + " | ".join((*both, ", ".join(others[both]))) + " |" for both in sorted(others)
    ]
    return {
        "seen": "\n".join(rows) + "\n",
        "silent": "".join(f"- {option}\n" for option in silent),
        "others": "\n".join(groups) + "\n",
    }


def main() -> None:
    guest = guest_module.build()
    with tempfile.TemporaryDirectory() as place:
        tables = []
        for variant, names in (("upstream", THEIRS), ("lab", OURS)):
            directory = Path(place, variant)
            directory.mkdir()
            tables.append(play(kernel.build(variant=variant), guest, directory, names))
    marked.replace(PAGE, texts(*tables))


if __name__ == "__main__":
    main()
