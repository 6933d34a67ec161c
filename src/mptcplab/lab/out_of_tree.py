# SPDX-License-Identifier: GPL-2.0-only
"""The out-of-tree implementation of MPTCP, v0.95: its names, and its plan.

It has no `ip mptcp`: its path manager `fullmesh` opens a subflow from each address of the client to
each of the server, and routes of the plan lead to one of these per path, also for programs. Each
TCP socket is MPTCP. Its sysctls hold for all networks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_address

from mptcplab.plan import plan, testbed
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

# Of the lines with settings, what it lacks: upstream's sysctls, and devices that take several
# packets of UDP as one.
_SETTINGS = re.compile(r"(ip netns exec \S+ )?(sysctl|ethtool) ")
_LACKING = re.compile(r" net\.mptcp\.\S+| tx-udp-segmentation off")
_MESH = re.compile("# from each address of the client to each of the server.*?\n\n", re.DOTALL)
_MPTCP = re.compile(
    r"(at \S+ |)ip -n (\S+) mptcp (?:limits|endpoint (add|change|delete) (?:id )?(\S+) ?(\S*))"
)
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
    text = plan.render(scenario)
    if scenario.endpoints == "signal":
        # of programs: there, the routes decide how many subflows a connection has
        text = _MESH.sub("", text, count=1)
    lines = [_line(scenario, line) for line in text.splitlines(keepends=True)]
    return "".join(lines).replace(_PARAMETERS, f"{_PARAMETERS}sysctl -qw {settings}\n")


def _line(scenario: Scenario, line: str) -> str:
    """A line of the lab's plan as it is there; "" if it has nothing of the kind.

    It has no endpoints, so what happens to one later happens to its device.
    """
    if _SETTINGS.match(line):
        return _LACKING.sub("", line)
    if not (found := _MPTCP.match(line)):
        return line
    at, host, verb, what, flag = found.groups()
    if verb is None or (verb == "add" and not at):
        return ""
    how = {"delete": "off", "change": "backup" if flag == "backup" else "on", "add": "on"}[verb]
    return f"{at}ip -n {host} link set {_device(scenario, host, what)} multipath {how}\n"


def _device(scenario: Scenario, host: str, what: str) -> str:
    """The device of an endpoint of a host, by its address or its id."""
    (pair,) = (each for each in scenario.pairs() if host in (each.client, each.server))
    if what == "0":
        return testbed.server(pair.first, host).device  # of the first path, which is not announced
    # of an address of either version, the byte before the last
    i = pair.first - 1 + int(what) if what.isdigit() else int(ip_address(what)) >> 8 & 255
    return (testbed.client if host == pair.client else testbed.server)(i).device
