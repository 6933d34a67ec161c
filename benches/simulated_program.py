# SPDX-License-Identifier: GPL-2.0-only
"""Plain TCP over links of ns-3, in a process that makes one simulation after another.

`simulated.py` asks for them: each line of the input is a request as JSON, each line of the output
what came of it. Starting ns-3 from Python takes long, since its headers are compiled each time; so
it is done once. What is timed is the simulator's own loop, in which no Python takes part.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

# More than any link, without a delay, and with room for all: what is between the client and the
# router of a path holds nothing up, as in the lab.
_UNSHAPED = {"rate_bps": 100_000_000_000, "delay_ns": 0, "queue_packets": 100_000}
_PORT = 5001
# Of 1500 bytes, 20 are IP, 20 TCP and 12 its timestamps.
_SEGMENT_BYTES = 1448


def main() -> int:
    from ns import ns

    print(json.dumps({"cpu_s": time.process_time()}), flush=True)
    for line in sys.stdin:
        print(json.dumps(_simulate(ns, json.loads(line))), flush=True)
    return 0


def _simulate(ns: Any, request: dict[str, Any]) -> dict[str, Any]:
    """One flow per link, from the start to the end, as fast as the congestion control lets it."""
    for name, value in (
        ("TcpL4Protocol::SocketType", ns.StringValue(f"ns3::{request['congestion_control']}")),
        ("TcpSocket::SegmentSize", ns.UintegerValue(_SEGMENT_BYTES)),
        ("TcpSocket::SndBufSize", ns.UintegerValue(request["send_buffer_bytes"])),
        ("TcpSocket::RcvBufSize", ns.UintegerValue(request["receive_buffer_bytes"])),
    ):
        ns.Config.SetDefault(f"ns3::{name}", value)
    kept: list[Any] = []  # C++ objects live as long as Python knows them
    sinks = [_flow(ns, i, link, kept) for i, link in enumerate(request["links"], 1)]
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    seconds, warmup_s = request["seconds"], request["warmup_s"]

    def run_until(at_s: float) -> None:
        ns.Simulator.Stop(ns.Seconds(at_s) - ns.Simulator.Now())
        ns.Simulator.Run()

    wall_s, cpu_s = time.monotonic(), time.process_time()
    run_until(warmup_s)
    received_at_warmup = [sink.GetTotalRx() for sink in sinks]
    run_until(seconds)
    wall_s, cpu_s = time.monotonic() - wall_s, time.process_time() - cpu_s
    received = [sink.GetTotalRx() for sink in sinks]
    events = ns.Simulator.GetEventCount()
    ns.Simulator.Destroy()
    measured = sum(received) - sum(received_at_warmup)
    return {
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "events": events,
        "packets": sum(received) // _SEGMENT_BYTES,
        "goodput_bps": 8 * measured / (seconds - warmup_s),
    }


def _flow(ns: Any, i: int, link: dict[str, int], kept: list[Any]) -> Any:
    """Client, router and server of a path, bulk data between them; gives what receives it."""
    nodes = ns.NodeContainer()
    nodes.Create(3)
    ns.InternetStackHelper().Install(nodes)
    near = _devices(ns, _UNSHAPED, nodes.Get(0), nodes.Get(1))
    far = _devices(ns, link, nodes.Get(1), nodes.Get(2))
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address(f"10.0.{i}.0"), ns.Ipv4Mask("255.255.255.0"))
    addresses.Assign(near)
    addresses.SetBase(ns.Ipv4Address(f"10.1.{i}.0"), ns.Ipv4Mask("255.255.255.0"))
    server = addresses.Assign(far).GetAddress(1)
    # the queue is that of the device, and nothing else holds packets
    for devices in (near, far):
        ns.TrafficControlHelper().Uninstall(devices)
    destination = ns.InetSocketAddress(server, _PORT).ConvertTo()
    source = ns.BulkSendHelper("ns3::TcpSocketFactory", destination)
    # what costs it least; the default of 512 bytes makes three pieces of each segment
    source.SetAttribute("SendSize", ns.UintegerValue(_SEGMENT_BYTES))
    sink = ns.PacketSinkHelper("ns3::TcpSocketFactory", destination)
    senders, receivers = source.Install(nodes.Get(0)), sink.Install(nodes.Get(2))
    for applications in (senders, receivers):
        applications.Start(ns.Seconds(0))
    kept += [nodes, senders, receivers]
    return receivers.Get(0).GetObject[ns.PacketSink]()


def _devices(ns: Any, link: dict[str, int], one: Any, other: Any) -> Any:
    helper = ns.PointToPointHelper()
    helper.SetDeviceAttribute("DataRate", ns.StringValue(f"{link['rate_bps']}bps"))
    helper.SetChannelAttribute("Delay", ns.StringValue(f"{link['delay_ns']}ns"))
    limit = ns.StringValue(f"{link['queue_packets']}p")
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", limit)
    return helper.Install(one, other)


if __name__ == "__main__":
    raise SystemExit(main())
