# SPDX-License-Identifier: GPL-2.0-only
"""An agent for `mptcplab run --scheduler agent --agent examples/agent.py`: docs/agent.md.

It sends on the subflow with the lowest round-trip time. If that one is full, it uses a slower one
only for data that would otherwise wait longer than the slower one takes.
"""

from mptcplab import agent


def decide(question: agent.Question) -> agent.Answer:
    free = question.available
    subflows = question.subflows
    usable = subflows[subflows["flags"] & agent.SubflowFlag.USABLE != 0]
    fast = usable[usable["srtt_us"].argmin()]
    best = free[free["srtt_us"].argmin()]
    # what the fast one sends in a round trip, against what is there to be sent
    rounds = question.connection["unsent_bytes"] / (fast["cwnd_pkts"] * fast["mss_bytes"])
    if (1 + rounds) * fast["srtt_us"] < best["srtt_us"]:
        return agent.WAIT
    return agent.send(int(best["id"]))
