# SPDX-License-Identifier: GPL-2.0-only
"""The same paths on the host's own kernel, in real time, in namespaces that end with the process.

The testbed is made by the very commands of a run's plan (`mptcplab run --plan`); what they change
is in namespaces of their own, and settings of the whole machine are left as they are.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benches.figures import Cost
from benches.lab import sending_s
from mptcplab.errors import RunError
from mptcplab.lab import doctor
from mptcplab.plan import plan
from mptcplab.runs import experiment
from mptcplab.scenario.model import Scenario

# Processes that are left when the first one ends are killed, and namespaces go with them.
_OWN = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child")
_AS_ROOT = ("--user", "--map-root-user")
_PATIENCE_S = 60.0
#: What runs in them: native_program.py.
PROGRAM = Path(__file__).with_name("native_program.py")
_MPTCP = Path("/proc/sys/net/mptcp/enabled")


def why_not(*, shaped: bool) -> str:
    """Why it cannot be measured on this machine, "" if it can.

    `shaped`: with the rates and delays of the links, for which the host's kernel needs netem.
    """
    lacks = [
        name for name in ("unshare", "ip", "tc", "ethtool", "sysctl") if not doctor.find_tool(name)
    ]
    if lacks:
        return f"this machine lacks {', '.join(lacks)}"
    namespaces = _first_that_works()
    if isinstance(namespaces, str):
        return f"no network namespaces of one's own: {namespaces}"
    if shaped:
        tried = _run([*namespaces, "tc", "qdisc", "add", "dev", "lo", "root", "netem"])
        if tried.returncode:
            return f"the host's kernel has no netem: {_said(tried)}"
    return ""


def has_mptcp() -> bool:
    """Whether new namespaces of the host's kernel have Multipath TCP."""
    try:
        return _MPTCP.read_text().strip() == "1"
    except OSError:
        return False


def over_paths(scenario: Scenario, *, shaped: bool, mptcp: bool) -> Cost:
    """Bulk data over the paths of a scenario, each behind its router, in real time.

    Without `mptcp` it is a TCP connection over each path; not `shaped`, without rates and delays,
    it is as fast as it goes. Raises RunError.
    """
    return _measure(request(scenario, shaped=shaped, mptcp=mptcp), real_time=shaped)


def direct(scenario: Scenario, *, mptcp: bool) -> Cost:
    """A single connection over a single link, without routers and without limits."""
    flow = {"source": "10.0.1.1", "destination": "10.0.1.2", "mptcp": mptcp}
    return _measure(_request(_one_link(mptcp=mptcp), [flow], scenario), real_time=False)


def request(scenario: Scenario, *, shaped: bool, mptcp: bool) -> dict[str, Any]:
    """What native_program.py is asked for, to send over the paths of a scenario."""
    # further subflows come about by themselves
    flows = [
        {"source": f"10.0.{i}.1", "destination": f"10.1.{i}.1", "mptcp": mptcp}
        for i in range(1, 2 if mptcp else len(scenario.paths) + 1)
    ]
    return _request(testbed(scenario, shaped=shaped, mptcp=mptcp), flows, scenario)


def testbed(scenario: Scenario, *, shaped: bool, mptcp: bool) -> list[str]:
    """The commands of the plan that make it, without those for the whole machine.

    The congestion control is that of the sockets: a namespace may have none as its default that the
    host does not allow to everybody, but who is root there may choose it for a socket. Without
    `mptcp` nothing is asked for that a kernel without it does not know.
    """
    lines = plan.render_measurements(scenario, []).splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "sysctl "))]
    commands = [re.sub(r" net\.ipv4\.tcp_congestion_control=\S+", "", line) for line in commands]
    if not mptcp:
        commands = [line for line in commands if not re.match(r"ip -n \w+ mptcp ", line)]
        commands = [re.sub(r" net\.mptcp\.\S+", "", line) for line in commands]
    return commands if shaped else [line for line in commands if not line.startswith("tc ")]


def _one_link(*, mptcp: bool) -> Iterable[str]:
    yield "ip netns add client"
    yield "ip netns add server"
    yield "ip link add c1 netns client type veth peer name s1 netns server"
    for host, device, address in (("client", "c1", "10.0.1.1"), ("server", "s1", "10.0.1.2")):
        yield f"ip -n {host} addr add {address}/24 dev {device}"
        yield f"ip -n {host} link set {device} up"
        yield f"ip netns exec {host} ethtool -K {device} tso off gso off gro off"
        if mptcp:
            yield f"ip netns exec {host} sysctl -qw net.mptcp.enabled=1"


def _request(
    commands: Iterable[str], flows: Sequence[dict[str, Any]], scenario: Scenario
) -> dict[str, Any]:
    seconds, warmup_s = sending_s(scenario)
    return {
        "commands": list(commands),
        "flows": flows,
        "congestion_control": scenario.cc,
        "seconds": seconds,
        "warmup_s": warmup_s,
    }


def _measure(request: dict[str, Any], *, real_time: bool) -> Cost:
    seconds = request["seconds"]
    namespaces = _first_that_works()
    if isinstance(namespaces, str):
        raise RunError(namespaces)
    with experiment.own_cpu() as cpu:
        # one CPU for all, as a run of the lab has
        command = ["taskset", "--cpu-list", str(cpu), *namespaces, sys.executable, str(PROGRAM)]
        done = _run([*command, "testbed", json.dumps(request)], _PATIENCE_S + seconds)
    if done.returncode:
        raise RunError(f"on the host's own kernel: {_said(done)}")
    found = json.loads(done.stdout)
    return Cost(
        seconds=seconds if real_time else None,
        packets=found["packets"],
        wall_s=found["wall_s"],
        cpu_s=found["cpu_s"],
        goodput_bps=sum(flow["goodput_bps"] for flow in found["flows"]),
    )


def _first_that_works() -> list[str] | str:
    """How to get namespaces here, or why they cannot be had."""
    for way in ([_OWN[0], *_AS_ROOT, *_OWN[1:]], list(_OWN)):
        tried = _run([*way, "mount", "-t", "tmpfs", "none", "/run"])
        if not tried.returncode:
            return way
        reason = _said(tried)
    return reason


def _run(command: Sequence[str], seconds: float = _PATIENCE_S) -> subprocess.CompletedProcess[str]:
    """Run a command, which takes so many seconds at most; what it says is caught."""
    # where Debian keeps tc, which users' PATH lacks
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env={**os.environ, "PATH": path},
        )
    except subprocess.TimeoutExpired:
        reason = f"it took more than {seconds:g} s"
        return subprocess.CompletedProcess(command, 1, "", reason)


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """The last line of what a command that failed said."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1].strip() if lines else f"status {done.returncode}"
