# SPDX-License-Identifier: GPL-2.0-only
"""The agent's end of the channel, without a kernel: its messages, and its mistakes."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from mptcplab import agent, resources
from mptcplab.errors import InputError, MptcplabError
from tests.vocabulary import request_of

HEADER = (resources.KERNEL / "mptcp/uapi/agent.h").read_text()
KINDS = {"__le32": "<u4", "__le64": "<u8"}


def fields_of(name: str) -> list[tuple[str, str]]:
    """The fields of a structure of the kernel's header, in numpy's words."""
    body = re.search(rf"^struct {name} \{{\n(.*?)^\}};", HEADER, re.DOTALL | re.MULTILINE)
    assert body
    return [(field, KINDS[kind]) for kind, field in re.findall(r"(__le\d\d)\t(\w+);", body[1])]


@pytest.mark.parametrize(
    ("struct_", "record"),
    [("agent_question", agent.CONNECTION), ("agent_subflow", agent.SUBFLOW)],
)
def test_the_records_are_those_of_the_kernel(struct_: str, record: np.dtype[np.void]) -> None:
    # the last field of a question counts the subflows
    ours = [
        (str(name).replace("count", "subflows"), record[name].str) for name in record.names or ()
    ]
    assert ours == fields_of(struct_)
    # as C aligns it: without a gap
    assert record.itemsize % 8 == 0


@pytest.mark.parametrize("flags", [agent.Event, agent.Flag, agent.SubflowFlag, agent.Why])
def test_the_numbers_are_those_of_the_kernel(flags: type[agent.Event] | type[agent.Why]) -> None:
    kernel = dict(re.findall(r"AGENT_(\w+)(?:\t+| = )(\d+)", HEADER))
    assert {each.name: str(each.value) for each in flags}.items() <= kernel.items()
    assert kernel["VERSION"] == str(agent.VERSION)


def test_answers() -> None:
    head = struct.Struct("<4I16s")
    assert agent.send(2) == head.pack(2, 2, 0, 0, b"")
    # as an array has it
    assert agent.send(int(np.uint32(2)), wake_us=500) == head.pack(2, 2, 500, 0, b"")
    plain = [head.pack(kind, 0, 0, 0, b"") for kind in (1, 4, 5)]
    assert plain == [agent.WAIT, agent.KEEP, agent.LEAVE]
    settings = b"".join(
        struct.pack("<28sI", name, value) for name, value in ((b"beta_permille", 500), (b"rp", 0))
    )
    own = agent.delegate("ecf", rp=False, beta_permille=500)
    assert own == head.pack(3, 0, 0, 2, b"ecf") + settings


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("exf", {}, "unknown scheduler 'exf'; did you mean \"ecf\""),
        ("agent", {}, "unknown scheduler 'agent'"),
        ("default", {}, "unknown scheduler 'default'"),
        ("ecf", {"beta": 1}, "unknown parameter of ecf"),
        ("ecf", {"beta_permille": 10001}, "from 0 to 10000"),
    ],
)
def test_what_cannot_be_delegated(name: str, parameters: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        agent.delegate(name, **parameters)


def test_a_kernel_with_other_messages() -> None:
    with pytest.raises(MptcplabError, match=r"in version 9 of its messages, and .* version 1"):
        agent.Question((9).to_bytes(4, "little"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "agent.py: FileNotFoundError"),
        ("x = 1", "a function decide"),
        ("def decide(q):\n  return 1\n1/0", "agent.py:3: ZeroDivisionError"),
    ],
)
def test_a_file_that_is_no_agent(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "agent.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        agent.read(file)


def test_mistakes_of_an_agent_name_its_file(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text("def decide(q):\n    return q.nothing")
    decide, name = agent.read(file)
    question = agent.Question(agent.VERSION.to_bytes(4, "little").ljust(agent.CONNECTION.itemsize))
    with pytest.raises(MptcplabError, match=r"agent\.py:2: AttributeError"):
        decide(question)
    # another content is another agent
    file.write_text("def decide(q):\n    return 5")
    decide, other = agent.read(file)
    assert name != other
    with pytest.raises(MptcplabError, match=r"decide\(\) returned 5; accepted"):
        decide(question)


def test_the_agent_is_part_of_a_runs_key() -> None:
    paths = ("wifi:50mbit,10ms", "lte:20mbit,40ms")
    wanted = request_of(*paths, scheduler="agent")
    one, other = (agent.asking(wanted, name).base for name in ("one", "other"))
    assert len({each.key_text() for each in (wanted.base, one, other)}) == 3
    with pytest.raises(InputError, match="nobody asks an agent"):
        agent.asking(request_of(*paths, scheduler="ecf"), "one")
