# SPDX-License-Identifier: GPL-2.0-only
"""Plain TCP over the same links in ns-3, from its Python package: a flow over each path."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from benches.figures import Cost
from benches.lab import sending_s
from mptcplab.errors import RunError
from mptcplab.runs import experiment
from mptcplab.scenario.limits import PACKET_BYTES
from mptcplab.scenario.model import Path as ScenarioPath
from mptcplab.scenario.model import Scenario

_CONGESTION_CONTROLS = {"cubic": "TcpCubic", "reno": "TcpNewReno"}
# Up to where Linux grows its buffers, in the lab as on machines with much memory.
_SEND_BUFFER_BYTES, _RECEIVE_BUFFER_BYTES = 4 << 20, 6 << 20


def why_not() -> str:
    """Why it cannot be measured in this Python environment, "" if it can."""
    if importlib.util.find_spec("ns") is None:
        return "this Python environment lacks ns-3, which requirements-bench.lock has"
    return ""


def links(scenario: Scenario) -> list[dict[str, int]]:
    """The links of its paths, as simulated_program.py takes them."""
    return [_link(path) for path in scenario.paths]


def _link(path: ScenarioPath) -> dict[str, int]:
    """netem's limit counts packets that wait and those on their way, a queue of ns-3 the former."""
    up = path.up
    assert up.queue_packets, "the bench has no queues in bytes"
    on_their_way = up.rate_bps * up.delay_ns // (8 * PACKET_BYTES * 10**9)
    return {
        "rate_bps": up.rate_bps,
        "delay_ns": up.delay_ns,
        "queue_packets": max(up.queue_packets - on_their_way, 1),
    }


class Simulator:
    """A process of ns-3, which starts once; `start_cpu_s` says what that took."""

    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile(mode="w+", encoding="utf-8")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("simulated_program.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.start_cpu_s = float(self._answer()["cpu_s"])

    def __enter__(self) -> Simulator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def run(self, scenario: Scenario) -> Cost:
        """One simulation; its cost is that of the simulator's loop alone. Raises RunError."""
        seconds, warmup_s = sending_s(scenario)
        request = {
            "congestion_control": _CONGESTION_CONTROLS[scenario.cc],
            "send_buffer_bytes": _SEND_BUFFER_BYTES,
            "receive_buffer_bytes": _RECEIVE_BUFFER_BYTES,
            "links": links(scenario),
            "seconds": seconds,
            "warmup_s": warmup_s,
        }
        with experiment.own_cpu() as cpu:
            os.sched_setaffinity(self._process.pid, {cpu})
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return Cost(seconds=seconds, **self._answer())

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            said = self._errors.read().strip().splitlines() or ["it ended without a word"]
            raise RunError(f"ns-3: {said[-1]}")
        return dict(json.loads(line))
