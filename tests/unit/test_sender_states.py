# SPDX-License-Identifier: GPL-2.0-only
"""What keeps a sender from sending more, by the definitions of docs/metrics.md.

The records are those of single instants, each field of which a test says or derives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mptcplab.metrics import records, sender_states
from mptcplab.metrics.recorded import Flow, HostRecords, Interval, Subflow
from mptcplab.metrics.records import NO_SPACE, Records
from mptcplab.metrics.sender_states import State
from tests.unit import synthetic

#: A segment has 1000 bytes. Of a congestion window of 9 a third is 3, which is exactly a segment.
MSS, CWND = 1000, 9
#: What was sent and is neither acknowledged nor sent again: 50000 - 3000 - 40000 bytes.
SENT, AGAIN, ACKED = 50_000, 3000, 40_000
OUTSTANDING = 7000

#: Where a subflow has room in its windows and nothing in its queue.
ROOM: dict[str, int] = {
    "tcp_state": 1,
    "mss": MSS,
    "cwnd": CWND,
    "in_flight": 6,
    "unsent_bytes": 0,
    "sent_bytes": SENT,
    "retransmitted_bytes": AGAIN,
    "acked_bytes": ACKED,
    "window_bytes": 10 * MSS + OUTSTANDING,
}
#: A connection of which all that was written is sent, with a window for more.
IDLE: dict[str, int] = {"written_bytes": 80_000, "sent_bytes": 80_000, "window_bytes": 10 * MSS}


def subflow(
    *instants: dict[str, int], times: Sequence[int] = (), connection: int = 1, path: int = 0
) -> Subflow:
    """A subflow that is as `ROOM`, but for what an instant says; at times 0, 1, ... if not told."""
    made = np.zeros(len(instants), records.SUBFLOW_DTYPE)
    made["time_ns"], made["connection"] = times or range(len(instants)), connection
    for number, instant in enumerate(instants):
        for field, value in (ROOM | instant).items():
            made[field][number] = value
    return Subflow(connection, path, made)


def connection(*instants: dict[str, int], times: Sequence[int] = (), number: int = 1) -> Records:
    """The same of a connection, which is as `IDLE`."""
    made = np.zeros(len(instants), records.CONNECTION_DTYPE)
    made["time_ns"], made["connection"] = times or range(len(instants)), number
    for which, instant in enumerate(instants):
        for field, value in (IDLE | instant).items():
            made[field][which] = value
    return made


def flow(connections: Sequence[Records], subflows: Sequence[Subflow], *times: int) -> Flow:
    """What they sent, measured from the first of these times to the last."""
    return Flow(
        direction="up",
        sender=HostRecords(list(connections), list(subflows)),
        receiver=HostRecords([], []),
        queues={},
        interval=Interval(times[0], times[-1]),
        times=np.array(times, np.int64),
    )


def states_of(recorded: Flow, **fields: Any) -> list[list[State]]:
    """Of each of the two paths, its state at each of the times."""
    found = sender_states.path_states(recorded, synthetic.scenario(**fields))
    return [[State(each) for each in path] for path in found]


def state(
    of_subflow: dict[str, int], of_connection: dict[str, int] | None = None, **fields: Any
) -> State:
    """The state of a path with one subflow, at one instant."""
    recorded = flow([connection(of_connection or {})], [subflow(of_subflow)], 0)
    return states_of(recorded, **fields)[0][0]


def unsent(bytes_: int, window: int) -> dict[str, int]:
    """A connection with data that was never sent, and so much of its window left."""
    return {"written_bytes": 80_000 + bytes_, "sent_bytes": 80_000, "window_bytes": window}


# in include/net/tcp_states.h: those in which data is sent, or sent again
@pytest.mark.parametrize(
    ("tcp_state", "carries"),
    [
        (1, True),  # ESTABLISHED
        (2, False),  # SYN_SENT
        (3, False),  # SYN_RECV
        (4, True),  # FIN_WAIT1
        (5, False),  # FIN_WAIT2: the peer has all, the FIN too
        (6, False),  # TIME_WAIT
        (7, False),  # CLOSE
        (8, True),  # CLOSE_WAIT: the peer has ended, this side has not
        (9, True),  # LAST_ACK
        (10, False),  # LISTEN
        (11, True),  # CLOSING
        (12, False),  # NEW_SYN_RECV
    ],
)
def test_a_path_is_absent_while_no_subflow_of_it_can_carry_data(
    tcp_state: int, carries: bool
) -> None:
    full = {"tcp_state": tcp_state, "in_flight": CWND}
    assert state(full) is (State.CWND if carries else State.ABSENT)


@pytest.mark.parametrize(
    ("in_flight", "expected"),
    [(0, State.SCHEDULER), (8, State.SCHEDULER), (9, State.CWND), (12, State.CWND)],
)
def test_the_congestion_window_is_used_up_when_as_much_is_in_flight(
    in_flight: int, expected: State
) -> None:
    # after a loss the window can be less than what is in flight
    assert state({"in_flight": in_flight}, unsent(5 * MSS, 5 * MSS)) is expected


def test_a_full_congestion_window_goes_before_a_closed_receive_window() -> None:
    assert state({"in_flight": CWND, "window_bytes": 0, "unsent_bytes": MSS}) is State.CWND
    assert state({"in_flight": CWND}, unsent(MSS, 0)) is State.CWND


@pytest.mark.parametrize(
    ("in_flight", "expected"),
    [
        (5, State.PACED),
        (6, State.PACED),  # 3 x (9 - 6) = 9: a third of the window is free
        (7, State.CWND),  # 3 x (9 - 7) = 6 is less than 9
        (8, State.CWND),
    ],
)
def test_queued_data_waits_until_a_third_of_the_window_is_free(
    in_flight: int, expected: State
) -> None:
    assert state({"in_flight": in_flight, "unsent_bytes": 2 * MSS}) is expected
    # of a window of 8 a third is more than 2, and a quarter is 2
    assert state({"cwnd": 8, "in_flight": 6, "unsent_bytes": 2 * MSS}) is State.CWND


@pytest.mark.parametrize(
    ("bytes_", "expected"), [(0, State.SEND_BUFFER), (999, State.SEND_BUFFER), (1000, State.PACED)]
)
def test_less_than_a_segment_in_a_queue_waits_for_more(bytes_: int, expected: State) -> None:
    assert state({"unsent_bytes": bytes_}, {"flags": NO_SPACE}) is expected


@pytest.mark.parametrize(
    ("left", "expected"),
    [(MSS, State.PACED), (MSS - 1, State.WINDOW), (0, State.WINDOW), (-2000, State.WINDOW)],
)
def test_the_window_of_a_subflow_begins_behind_the_data_in_flight(
    left: int, expected: State
) -> None:
    # 7000 bytes are on their way: of 50000 sent, 3000 were sent again, and 40000 have arrived. A
    # window that was drawn back, or that a retransmission is beyond, leaves less than nothing.
    window = OUTSTANDING + left
    assert state({"unsent_bytes": MSS, "window_bytes": window}) is expected


def test_a_closed_window_of_a_subflow_goes_before_tso_deferral() -> None:
    # TCP defers only what it could send
    almost_full = {"in_flight": 8, "unsent_bytes": MSS, "window_bytes": OUTSTANDING}
    assert state(almost_full) is State.WINDOW


def test_the_window_of_a_subflow_without_data_limits_nothing() -> None:
    assert state({"window_bytes": 0}) is State.APPLICATION
    assert state({"window_bytes": 0}, unsent(MSS, MSS)) is State.SCHEDULER


@pytest.mark.parametrize(
    ("bytes_", "window", "expected"),
    [
        (5000, 1000, State.SCHEDULER),
        (5000, 999, State.WINDOW),  # less than a segment, and a segment is not split
        (500, 500, State.SCHEDULER),
        (500, 499, State.WINDOW),
        (1, 0, State.WINDOW),
        (1, 1, State.SCHEDULER),
        (0, 0, State.APPLICATION),
    ],
)
def test_the_window_is_closed_if_the_next_segment_does_not_fit(
    bytes_: int, window: int, expected: State
) -> None:
    assert state({}, unsent(bytes_, window)) is expected


def test_without_unsent_data_send_buffer_or_application_is_the_limit() -> None:
    assert state({}, {"flags": NO_SPACE}) is State.SEND_BUFFER
    assert state({}) is State.APPLICATION
    # the other bits say nothing of the send buffer
    assert state({}, {"flags": 0xFFFF & ~NO_SPACE}) is State.APPLICATION
    assert state({}, {"flags": 0xFFFF}) is State.SEND_BUFFER
    # there is data: it is not the buffer that keeps it
    assert state({}, unsent(MSS, MSS) | {"flags": NO_SPACE}) is State.SCHEDULER


def test_plain_tcp_has_no_scheduler_that_could_hold_data_back() -> None:
    # what it has not sent is in its queue; that its connection's counters differ says nothing
    counters = unsent(5000, 0)
    assert state({}, counters, transport="tcp") is State.APPLICATION
    assert state({}, counters | {"flags": NO_SPACE}, transport="tcp") is State.SEND_BUFFER
    assert state({"unsent_bytes": MSS}, counters, transport="tcp") is State.PACED
    assert state({}, counters, transport="mptcp") is State.WINDOW


def test_a_path_is_absent_before_its_subflow_comes_and_after_it_goes() -> None:
    late = subflow({"in_flight": CWND}, {}, times=[20, 30], path=1)
    always = subflow({}, {}, {}, {}, times=[10, 20, 30, 40])
    both = connection({}, {}, {"flags": NO_SPACE}, {}, times=[10, 20, 30, 40])
    assert states_of(flow([both], [always, late], 10, 20, 30, 40)) == [
        [State.APPLICATION, State.APPLICATION, State.SEND_BUFFER, State.APPLICATION],
        [State.ABSENT, State.CWND, State.SEND_BUFFER, State.ABSENT],
    ]


def test_only_the_measured_samples_count() -> None:
    whole = subflow({"in_flight": 9}, {}, {"in_flight": 9}, {"unsent_bytes": MSS}, {})
    assert states_of(flow([connection({}, {}, {}, {}, {})], [whole], 1, 2, 3))[0] == [
        State.APPLICATION,
        State.CWND,
        State.PACED,
    ]


def test_of_several_subflows_of_a_path_the_state_that_comes_first_holds() -> None:
    order = [
        ({"in_flight": CWND}, {}),
        ({"unsent_bytes": MSS}, {}),
        ({}, unsent(MSS, 0)),
        ({}, unsent(MSS, MSS)),
        ({}, {"flags": NO_SPACE}),
        ({}, {}),
        ({"tcp_state": 7}, {}),
    ]
    assert [state(*each) for each in order] == list(State)
    for first in range(len(order)):
        for second in range(len(order)):
            # each in a connection of its own, whose numbers are not those of places in a list
            recorded = flow(
                [connection(order[first][1], number=4), connection(order[second][1], number=3)],
                [subflow(order[first][0], connection=4), subflow(order[second][0], connection=3)],
                0,
            )
            assert states_of(recorded)[0] == [State(min(first, second))]


def test_the_shares_are_parts_of_the_samples() -> None:
    seen = [State.CWND] * 5 + [State.WINDOW] * 2 + [State.ABSENT]
    found = sender_states.shares(np.array(seen, np.int8))
    assert found == {
        State.CWND: 5 / 8,
        State.PACED: 0,
        State.WINDOW: 2 / 8,
        State.SCHEDULER: 0,
        State.SEND_BUFFER: 0,
        State.APPLICATION: 0,
        State.ABSENT: 1 / 8,
    }


# Of a whole connection


def waiting(connections: Sequence[Records], *subflows: Subflow, times: Sequence[int]) -> list[bool]:
    found: list[bool] = sender_states.waiting_for_window(
        flow(connections, subflows, *times)
    ).tolist()
    return found


def test_a_connection_waits_if_the_next_segment_does_not_fit() -> None:
    samples = [unsent(5000, 999), unsent(5000, 1000), unsent(500, 499), unsent(500, 500)]
    samples += [unsent(0, 0), unsent(1, 0)]
    # also when the congestion window is used up: the window is closed all the same
    full = subflow(*[{"in_flight": CWND}] * 6)
    expected = [True, False, True, False, False, True]
    assert waiting([connection(*samples)], full, times=range(6)) == expected


def test_the_next_segment_is_as_large_as_the_largest_of_any_subflow() -> None:
    # 1200 bytes of window: a segment of 1000 fits, one of 1400 does not
    sizes = {"small": subflow({"mss": 1000}), "large": subflow({"mss": 1400}, path=1)}
    samples = [connection(unsent(5000, 1200))]
    assert waiting(samples, sizes["small"], times=[0]) == [False]
    for order in (("small", "large"), ("large", "small")):
        assert waiting(samples, *(sizes[each] for each in order), times=[0]) == [True]
    # of a subflow, the largest that it ever had
    shrunk = subflow({"mss": 1400}, {"mss": 1000})
    assert waiting([connection({}, unsent(5000, 1200))], shrunk, times=[0, 1]) == [False, True]


def test_each_connection_has_the_segments_of_its_own_subflows() -> None:
    samples = [
        connection(unsent(5000, 1200), {}, {}, number=1),
        connection({}, unsent(5000, 1200), {}, number=2),
    ]
    large = subflow({}, connection=1), subflow({"mss": 1400}, connection=2)
    assert waiting(samples, *large, times=[0, 1, 2]) == [False, True, False]


def test_one_waiting_connection_is_enough_and_needs_a_subflow() -> None:
    closed, open_ = unsent(5000, 0), unsent(5000, 1000)
    samples = [
        connection(closed, open_, open_, number=1),
        connection(open_, open_, closed, number=2),
        connection(closed, closed, closed, number=3),
    ]
    subflows = subflow({}, connection=1), subflow({}, connection=2)
    assert waiting(samples, *subflows, times=[0, 1, 2]) == [True, False, True]


def test_a_connection_that_came_later_waits_from_then_on() -> None:
    samples = [connection(unsent(1000, 0), unsent(1000, 0), {}, times=[20, 30, 40])]
    expected = [False, True, True]
    assert waiting(samples, subflow({}, times=[20]), times=[10, 20, 30]) == expected
