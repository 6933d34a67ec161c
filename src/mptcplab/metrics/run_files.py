# SPDX-License-Identifier: GPL-2.0-only
"""The files that a run leaves in its directory: their names, and the samples of its hosts."""

from __future__ import annotations

from pathlib import Path

from mptcplab.metrics import records
from mptcplab.metrics.records import Samples
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.workload import Tunnel

PLAN = "plan.txt"
CONSOLE = "console.txt"
CLIENT_SAMPLES = "client.samples"
SERVER_SAMPLES = "server.samples"
LINKS_SAMPLES = "links.samples"
CLIENT_DECISIONS = "client.decisions"
SERVER_DECISIONS = "server.decisions"
CLIENT_STATES = "client.states"
SERVER_STATES = "server.states"
MESSAGES = "messages.records"
GUEST_OUTCOME = "guest.json"
#: Input and output of programs, in a run that has them instead of traffic.
CLIENT_INPUT = "client.in"
CLIENT_OUTPUT = "client.out"
CLIENT_ERRORS = "client.err"
SERVER_OUTPUT = "server.out"
SERVER_ERRORS = "server.err"


def hosts(scenario: Scenario) -> list[str]:
    """The namespaces of hosts with records: of each connection, and behind tunnels with bulk data
    inside.
    """
    found: list[str] = []
    for pair in scenario.pairs():
        load = pair.connection.workload
        found += pair.client, pair.server
        found += pair.behind if isinstance(load, Tunnel) and load.bulk else ()
    return found


def read_samples(scenario: Scenario, directory: Path) -> dict[str, Samples]:
    """The samples of each host, by the name of its namespace. Raises MptcplabError."""
    return {host: records.read_samples(directory / f"{host}.samples") for host in hosts(scenario)}
