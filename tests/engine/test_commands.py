# SPDX-License-Identifier: GPL-2.0-only
"""The guest carries out the plan's `ip` and `tc` lines itself: the tools do the same with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mptcplab.lab import engine
from mptcplab.lab.engine import Rig
from mptcplab.metrics import run_files
from mptcplab.plan import plan, testbed
from mptcplab.runs.program import find
from mptcplab.scenario.workload import Program
from tests.vocabulary import scenario_of

# A namespace, without the numbers that tell it, its devices and its qdiscs from others, without the
# order of hash tables, and without netem's seed: the guest sets it, the kernel draws it for the
# tools, and tools newer than Debian 12's print it.
SHOW = r"""
show() {
    for ns in $(ls /run/netns | sort); do
        echo "== $ns"
        ip -n $ns -d link show | sed -E 's/ link-netns(id)? \S+//; s/^[0-9]+: //; s/@if[0-9]+//'
        ip -n $ns -4 addr show | grep inet
        ip -n $ns -6 addr show | grep inet
        ip -n $ns neigh show nud permanent | sort
        ip -n $ns rule show
        ip -n $ns -6 rule show
        ip -n $ns -4 -d route show table all
        ip -n $ns -6 -d route show table all | sort
        ip -n $ns mptcp limits show
        ip -n $ns mptcp endpoint show
        tc -n $ns -d qdisc show |
            sed -E 's/qdisc (\S+) 8[0-9a-f]{3}:/qdisc \1 N:/g; s/ seed [0-9]+//'
    done
}
"""
# The first of two namespaces of a name stays as long as this program runs in it; the plan's
# namespaces are as a new boot has them, but for the kernel's settings.
AGAIN = r"""
show > guest
for ns in $(ls /run/netns); do ip netns delete $ns; done
while read -r line; do eval "$line" || echo "FAILED $line"; done < lines
sleep 2     # until the kernel has noticed that all devices are up
show > tools
diff guest tools && echo same $(grep -c == tools) $(wc -l < tools)
cat guest
"""


def tool_lines(text: str) -> list[str]:
    """What of a plan the tools can do."""
    lines = text.splitlines()
    assert not any(line.startswith("at ") for line in lines)
    ours = r"ip netns exec (?!\w+ sysctl .*ipv6)"
    return [x for x in lines if re.match(r"(ip|tc) ", x) and not re.match(ours, x)]


@pytest.mark.parametrize(
    "paths",
    [
        pytest.param(("a:50mbit,10ms", "b:20mbit,40ms,loss=0.1%"), id="netem"),
        pytest.param(
            (
                "a:1.5mbit,10.0005ms,jitter=3ms,loss=1%,loss_correlation=25%",
                "b:40gbit,40ms,loss=2%,loss_burst=5,duplicate=0.3%",
                "c:256kbit,333us,loss=2%,loss_burst=3,loss_good=0.1%,loss_bad=70%",
                "d:7mbit,20ms,reorder=2%,reorder_by=7ms",
            ),
            id="impairments",
        ),
        pytest.param(("a:50mbit,10ms,ip=6", "b:20mbit,40ms,ip=both", "c:9mbit,5ms"), id="IPv6"),
        pytest.param(
            (
                "a:50mbit,10ms,queue=200,queue_discipline=droptail",
                "b:50mbit,10ms,queue=100KB,queue_discipline=droptail",
                "c:40gbit,10ms,queue=1000,queue_discipline=codel",
                "d:50mbit,10ms,queue=1000,queue_discipline=fq_codel",
                "e:50mbit,10ms,queue=1000,queue_discipline=pie",
                "f:50mbit,10ms,queue=80,queue_discipline=red",
                "g:1gbit,10ms,queue=2000,queue_discipline=red",
                "h:3mbit,10ms,queue=30,queue_discipline=droptail,bottleneck=host",
            ),
            id="queues",
        ),
    ],
)
def test_tools_leave_namespaces_as_the_guest_does(
    rig: Rig, tmp_path: Path, paths: tuple[str, ...]
) -> None:
    said = compared(rig, tmp_path, paths)
    # client, server and a router for each path
    assert said.startswith(f"same {2 + len(paths)} "), said


def test_so_they_do_with_what_no_scenario_has_words_for(rig: Rig, tmp_path: Path) -> None:
    commands = (
        "ip -n client link set c1 mtu 576",
        "ip -n server link set s1 down",
        "ip -n client link set c2 down",
        "ip -n client link set c2 up",
        plan.neighbour(testbed.client(2), testbed.router_to_client(2), "4"),
        "ip -n client route add default via 10.0.2.254 dev c2 table 2",
        "ip -n client route add 10.1.2.0/24 via 10.0.2.254 dev c2",
        "ip -n server mptcp endpoint flush",
        "ip -n server mptcp endpoint add 10.1.2.1 dev s2 signal",
        "tc -n client qdisc add dev c1 root netem limit 100 corrupt 0.5%",
        "tc -n server qdisc add dev s2 root netem limit 100 corrupt 0.5%",
        "tc -n server qdisc change dev s2 root netem limit 100",
    )
    said = compared(rig, tmp_path, ("a:5mbit,1ms", "b:5mbit,1ms"), commands)
    assert said.startswith("same 4 "), said
    shown = (tmp_path / "shown").read_text()
    for text in ("c1: .* mtu 576", "s1: .*state DOWN", "corrupt 0.5%"):
        assert re.search(text, shown), shown


def compared(rig: Rig, place: Path, paths: tuple[str, ...], commands: tuple[str, ...] = ()) -> str:
    """What the comparison said; what the guest has left is then in the file `shown`."""
    limit_ns = 60_000_000_000
    program = Program(
        client=find(["bash"]), directory=str(place), time_limit_ns=limit_ns, input="file"
    )
    scenario = scenario_of(*paths, program=program)
    text = plan.render(scenario, commands=commands)
    (place / "lines").write_text("\n".join(tool_lines(text)) + "\n")
    directory = place / "run"
    directory.mkdir()
    (directory / run_files.CLIENT_INPUT).write_text(SHOW + AGAIN)
    engine.run(scenario, text, rig, directory)
    said = (directory / run_files.CLIENT_OUTPUT).read_text()
    (place / "shown").write_text(said[said.index("\n") + 1 :])
    return said
