# SPDX-License-Identifier: GPL-2.0-only
"""The video player of docs/workloads.md, computed again from the records of a run's messages."""

from __future__ import annotations

from collections.abc import Sequence

from mptcplab.metrics.records import Records
from mptcplab.scenario.workload import REQUEST, Message, Video


class Player:
    """The player, at which segments arrive; times in ns."""

    def __init__(self, segment_ns: int, buffer_ns: int) -> None:
        self._segment_ns, self._room_ns = segment_ns, buffer_ns - segment_ns
        self._last_ns = self._dry_ns = 0

    def arrive(self, at_ns: int) -> None:
        """The next segment has arrived."""
        self._last_ns = at_ns
        self._dry_ns = max(self._dry_ns, at_ns) + self._segment_ns

    def request_due_ns(self) -> int:
        """When the next segment is requested: once there is room for it."""
        return max(self._last_ns, self._dry_ns - self._room_ns)

    def level_ns(self, at_ns: int) -> int:
        """How long it could play from a time on with what has arrived."""
        return max(0, self._dry_ns - at_ns)


def next_choice(last: int, level: int, sizes: Sequence[int], reservoir: int, cushion: int) -> int:
    """Which of the rising `sizes` BBA-0 picks after `last`, with `level` in the buffer (ns).

    Huang et al. 2014, algorithm 1, with sizes instead of bitrates.
    """
    top = len(sizes) - 1
    if level <= reservoir:
        return 0
    if level >= reservoir + cushion:
        return top
    # what the level affords, times the cushion
    affords = sizes[0] * cushion + (sizes[top] - sizes[0]) * (level - reservoir)
    if affords >= sizes[min(last + 1, top)] * cushion:
        return max(i for i, size in enumerate(sizes) if size * cushion < affords)
    if affords <= sizes[max(last - 1, 0)] * cushion:
        return min(i for i, size in enumerate(sizes) if size * cushion > affords)
    return last


def assert_played(
    load: Video, messages: Sequence[Message], records: Records, start_ns: int
) -> None:
    """The player in the guest has requested each segment in time, at the bitrate of the rule."""
    player = Player(load.segment_ns, load.buffer_ns)
    choices: list[int] = []
    rows = zip(
        messages, *(records[n].tolist() for n in ("due_ns", "choice", "complete_ns")), strict=True
    )
    for message, due_ns, choice, complete_ns in rows:
        if complete_ns == 0:
            break
        segment = f"segment {len(choices) + 1}"
        if message.label == REQUEST:
            asked_ns = player.request_due_ns() if choices else start_ns
            assert due_ns == asked_ns, f"{segment} is due at {asked_ns}"
            level_ns = player.level_ns(asked_ns)
        else:
            expected = 0
            if choices:
                bounds = load.reservoir_ns, load.cushion_ns
                expected = next_choice(choices[-1], level_ns, load.sizes, *bounds)
            assert choice == expected, f"{segment} has bitrate number {expected}"
            choices.append(choice)
            player.arrive(complete_ns)
    assert choices
