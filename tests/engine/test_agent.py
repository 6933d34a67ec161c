# SPDX-License-Identifier: GPL-2.0-only
"""An agent outside decides, while virtual time stands."""

from __future__ import annotations

import itertools
import selectors
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mptcplab import agent
from mptcplab.agent import Answer, Decide, Question, Session, SubflowFlag
from mptcplab.errors import MptcplabError, RunCancelledError
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig, Watch
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import run_files
from mptcplab.plan import plan
from mptcplab.runs.entries import Entry
from mptcplab.runs.tasks import Task
from tests.vocabulary import request_of

PATHS = ("a:20mbit,10ms", "b:10mbit,40ms")
#: Losses, an outage and reinjections.
TROUBLE = {"event": ("1s:a:down", "1500ms:a:up"), "path": tuple(f"{p},loss=0.5%" for p in PATHS)}
#: What a run leaves that tells each packet, and each sample of the two ends.
FILES = (
    *(plan.router_capture("a"), plan.router_capture("b")),
    *(run_files.CLIENT_SAMPLES, run_files.SERVER_SAMPLES, run_files.LINKS_SAMPLES),
)

Begin = Callable[..., Session]


def minrtt(question: Question) -> Answer:
    """The rule of minrtt for data, and for what another subflow carried."""
    found = question.available
    fresh = found[found["flags"] & SubflowFlag.CARRIED == 0]
    # while a subflow that did not carry it is full, minrtt waits for that
    if not len(fresh) and question.connection["flags"] & agent.Flag.REINJECTION:
        others = question.subflows[question.subflows["flags"] & SubflowFlag.CARRIED == 0]
        if (others["flags"] & SubflowFlag.USABLE).any():
            return agent.WAIT
    found = fresh if len(fresh) else found
    if not len(found):
        return agent.WAIT
    return agent.send(int(found[found["srtt_us"].argmin()]["id"]))


def nobody(_question: Question) -> Answer:
    pytest.fail("another scheduler asks no agent")


@pytest.fixture
def begin(lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path) -> Begin:
    """Starts the run of some flags, whose agent is the caller."""
    count = itertools.count()

    def start(
        scheduler: str = "agent",
        *,
        limits: Limits | None = None,
        watch: Watch | None = None,
        **flags: object,
    ) -> Session:
        paths = flags.pop("path", PATHS)
        wanted = request_of(*paths, scheduler=scheduler, **{"duration": "2s", **flags})  # type: ignore[misc]
        rig = Rig(lab_kernel, lab_guest, limits=limits or Limits())
        return Session(Task.of(wanted.base, rig, tmp_path / str(next(count))), watch)

    return start


def files(session: Session, entry: Entry) -> dict[str, bytes]:
    assert entry.status == "ok", entry.reason
    assert session.task.out is not None
    directory = session.task.out / str(entry.directory)
    return {name: (directory / name).read_bytes() for name in FILES}


def ended(session: Session, decide: Decide) -> dict[str, bytes]:
    with session:
        return files(session, session.serve(decide).entry)


def test_an_agent_with_the_rule_of_minrtt_sends_the_same_packets(begin: Begin) -> None:
    asked = 0

    def decide(question: Question) -> Answer:
        nonlocal asked
        asked += 1
        return minrtt(question)

    ours = ended(begin(pcap=True, **TROUBLE), decide)
    # 1.5 s of 20 Mbit/s and 2 s of 10 Mbit/s, of which losses leave a tenth
    assert asked > 0.1 * (30e6 + 20e6) / 8 / 1424
    assert ours == ended(begin("minrtt", pcap=True, **TROUBLE), nobody)


def test_a_scheduler_that_is_delegated_to_sends_the_same_packets(begin: Begin) -> None:
    # of all that hooks and timers of a scheduler can be: times of its own, limits, learning
    for name in ("earliest", "overflow", "ols"):
        answer = agent.delegate(name)
        ours = ended(begin("agent:recovery=on", pcap=True, **TROUBLE), lambda _question: answer)  # noqa: B023
        theirs = begin(f"{name}:recovery=on", pcap=True, **TROUBLE)
        assert ours == ended(theirs, nobody), name


def test_slow_and_fast_agents_give_the_same_bytes(begin: Begin) -> None:
    asked: list[Question] = []

    def slow(question: Question) -> Answer:
        # longer than a clock may stand, below; a busy machine boots within that
        time.sleep(0.001 if asked else 7)
        asked.append(question)
        return minrtt(question)

    flags = {"scheduler": "agent:every_us=50000", "pcap": True, "event": ("1s:a:down",)}
    limits = Limits(stall_wall_s=5, stall_cpu_s=5)
    assert ended(begin(limits=limits, **flags), slow) == ended(begin(**flags), minrtt)


