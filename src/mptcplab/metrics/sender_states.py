# SPDX-License-Identifier: GPL-2.0-only
"""What keeps a sender from sending more over a path, for every sample.

Computing takes no virtual time, so a sample is taken after everything that could be done at that
instant was done: the states seen lasted, and are not transient.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from mptcplab.metrics.recorded import Flow, sampled
from mptcplab.metrics.records import NO_SPACE, Records
from mptcplab.scenario.model import Scenario

# The states of TCP in which data can be sent: established, FIN_WAIT1, CLOSE_WAIT, CLOSING and
# LAST_ACK.
_SENDING = (1, 4, 8, 11, 9)
# TCP defers a small segment until one over this number of the window is free: the default of
# net.ipv4.tcp_tso_win_divisor.
_TSO_WIN_DIVISOR = 3


class State(IntEnum):
    """A subflow is in exactly one of them.

    A path with several subflows, of all connections, has the state of the subflow whose state comes
    first here.
    """

    CWND = 0
    """The congestion window is used up, except for a part that TCP keeps for a larger segment."""
    PACED = 1
    """There is more room, and a segment waits in the queue of the subflow."""
    WINDOW = 2
    """There is room and data, and the receive window is closed."""
    SCHEDULER = 3
    """There are room, data and receive window, and the scheduler has sent nothing."""
    SEND_BUFFER = 4
    """All that was written is sent, and the application waits for room in the send buffer."""
    APPLICATION = 5
    """All that was written is sent, and the application writes no more."""
    ABSENT = 6
    """There is no subflow that could carry data."""


def path_states(flow: Flow, scenario: Scenario) -> npt.NDArray[np.int8]:
    """The state of each path (rows) at each of the flow's times (columns)."""
    states = np.full((len(scenario.paths), len(flow.times)), State.ABSENT, np.int8)
    connections = {int(part["connection"][0]): part for part in flow.sender.connections}
    for subflow in flow.sender.subflows:
        records, times = sampled(flow, subflow.records)
        of_all = connections[subflow.connection]
        # the probe writes both at the same time
        found = np.searchsorted(of_all["time_ns"], records["time_ns"])
        connection = of_all[found]
        unsent = _unsent_bytes(connection)
        if scenario.transport == "tcp":
            # unsent data is in the queue of the subflow, not of the connection
            unsent[:] = 0
        of_subflow = _subflow_states(records, connection, unsent)
        states[subflow.path, times] = np.minimum(states[subflow.path, times], of_subflow)
    return states


def shares(states: npt.NDArray[np.int8]) -> dict[State, float]:
    """The fraction of the samples of one path in each state; they add up to 1."""
    return {state: int(np.count_nonzero(states == state)) / len(states) for state in State}


def waiting_for_window(flow: Flow) -> npt.NDArray[np.bool_]:
    """Whether a connection has data that was never sent and no window for it, at the flow's times.

    A segment is not split to fit, so less than a segment of the window may be left.
    """
    waiting = np.zeros(len(flow.times), np.bool_)
    mss_bytes: dict[int, int] = {}
    for subflow in flow.sender.subflows:
        largest = int(subflow.records["mss"].max())
        mss_bytes[subflow.connection] = max(largest, mss_bytes.get(subflow.connection, 0))
    for part in flow.sender.connections:
        records, times = sampled(flow, part)
        mss = np.int64(mss_bytes.get(int(part["connection"][0]), 0))
        waiting[times] |= _is_closed(records, _unsent_bytes(records), mss)
    return waiting


def _is_closed(
    connection: Records, unsent: npt.NDArray[np.int64], mss: npt.NDArray[np.int64] | np.int64
) -> npt.NDArray[np.bool_]:
    return connection["window_bytes"].astype(np.int64) < np.minimum(unsent, mss)


def _unsent_bytes(connection: Records) -> npt.NDArray[np.int64]:
    written = connection["written_bytes"].astype(np.int64)
    return np.maximum(written - connection["sent_bytes"].astype(np.int64), 0)


def _subflow_states(
    subflow: Records, connection: Records, unsent: npt.NDArray[np.int64]
) -> npt.NDArray[np.int8]:
    room = subflow["cwnd"].astype(np.int64) - subflow["in_flight"]
    queued = subflow["unsent_bytes"].astype(np.int64)
    mss = subflow["mss"].astype(np.int64)
    outstanding = (
        subflow["sent_bytes"].astype(np.int64)
        - subflow["retransmitted_bytes"].astype(np.int64)
        - subflow["acked_bytes"].astype(np.int64)
    )
    window_left = subflow["window_bytes"].astype(np.int64) - outstanding
    # less than a segment is held back until there is more data (Nagle)
    waits = queued >= mss
    conditions = [
        ~np.isin(subflow["tcp_state"], _SENDING),
        room <= 0,
        waits & (window_left < mss),
        waits & (room * _TSO_WIN_DIVISOR < subflow["cwnd"]),
        waits,
        _is_closed(connection, unsent, mss),
        unsent > 0,
        connection["flags"] & NO_SPACE != 0,
    ]
    states = [
        State.ABSENT, State.CWND, State.WINDOW, State.CWND, State.PACED, State.WINDOW,
        State.SCHEDULER, State.SEND_BUFFER,
    ]  # fmt: skip
    chosen: npt.NDArray[np.int8] = np.select(conditions, states, State.APPLICATION).astype(np.int8)
    return chosen
