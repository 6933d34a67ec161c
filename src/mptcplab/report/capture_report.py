# SPDX-License-Identifier: GPL-2.0-only
"""Shows what `analyze` found: a table, a JSON document, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from mptcplab import resources
from mptcplab.capture import udp
from mptcplab.capture.analyze import (
    DIRECTIONS,
    Analysis,
    Connection,
    ConnectionDirection,
    Series,
    Subflow,
)
from mptcplab.capture.dissect import Array
from mptcplab.capture.udp import UdpFlow, UdpPort
from mptcplab.metrics.definitions import UdpFigures
from mptcplab.report.catalogue_tables import add_numbers, ruled
from mptcplab.report.draw import DOTS_PER_INCH, WIDTH, drawing, drawn
from mptcplab.report.palette import PATH_COLOURS, TOTAL_COLOUR
from mptcplab.report.tables import number, udp_notes, udp_table
from mptcplab.runs import store

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The files in the directory that --out names.
DOCUMENT, PICTURE = "analysis.json", "analysis.png"

_MBIT, _KIB, _NS_PER_MS = 1e6, 1024.0, 1e6
_BINS = 200
_SHORTEST_BIN_S = 0.02
_LEGEND_COLUMNS = 3
_PANEL_HEIGHT, _FRAME_HEIGHT = 2.1, 0.9  # inches
# With more connections a picture of all would be too long to look at: the largest are shown.
_MAX_CONNECTIONS = 4
# A capture of a whole host has thousands of flows, such as DNS.
_MAX_PORTS, _MAX_FLOWS = 4, 8
_MAX_WARNINGS = 20
_LONGEST_STEPS = 4000  # points of the curve of a queue: at least one per dot


def document(analysis: Analysis) -> dict[str, Any]:
    """All figures, without the series."""
    found = _plain(analysis)
    assert isinstance(found, dict)
    return found


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {
            each.name: _plain(getattr(value, each.name))
            for each in fields(value)
            if each.name != "series"
        }
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, UdpFigures):
        return value.model_dump(mode="json", exclude={"path"})
    return value


def write(analysis: Analysis, out: Path) -> list[Path]:
    """Write document and picture into `out`; returns the files. Raises MptcplabError."""
    store.make_directory(out)
    store.write_json(out / DOCUMENT, document(analysis))
    files = [out / DOCUMENT]
    if _with_data(analysis) or _udp_with_data(analysis):
        _draw(analysis, out / PICTURE)
        files.append(out / PICTURE)
    return files


def tables(analysis: Analysis) -> Group:
    """Connections with their subflows, and flows of UDP, for a terminal of 80 columns; warnings
    below.
    """
    shown: list[Any] = []
    for connection in analysis.connections:
        shown += [*_connection(connection), ""]
    ports = _largest_ports(analysis)
    for port in ports:
        shown += [*_port(port), ""]
    if len(ports) < len(analysis.udp):
        shown += [Text(f"UDP to {len(analysis.udp) - len(ports)} more ports: see --json"), ""]
    shown += [Text(note) for note in _notes(analysis)]
    return Group(*shown)


def _connection(connection: Connection) -> list[Any]:
    known = f"token {connection.token_server}" if connection.token_server else "token unknown"
    what = [known]
    if connection.version is not None:
        what.append(f"MPTCP version {connection.version}")
    if connection.fallback:
        what.append("fell back to TCP")
    if not connection.complete and not connection.fallback:
        what.append("the captures lack its beginning")
    shown: list[Any] = [Text(f"Connection {connection.number}: {', '.join(what)}", style="bold")]
    for subflow in connection.subflows:
        shown.append(Text(_subflow_line(subflow)))
    for way, direction in enumerate(connection.directions):
        if direction.data_packets or any(s.ways[way].data_packets for s in connection.subflows):
            shown += ["", _way_table(connection, way), *_direction_lines(direction)]
    return shown


def _subflow_line(subflow: Subflow) -> str:
    options = [
        f"{name} {sum(way.options.get(name, 0) for way in subflow.ways)}"
        for name in sorted({name for way in subflow.ways for name in way.options})
    ]
    rtt = subflow.handshake_rtt_ms
    facts = [
        subflow.began_with + (", backup" if subflow.backup else ""),
        f"handshake {rtt:.1f} ms" if rtt is not None else "",
        f"{subflow.began_s:.3f} s to {subflow.ended_s:.3f} s",
        f"closed by {subflow.closed_by}" if subflow.closed_by else "",
    ]
    below = ["; ".join(filter(None, facts)), *([", ".join(options)] if options else [])]
    below += [f"seen at {place}" for place in subflow.seen_at]
    return "\n    ".join([f" {subflow.number}: {subflow.client} - {subflow.server}", *below])


def _way_table(connection: Connection, way: int) -> Table:
    table = ruled()
    table.add_column(f"Subflow,\n{DIRECTIONS[way].replace(' to ', chr(10) + 'to ')}")
    add_numbers(
        table,
        *("Goodput\n\nMbit/s", "Data\n\npackets", "Retrans-\nmitted\npackets"),
        *("Rein-\njected\npackets", "Lost\n\npackets", "RTT\nmedian\nms", "RTT\np95\nms"),
    )
    for subflow in connection.subflows:
        figures = subflow.ways[way]
        table.add_row(
            str(subflow.number),
            number(figures.goodput_bps, _MBIT, 2),
            str(figures.data_packets),
            str(figures.retransmitted_packets),
            str(figures.reinjected_packets),
            "-" if figures.lost_packets is None else str(figures.lost_packets),
            number(figures.rtt.median_ms, 1, 1),
            number(figures.rtt.p95_ms, 1, 1),
        )
    goodput = connection.directions[way].goodput_bps
    table.add_row("all", number(goodput, _MBIT, 2), *[""] * 6)
    return table


def _direction_lines(direction: ConnectionDirection) -> list[Text]:
    lines = [
        f"{direction.delivered_bytes} bytes in order, {direction.first_s:.3f} s to "
        f"{direction.last_s:.3f} s"
        if direction.first_s is not None
        else "nothing arrived",
        f"reinjected {direction.reinjected_bytes} bytes, arrived on several subflows "
        f"{direction.duplicate_bytes} bytes",
    ]
    if direction.reordered_packets:
        share = 100 * (direction.reordered_share or 0)
        lines.append(
            f"reordered in the connection: {share:.1f} % of {direction.data_packets} packets; "
            f"behind by\n  {number(direction.reordering_behind_bytes_mean, _KIB, 1)} KiB "
            f"(p95 {number(direction.reordering_behind_bytes_p95, _KIB, 1)}), extent "
            f"{number(direction.reordering_extent_packets_mean, 1, 1)} packets "
            f"(p95 {number(direction.reordering_extent_packets_p95, 1, 0)})"
        )
    elif direction.data_packets:
        lines.append(f"reordered in the connection: none of {direction.data_packets} packets")
    if direction.ofo_bytes_mean is not None:
        lines.append(
            f"out-of-order queue: mean {number(direction.ofo_bytes_mean, _KIB, 1)} KiB, "
            f"p99 {number(direction.ofo_bytes_p99, _KIB, 1)} KiB, as seen at\n"
            f"  {direction.ofo_seen_at}"
        )
    return [Text(line) for line in lines]


def _port(port: UdpPort) -> list[Any]:
    shown: list[Any] = [Text(f"UDP to port {port.port}", style="bold")]
    mine = _largest_flows(port)
    for flow in mine:
        ends = flow.ways[0]
        shown.append(Text(f" {flow.number}: {ends.client} - {ends.server}"))
        shown.append(Text(f"    seen in {', '.join(flow.seen_in)}"))
    if len(mine) < len(port.flows):
        shown.append(Text(f" {len(port.flows) - len(mine)} smaller flows: see --json"))
    rows = [
        (f"{flow.number} {flow.ways[way].direction}", flow.ways[way])
        for way in range(len(DIRECTIONS))
        for flow in mine
        if flow.ways[way].packets
    ]
    return [*shown, "", udp_table("Flow,\ndirection", rows), *map(Text, udp_notes(rows))]


def _largest_ports(analysis: Analysis) -> list[UdpPort]:
    return udp.largest(analysis.udp, _MAX_PORTS, lambda port: port.payload_bytes)


def _largest_flows(port: UdpPort) -> list[UdpFlow]:
    return udp.largest(port.flows, _MAX_FLOWS, lambda flow: flow.payload_bytes)


def _notes(analysis: Analysis) -> list[str]:
    span = analysis.ended_s - analysis.began_s
    files = "1 file" if len(analysis.files) == 1 else f"{len(analysis.files)} files"
    warnings = [f"Warning: {warning}" for warning in analysis.warnings[:_MAX_WARNINGS]]
    if len(analysis.warnings) > _MAX_WARNINGS:
        warnings.append(f"{len(analysis.warnings) - _MAX_WARNINGS} more warnings: see --json")
    counted = [
        f"{count} {name} packets"
        for count, name in ((analysis.packets, "TCP"), (analysis.udp_packets, "UDP"))
        if count
    ]
    return [
        f"{' and '.join(counted)} in {files}, {span:.3f} s. Times count from the first one.",
        "Lost packets need captures at both ends.",
        *filter(None, [resources.page("analyze.md", "defines every figure")]),
        *warnings,
    ]


def _with_data(analysis: Analysis) -> list[tuple[Connection, int]]:
    """The connections and directions that carried most data, in their order."""
    found = [
        (connection, way)
        for connection in analysis.connections
        for way, direction in enumerate(connection.directions)
        if direction.arrived_bytes and (direction.last_s or 0) > (direction.first_s or 0)
    ]
    found.sort(key=lambda each: -each[0].directions[each[1]].arrived_bytes)
    largest = found[:_MAX_CONNECTIONS]
    return sorted(largest, key=lambda each: (each[0].number, each[1]))


def _udp_with_data(analysis: Analysis) -> list[tuple[UdpPort, int]]:
    """Which directions to which ports had several packets arrive, at different times."""
    return [
        (port, way)
        for port in _largest_ports(analysis)
        for way in range(len(DIRECTIONS))
        if any(flow.ways[way].payload_bps for flow in port.flows)
    ]


def _draw(analysis: Analysis, file: Path) -> None:
    """Goodput of each subflow over time, and below it the out-of-order queue; of UDP the payload
    of each flow, and below it the one-way delay.
    """
    shown, of_udp = _with_data(analysis), _udp_with_data(analysis)
    with drawing():
        from matplotlib.figure import Figure

        count = 2 * (len(shown) + len(of_udp))
        height = _FRAME_HEIGHT + _PANEL_HEIGHT * count
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        for index, (connection, way) in enumerate(shown):
            series = connection.series[way]
            title = f"connection {connection.number}, {DIRECTIONS[way]}"
            names = [
                f"{each.number}: {each.client} - {each.server}" for each in connection.subflows
            ]
            arrivals = [*zip(names, series.arrivals, strict=True)]
            _draw_rates(panels[2 * index], analysis, arrivals, title, "goodput (Mbit/s)")
            _draw_queue(panels[2 * index + 1], analysis, series, connection.directions[way])
        for index, (port, way) in enumerate(of_udp, len(shown)):
            flows = [each for each in _largest_flows(port) if len(each.series[way].arrived_ns)]
            of_flows = [
                (
                    f"{flow.number}: {flow.ways[way].client} - {flow.ways[way].server}",
                    (flow.series[way].arrived_ns, flow.series[way].arrived_bytes),
                )
                for flow in flows
            ]
            title = f"UDP to port {port.port}, {DIRECTIONS[way]}"
            _draw_rates(panels[2 * index], analysis, of_flows, title, "payload (Mbit/s)")
            _draw_delays(panels[2 * index + 1], analysis, flows, way)
        panels[-1].set_xlabel("time in the captures (s)")
        store.write(file, drawn(figure, "png", DOTS_PER_INCH))


def _draw_rates(
    axis: Axes,
    analysis: Analysis,
    arrivals: Sequence[tuple[str, tuple[Array, Array]]],
    title: str,
    of: str,
) -> None:
    """What arrived per second, of each subflow or flow by its name: `of` says what."""
    span = analysis.ended_s - analysis.began_s
    bin_s = max(span / _BINS, _SHORTEST_BIN_S)
    edges = np.arange(0, span + bin_s, bin_s)
    total = np.zeros(len(edges) - 1)
    curves = []
    for name, (time_ns, new_bytes) in arrivals:
        at = time_ns / 1e9 - analysis.began_s
        carried, _ = np.histogram(at, bins=edges, weights=new_bytes)
        rate = 8 * carried / bin_s / _MBIT
        total += rate
        curves.append((name, rate))
    middle = (edges[:-1] + edges[1:]) / 2
    if len(curves) > 1:
        axis.plot(middle, total, color=TOTAL_COLOUR, linewidth=1.0, label="all")
    for index, (name, rate) in enumerate(curves):
        colour = PATH_COLOURS[index % len(PATH_COLOURS)]
        axis.plot(middle, rate, color=colour, linewidth=1.2, label=name)
    _frame(axis, of)
    axis.set_xlim(0, span)
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)
    # above the panel: inside it would hide a curve
    axis.legend(
        title=title,
        alignment="left",
        fontsize=7,
        ncols=_LEGEND_COLUMNS,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        frameon=False,
    )


def _draw_delays(axis: Axes, analysis: Analysis, flows: Sequence[UdpFlow], way: int) -> None:
    for index, flow in enumerate(flows):
        times, delays = _thinned(flow.series[way].sent_ns, flow.series[way].delay_ns)
        colour = PATH_COLOURS[index % len(PATH_COLOURS)]
        at = times / 1e9 - analysis.began_s
        axis.plot(at, delays / _NS_PER_MS, color=colour, linewidth=0.8)
    _frame(axis, "one-way delay (ms)")
    # below 0 where clocks do not agree: the changes are right all the same
    lowest = min((way.delay_ms_min or 0 for way in (each.ways[way] for each in flows)), default=0)
    axis.set_ylim(bottom=min(lowest, 0))
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)


def _frame(axis: Axes, what: str) -> None:
    """Label a panel, begin it at 0, and leave out the lines above and on the right."""
    axis.set_ylabel(what)
    axis.set_ylim(bottom=0)
    axis.spines[["top", "right"]].set_visible(False)


def _draw_queue(
    axis: Axes, analysis: Analysis, series: Series, direction: ConnectionDirection
) -> None:
    times, lengths = _thinned(series.queue_ns, series.queue_bytes)
    at = np.concatenate([[0.0], times / 1e9 - analysis.began_s])
    axis.fill_between(
        at,
        np.concatenate([[0.0], lengths / _KIB]),
        step="post",
        color=TOTAL_COLOUR,
        alpha=0.35,
        linewidth=0,
    )
    if direction.ofo_bytes_mean is not None:
        mean = direction.ofo_bytes_mean / _KIB
        axis.axhline(mean, color=PATH_COLOURS[1], linewidth=1.0, linestyle="--")
        axis.set_title(f"mean {mean:.1f} KiB, as seen at {direction.ofo_seen_at}", fontsize=8)
    _frame(axis, "out of order (KiB)")


def _thinned(times: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any]) -> Sequence[Any]:
    """The highest and the lowest step of each piece, if there are many: what a picture can show."""
    if len(times) <= _LONGEST_STEPS:
        return times, lengths
    piece = -(-2 * len(times) // _LONGEST_STEPS)
    starts = np.arange(0, len(times), piece)
    high = np.maximum.reduceat(lengths, starts)
    low = np.minimum.reduceat(lengths, starts)
    ends = np.append(times[starts[1:]], times[-1])
    middle = (times[starts] + ends) // 2
    order = np.argsort(np.concatenate([times[starts], middle]), kind="stable")
    return (np.concatenate([times[starts], middle])[order], np.concatenate([high, low])[order])