def test_a_clock_that_stands_without_a_question_still_ends_a_run(begin: Begin) -> None:
    # a busy machine boots within that
    with begin(limits=Limits(stall_wall_s=5)) as session:
        assert session.question()
        # as far as the lab knows, it has been answered
        session._open = False
        session._thread.join()
        assert "stood still" in str(session.finish().entry.reason)


def test_a_cancelled_run_does_not_go_on_without_its_agent(begin: Begin) -> None:
    session = begin(watch=Watch(poll_s=2))
    assert session.question()
    # now nobody looks at it for 2 s; without its agent it would take less
    time.sleep(0.5)
    session.cancel()
    assert isinstance(session._done.exception(), RunCancelledError)


def test_it_asks_at_fixed_times(begin: Begin) -> None:
    times: list[int] = []

    def decide(question: Question) -> Answer:
        assert question.connection["why"] == agent.Why.TIME
        times.append(int(question.connection["time_ns"]))
        return agent.send(1 + len(times) // 10 % 2)

    ended(begin("agent:every_us=10000", pcap=True), decide)
    # while there is data: 2 s, after the handshake, and the first byte of each subflow
    assert set(np.diff(times[10:200])) == {10_000_000}


def test_it_asks_at_events(begin: Begin) -> None:
    seen: list[agent.Event] = []

    def decide(question: Question) -> Answer:
        seen.append(agent.Event(int(question.connection["events"])))
        return agent.KEEP

    ended(begin("agent:events=on", pcap=True, event=("1s:b:down",)), decide)
    assert seen[0] & agent.Event.BEGIN
    assert not any(each & agent.Event.BEGIN for each in seen[1:])
    # the path's last packets time out once, and again while it is away
    assert any(each & agent.Event.RTO for each in seen)
    assert len(seen) < 100


def test_an_answer_may_ask_for_the_next_question(begin: Begin) -> None:
    times: list[int] = []

    def decide(question: Question) -> Answer:
        times.append(int(question.connection["time_ns"]))
        return agent.wait(wake_us=1500) if len(times) < 5 else agent.LEAVE

    ended(begin(pcap=True, start="established"), decide)
    # nothing else happens that early: the shorter path's round trip is 20 ms
    # the kernel's timers round to a nanosecond
    assert set(np.diff(times)) <= {1_500_000, 1_500_001}
    assert len(times) == 5


@pytest.mark.parametrize("how", ["says so", "is gone"])
def test_without_its_agent_a_run_goes_on_as_minrtt(begin: Begin, how: str) -> None:
    with begin(pcap=True) as session:
        for _ in range(50):
            question = session.question()
            assert question
            session.answer(minrtt(question))
        if how == "is gone":
            assert session.question()
            session.leave()
            ours = session.finish()
        else:
            ours = session.serve(lambda _question: agent.LEAVE)
    found = files(session, ours.entry)
    captures = FILES[:2]
    theirs = ended(begin("minrtt", pcap=True), nobody)
    assert [found[name] for name in captures] == [theirs[name] for name in captures]
    assert ours.entry.metrics["fallbacks"] == (how == "is gone")


def test_a_mistake_of_the_agent_ends_the_run(begin: Begin) -> None:
    session = begin()
    with pytest.raises(ZeroDivisionError):
        session.serve(lambda _question: 1 // 0)  # type: ignore[arg-type, return-value]
    assert not session._thread.is_alive()
    assert session.task.out is not None
    assert not list((session.task.out / "runs").glob("*/*"))


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_ends_the_run(begin: Begin, interrupt: type[BaseException]) -> None:
    def decide(_question: Question) -> Answer:
        raise interrupt

    session = begin(duration="100s")
    with pytest.raises(interrupt):
        session.serve(decide)
    assert not session._thread.is_alive()


def test_what_the_kernel_refuses_is_reported(begin: Begin) -> None:
    with pytest.raises(MptcplabError, match=r"refused an answer of the agent at [0-9.]+ s"):
        begin().serve(lambda _question: agent.send(9))
    with pytest.raises(TypeError, match="answered 5; accepted is"):
        begin().serve(lambda _question: 5)  # type: ignore[arg-type, return-value]


def test_one_thread_serves_several_runs(begin: Begin) -> None:
    sessions = [begin(pcap=True, duration="500ms", seed=seed) for seed in (1, 1, 2)]
    asked = dict.fromkeys(sessions, 0)
    with selectors.DefaultSelector() as ready:
        for session in sessions:
            ready.register(session, selectors.EVENT_READ)
        while ready.get_map():
            for key, _ in ready.select():
                waiting = key.fileobj
                assert isinstance(waiting, Session)
                question = waiting.question()
                if question is None:
                    ready.unregister(waiting)
                    continue
                asked[waiting] += 1
                waiting.answer(minrtt(question))
    first, again, other = (files(each, each.finish().entry) for each in sessions)
    assert first == again
    assert first != other
    assert all(asked.values())
