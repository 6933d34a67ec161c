# SPDX-License-Identifier: GPL-2.0-only
"""Congestion controls: the names and descriptions of all in the lab kernel.

Descriptions of the kernel's own are in this file. Each of ours is a C file,
`kernel/mptcp/cc/NAME.c`, whose head comment begins "NAME: " and has the lines "Year: ..." and
"Couples: ...". Its parameters are in a table, as those of a scheduler.

A congestion control with its settings is a text, `NAME:PARAM=VALUE:...`: `read` puts it into the
form that scenarios, tables and documents have, with nothing but what differs from the defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from mptcplab import resources
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.mistakes import one_of, suggestion
from mptcplab.scenario.scheduler import Algorithm, Choice, head_comment, parameters_in, settings_of

DEFAULT = "cubic"
_KERNELS = {
    "cubic": """\
cubic: windows grow as a cubic function of the time since the last loss

Year: 2008
Source: RFC 9438; net/ipv4/tcp_cubic.c. The default of Linux.""",
    "reno": """\
reno: a segment per round trip more, and half of the window after a loss

Year: 1990
Source: RFC 5681; net/ipv4/tcp_cong.c. The reference for the coupled ones.""",
    "bbr": """\
bbr: paced at the highest delivery rate, with as much in flight as the lowest RTT needs

Year: 2016
Source: N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue
14(5), 2016; net/ipv4/tcp_bbr.c, which is version 1.""",
    "vegas": """\
vegas: keeps two to four segments in the queue, judging by the RTT

Year: 1994
Source: L. Brakmo, S. O'Malley, L. Peterson, "TCP Vegas: New Techniques for
Congestion Detection and Avoidance", SIGCOMM 1994; net/ipv4/tcp_vegas.c.""",
}


class CongestionControl(Algorithm):
    @property
    def year(self) -> str:
        return self._line("Year", "")

    @property
    def couples(self) -> str:
        """What the subflows of a connection have in common."""
        return self._line("Couples", "nothing")

    def _line(self, key: str, otherwise: str) -> str:
        found = re.search(rf"^{key}: (.+)$", self.description, re.MULTILINE)
        return found[1] if found else otherwise


@cache
def names() -> tuple[str, ...]:
    """The congestion controls of the lab kernel: its own, then ours in alphabetical order."""
    return (*_KERNELS, *sorted(file.stem for file in resources.CONGESTION_CONTROLS.glob("*.c")))


@cache
def known() -> Mapping[str, CongestionControl]:
    """The congestion controls by name, in the order of `names`.

    Raises MptcplabError if a file of ours cannot be read, has no line "Year:" or a wrong table.
    """
    found = {}
    for name in names():
        file = None if name in _KERNELS else resources.CONGESTION_CONTROLS / f"{name}.c"
        try:
            code = "" if file is None else file.read_text("utf-8")
            parameters = parameters_in(code)
        except (OSError, ValueError) as error:
            raise MptcplabError(f"{file}: {error}") from error
        text = head_comment(code) if file else _KERNELS[name]
        found[name] = CongestionControl(name, text, parameters, file)
        if not found[name].year:
            raise MptcplabError(f"{file}: its head has no line Year:")
    return found


def read(text: str) -> str:
    """`NAME:PARAM=VALUE:...` with nothing but what differs from the defaults.

    NAME is one of `names`. Raises ValueError, which says what is accepted.
    """
    name, *assignments = (part.strip() for part in text.split(":"))
    return _choice(name, assignments).label


def name_of(cc: str) -> str:
    """The name alone, without what differs from the defaults."""
    return cc.partition(":")[0]


def sysctls(cc: str) -> list[str]:
    """The settings KEY=VALUE that choose it, of a text that `read` has returned."""
    name, *assignments = cc.split(":")
    changed = _choice(name, assignments).changed
    return [
        f"net.ipv4.tcp_congestion_control={name}",
        *(f"net.mptcp.{name}.{each.name}={each.value}" for each in changed),
    ]


def _choice(name: str, assignments: Sequence[str]) -> Choice:
    return Choice(name=name, settings=settings_of(name, known()[name].parameters, assignments))


def find(name: str) -> CongestionControl:
    """The congestion control of that name. Raises InputError, with the known names."""
    if name not in names():
        hint = suggestion(name, names())
        problem = f"unknown congestion control; known is {one_of(names())}{hint}"
        raise InputError([Problem("cc show", "", name, problem)])
    return known()[name]
