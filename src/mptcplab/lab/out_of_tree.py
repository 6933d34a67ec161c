# SPDX-License-Identifier: GPL-2.0-only
"""The out-of-tree implementation of MPTCP, v0.95: its names, and its plan.

It has no `ip mptcp`: its path manager `fullmesh` opens a subflow from each address of the client to
each of the server, and routes of the plan lead to one of these per path. Each TCP socket is MPTCP.
Its sysctls hold for all networks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mptcplab.plan import plan
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.scheduler import Choice

#: Its modules of the lab's schedulers. Its `default` is what the lab calls minrtt.
SCHEDULERS: Mapping[str, str] = {
    "minrtt": "default",
    "blest": "blest",
    "ecf": "ecf",
    "roundrobin": "roundrobin",
    "redundant": "redundant",
}
# The lab's names of schedulers that patches of the user's add, where their own is another.
_LAB_NAMES: Mapping[str, str] = {"ol": "ols"}
#: Parameters of the lab's schedulers that mean the same there, and the sysctl of each.
PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "minrtt": {"rp": "net.mptcp.mptcp_rp", "v089": "net.mptcp.mptcp_v089"}
}
CCS = ("cubic", "reno", "bbr", "vegas", "lia", "olia", "wvegas", "balia")

_UPSTREAMS = re.compile(r" net\.mptcp\.\S+")
_PARAMETERS = "# kernel parameters\n"


def schedulers(brought: Sequence[str]) -> dict[str, str]:
    """As SCHEDULERS, with those that patches add (`KernelBuild.brought`)."""
    return {**SCHEDULERS, **{_LAB_NAMES.get(name, name): name for name in brought}}


def runs(choice: Choice, brought: Sequence[str] = ()) -> bool:
    """Whether it has a scheduler, with these settings."""
    there = PARAMETERS.get(choice.name, {})
    settings = all(each.name in there for each in choice.changed)
    return choice.name in schedulers(brought) and settings and choice.digest is None


def plan_text(scenario: Scenario, brought: Sequence[str] = ()) -> str:
    """The plan of a run with it: as the lab's, but for the commands of MPTCP.

    All connections have the same scheduler, or all are of plain TCP.
    """
    modules = schedulers(brought)
    settings = "net.mptcp.mptcp_enabled=0"
    for choice in scenario.choices():
        parameters = PARAMETERS.get(choice.name, {})
        changed = [f" {parameters[each.name]}={each.value}" for each in choice.changed]
        settings = (
            "net.mptcp.mptcp_enabled=1 net.mptcp.mptcp_path_manager=fullmesh"
            f" net.mptcp.mptcp_scheduler={modules[choice.name]}{''.join(changed)}"
            " net.mptcp.mptcp_checksum=0"
        )
    lines = [
        _UPSTREAMS.sub("", line)
        for line in plan.render(scenario).splitlines(keepends=True)
        if not re.match(r"ip -n \S+ mptcp ", line)
    ]
    return "".join(lines).replace(_PARAMETERS, f"{_PARAMETERS}sysctl -qw {settings}\n")
