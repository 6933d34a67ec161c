# SPDX-License-Identifier: GPL-2.0-only
"""Files of states: what is in them, and what is refused."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from checks.oracle import __main__ as command
from checks.oracle import compare
from checks.oracle.compare import judge_file
from checks.oracle.models import FORMS, MODELS, params_of
from checks.oracle.scenarios import SCENARIOS
from checks.oracle.state import NEW, WAIT, Answer, Asked, Done, Question, Segment, read
from mptcplab.errors import MptcplabError
from mptcplab.metrics import records
from mptcplab.scenario import scheduler as schedulers

# As the kernel writes them, spelled out by hand.
HEAD = "<QIBBH"
QUESTION = HEAD + "16s6Q11I"
SUBFLOW = HEAD + "6Q24I"
ANSWER = HEAD + "QIIB"

MSS = 1448


def record(form: str, kind: int, n: int, *values: object, version: int = 2) -> bytes:
    return struct.pack(form, 10**9, 1, kind, n, version, *values).ljust(192, b"\0")


def question(scheduler: bytes = b"minrtt", subflows: int = 2, version: int = 2) -> bytes:
    # una, nxt, end of the window, head, oldest, reinjection
    numbers = (MSS, 2 * MSS, 64 * MSS, 2 * MSS, MSS, 0)
    # lengths, window, unsent, segment, memory, jiffies; a writer waits, there are head and oldest
    lengths = (MSS, 7, MSS, 0, 63 * MSS, 10 * MSS, MSS, 5000, 9000, 250, 1 | 8 | 16)
    return record(QUESTION, 1, subflows, scheduler, *numbers, *lengths, version=version)


def subflow(number: int, rtt_us: int, flags: int = 1, last_us: int = 19_000) -> bytes:
    values = [number, flags, 0, MSS, rtt_us, 8 * rtt_us, 0, 200_000, rtt_us, last_us, 10, 20]
    values += [0xFFFFFFFF, 3, 3, 0, 3 * MSS, 60 * MSS, 5000, 1, 2, 3, 0, 0]
    return record(SUBFLOW, 2, number - 1, *range(1, 7), *values)


def answer(what: int, number: int = 0, seq: int = 0) -> bytes:
    return record(ANSWER, 3, 0, seq, number, 0, what)


# the second one has had no round trip but that of its handshake
ONE = question() + subflow(1, 20_000, 1 | 16) + subflow(2, 50_000, last_us=0)


def write(tmp_path: Path, *parts: bytes) -> Path:
    path = tmp_path / "client.states"
    path.write_bytes(b"".join(parts))
    return path


def test_every_field_is_read_from_its_place(tmp_path: Path) -> None:
    done = record(ANSWER, 4, 0, 2 * MSS, 1, MSS, NEW)
    asked, carried_out = read(write(tmp_path, ONE, answer(NEW, 1, 2 * MSS), done), "minrtt")
    assert isinstance(asked, Asked)
    assert asked.answer == Answer(NEW, 1, 2 * MSS)
    found = asked.question
    assert (found.una_seq, found.nxt_seq, found.window_end_seq) == (MSS, 2 * MSS, 64 * MSS)
    assert found.head == Segment(2 * MSS, MSS, frozenset())
    assert found.oldest == Segment(MSS, MSS, frozenset({1}))
    assert (found.reinjection, found.writer_waits, found.sndbuf_full) == (None, True, False)
    assert (found.head_sent, found.unsent_bytes, found.jiffies) == (7, 10 * MSS, 250)
    assert [each.index for each in found.subflows] == [0, 1]
    assert [each.last_rtt_8us for each in found.subflows] == [8 * 19_000, 8 * 50_000]
    first = found.subflows[0]
    assert (first.id, first.usable, first.backup, first.srtt_8us) == (1, True, False, 160_000)
    assert (first.rttvar_4us, first.cwnd, first.ssthresh, first.in_flight) == (200_000, 10, 20, 3)
    assert (first.outstanding_bytes, first.window_bytes) == (3 * MSS, 60 * MSS)
    assert (first.snd_una, first.snd_nxt, first.device_sent_bytes) == (1, 2, 6)
    assert carried_out == Done(10**9, 1, NEW, 1, 2 * MSS, MSS)


def test_answers_are_compared(tmp_path: Path) -> None:
    # the head is the second byte of a segment, of which 7 were sent: it is named by its first
    good = judge_file(write(tmp_path, ONE, answer(NEW, 1, 2 * MSS)), "minrtt")
    assert (good.decisions, good.agreed, good.differs) == (1, 1, 0)
    path = write(tmp_path, ONE, answer(NEW, 2, 2 * MSS))
    bad = judge_file(path, "minrtt")
    assert (bad.agreed, bad.ties, bad.differs) == (0, 0, 1)
    assert "the kernel's answer is new 2896 on 2, the source's new 2896 on 1" in str(bad.first)


def test_a_tie_is_one_in_whole_us(tmp_path: Path) -> None:
    twins = question() + subflow(1, 20_000) + subflow(2, 20_000)
    tie = judge_file(write(tmp_path, twins, answer(NEW, 1, 2 * MSS)), "minrtt")
    assert (tie.ties, tie.differs) == (1, 0)


def test_a_listed_difference_has_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tired(_: Question, __: Answer, kernel: Answer) -> str:
        return "it is tired" if kernel.what == WAIT else ""

    monkeypatch.setattr(compare, "known_reason", tired)
    found = judge_file(write(tmp_path, ONE, answer(WAIT)), "minrtt")
    assert (found.listed, found.differs) == ({"it is tired": 1}, 0)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((question(b"blest"), subflow(1, 1), subflow(2, 1), answer(WAIT)), "of scheduler blest"),
        ((question(version=9),), "has version 9 of the format of states"),
        ((question(version=1),), "has version 1 of the format of states; this program reads"),
        ((question()[:100],), "is cut off: 100 of 192 bytes"),
        ((ONE, answer(WAIT), ONE), "the question at offset 768 has no answer; the file is cut"),
        ((), "no scheduler was asked anything"),
        ((answer(WAIT),), "the record at offset 0 has no question"),
        ((question(), subflow(1, 1), answer(WAIT)), "1 of 2 subflows before the answer at offset"),
        ((record(HEAD, 7, 0),), "unknown kind 7 of a state at offset 0; known are 1 to 4"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_a_line(
    tmp_path: Path, parts: tuple[bytes, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, *parts)
    with pytest.raises(MptcplabError, match=message) as raised:
        judge_file(path, "minrtt")
    assert "\n" not in str(raised.value)
    assert command.main(["--only", "minrtt", str(path)]) == 1
    assert message in capsys.readouterr().err


def test_a_trace_without_states_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MptcplabError, match="no such file; states are kept with --states"):
        judge_file(tmp_path / "client.states", "minrtt")


def test_a_file_of_decisions_is_no_file_of_states(tmp_path: Path) -> None:
    path = write(tmp_path, bytes(records.DECISION_BYTES * 4))
    with pytest.raises(MptcplabError, match="version 0 of the format"):
        judge_file(path, "minrtt")


def test_a_form_has_its_parameters(tmp_path: Path) -> None:
    # the first path costs more, so the second one is it, and without the parameter the first
    path = write(
        tmp_path, question(b"weighted"), subflow(1, 1), subflow(2, 1), answer(NEW, 2, 2 * MSS)
    )
    assert judge_file(path, "weighted:cost1=1").agreed == 1
    assert judge_file(path, "weighted").agreed == 0
    assert command.main(["--only", "weighted:cost1=1", str(path)]) == 0
    assert params_of("weighted:cost1=0:strict=on") == {"strict": 1}


def test_models_know_parameters_of_their_schedulers() -> None:
    known = schedulers.known()
    for name, model in MODELS.items():
        assert model.knows <= {each.name for each in known[name].parameters}
    assert {form.partition(":")[0] for form in FORMS} == set(MODELS)


def test_a_scheduler_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        MptcplabError, match='"lte": no model of this scheduler; there are those of'
    ):
        judge_file(write(tmp_path, ONE, answer(WAIT)), "lte")


def test_a_file_of_states_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, ONE, answer(NEW, 1, 2 * MSS))
    assert command.main(["--only", "minrtt", str(path)]) == 0
    assert "| minrtt | 1 | 1 | 1 | 0 | 0 | 0 |" in capsys.readouterr().out
    path = write(tmp_path, ONE, answer(NEW, 2, 2 * MSS))
    assert command.main(["--only", "minrtt", str(path)]) == 1
    assert "the first of 1 that differ" in capsys.readouterr().out


def test_names_that_are_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (
            ["--only", "lte"],
            '--only "lte": no model of this scheduler; there are those of backup, ',
        ),
        (["--only", "otias:rp=on"], "the model of otias has no parameter rp; it has none"),
        (["--only", "minrtt:rp_limit=on"], "no parameter rp_limit; it has bm, bm_lambda, rp, v089"),
        (["--only", "minrtt:owd=on"], "unknown parameter of minrtt; known: rp, rp_limit, bm"),
        (["--only", "weighted:patience_ms=x"], "patience_ms is a whole number from 0 to 60000"),
        (["--only", "ols:arm=1"], "the model of ols has no parameter arm; it has exp3"),
        (["--scenario", "x"], "--scenario x: not known; accepted is alike"),
        (["--docs", "x.md", "--only", "first"], "--docs is for all schedulers in all scenarios"),
        (["x.states"], "a file of states needs --only with its one scheduler"),
        (["--jobs", "0"], "a whole number from 1 to 1000000000 is expected"),
    ):
        with pytest.raises(SystemExit):
            command.main(arguments)
        assert message in capsys.readouterr().err


def test_every_scenario_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--plan"]) == 0
    commands = capsys.readouterr().out.splitlines()
    assert len(commands) == len(FORMS) * len(SCENARIOS)
    assert len(SCENARIOS) >= 40
    assert commands[0].startswith("mptcplab run --path a:20mbit,10ms --path b:20mbit,10ms")
