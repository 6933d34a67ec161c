# SPDX-License-Identifier: GPL-2.0-only
"""What runs in network namespaces of its own on the host's kernel: a testbed, and bulk data.

`native.py` starts it with a request as JSON: the `commands` that make the testbed, the `flows`,
each with its source and destination and whether it is `mptcp`, the `congestion_control`, and for
how many `seconds` data is sent, of which the first `warmup_s` are not measured. It prints what
happened as JSON, and uses nothing but Python's own library.
"""

from __future__ import annotations

import json
import resource
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_PORT = 5001
_CHUNK_BYTES = 256 << 10
# Longer than any pause of a flow: whoever waits so long waits for what cannot come.
_PATIENCE_S = 20.0
_IPPROTO_MPTCP = 262


def main() -> int:
    part, request = sys.argv[1], json.loads(sys.argv[2])
    print(json.dumps({"testbed": _testbed, "send": _send, "receive": _receive}[part](request)))
    return 0


def _testbed(request: dict[str, Any]) -> dict[str, Any]:
    """Make the testbed, have all flows send at once, and give what their receivers saw."""
    # where ip keeps the names of namespaces: here, a place of our own
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    Path("/run/netns").mkdir()
    for command in request["commands"]:
        done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{command}: {(done.stderr or done.stdout).strip()}")
    before = _arrived_packets()
    started, cpu_s = time.monotonic(), _children_cpu_s()
    receivers = [_end("server", "receive", request | flow) for flow in request["flows"]]
    for receiver in receivers:
        assert receiver.stdout is not None
        receiver.stdout.readline()  # it listens
    senders = [_end("client", "send", request | flow) for flow in request["flows"]]
    said = []
    for end in [*receivers, *senders]:
        text, errors = end.communicate(timeout=request["seconds"] + _PATIENCE_S)
        if end.returncode:
            raise SystemExit(f"an end of a flow failed: {errors.strip()}")
        said.append(json.loads(text))
    return {
        "flows": said[: len(receivers)],
        "wall_s": time.monotonic() - started,
        "cpu_s": _children_cpu_s() - cpu_s,
        "packets": _arrived_packets() - before,
    }


def _end(namespace: str, part: str, request: dict[str, Any]) -> subprocess.Popen[str]:
    command = ["ip", "netns", "exec", namespace, sys.executable, __file__, part]
    return subprocess.Popen(
        [*command, json.dumps(request)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _arrived_packets() -> int:
    """How many packets have come to the devices of the server."""
    command = ["ip", "-n", "server", "-s", "-json", "link"]
    devices = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return sum(each["stats64"]["rx"]["packets"] for each in devices if each["ifname"] != "lo")


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _socket(request: dict[str, Any]) -> socket.socket:
    protocol = _IPPROTO_MPTCP if request["mptcp"] else socket.IPPROTO_TCP
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    made.settimeout(_PATIENCE_S)
    name = request["congestion_control"].encode()
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
    return made


def _send(request: dict[str, Any]) -> dict[str, Any]:
    """Send for as long as is asked for."""
    data = memoryview(bytes(_CHUNK_BYTES))
    with _socket(request) as made:
        made.bind((request["source"], 0))
        made.connect((request["destination"], _PORT))
        ends = time.monotonic() + request["seconds"]
        while time.monotonic() < ends:
            made.sendall(data)
    return {}


def _receive(request: dict[str, Any]) -> dict[str, Any]:
    """Read all there is, and count what comes between the end of the warm-up and of the sending."""
    buffer = bytearray(_CHUNK_BYTES)
    received = 0
    begin: tuple[float, int] | None = None
    end: tuple[float, int] | None = None
    with _socket(request) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # further subflows come to the other addresses, and later: it listens to the end
        listening.bind(("" if request["mptcp"] else request["destination"], _PORT))
        listening.listen(1)
        print("listening", flush=True)
        made, _ = listening.accept()
        made.settimeout(_PATIENCE_S)
        started = time.monotonic()
        while count := made.recv_into(buffer):
            received += count
            now = time.monotonic()
            if begin is None and now - started >= request["warmup_s"]:
                begin = now, received
            if end is None and now - started >= request["seconds"]:
                end = now, received
        made.close()
    last = time.monotonic(), received
    (begin_s, begin_bytes), (end_s, end_bytes) = begin or (started, 0), end or last
    return {
        "bytes": received,
        "goodput_bps": 8 * (end_bytes - begin_bytes) / max(end_s - begin_s, 1e-9),
    }


if __name__ == "__main__":
    raise SystemExit(main())
