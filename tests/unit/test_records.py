# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mptcplab import resources
from mptcplab.errors import MptcplabError
from mptcplab.metrics import docs_pages, records
from tests.unit import synthetic
from tests.unit.synthetic import FAST, SLOW

# Some records as bytes. That each field of the first four is read from its place is what a compiler
# says of the kernel's header, below; of the others it is spelled out by hand.
HEAD = "<QIBBH"
DECISION = "<QQIIIB3sIIII"
MESSAGE = "<IBBH7Q"

# The beginning and the end of messages about a damaged file.
RECORD = "the record at offset"
EARLIER = "is earlier than the one before it; records are in the order of time"


def connection_record(time_ns: int) -> bytes:
    return struct.pack(HEAD, time_ns, 1, 1, 2, 0).ljust(192, b"\0")


def subflow_record(time_ns: int) -> bytes:
    addresses = bytes([10, 0, 2, 1, 10, 1, 2, 1])
    return (struct.pack(HEAD, time_ns, 1, 2, 1, 0) + addresses).ljust(192, b"\0")


def link_record(time_ns: int) -> bytes:
    return struct.pack(HEAD, time_ns, 0, 3, 0, 0).ljust(192, b"\0")


def decision_record(time_ns: int, kind: int = 3) -> bytes:
    return struct.pack(DECISION, time_ns, 11, 12, 13, 14, kind, b"\0\0\0", 15, 16, 17, 0)


def state_record(time_ns: int, kind: int = 1, version: int = 2) -> bytes:
    return struct.pack(HEAD, time_ns, 1, kind, 0, version).ljust(192, b"\0")


MESSAGE_VALUES = {
    "connection": 3, "direction": 1, "choice": 2, "reserved": 0, "bytes": 100,
    "due_ns": 10, "begin_ns": 11, "written_ns": 14, "first_ns": 12, "complete_ns": 15,
    "reserved2": 0,
}  # fmt: skip


def message_record(**values: int) -> bytes:
    return struct.pack(MESSAGE, *(MESSAGE_VALUES | values).values())


def test_kinds_of_decisions_are_those_of_the_kernel() -> None:
    # as `kind` of kernel/mptcp/trace.h
    kinds = "wait new reinjection duplicate dropped refused forced event"
    assert " ".join(records.DECISIONS) == kinds


def test_states_of_all_kinds_are_read_in_the_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "client.states"
    path.write_bytes(b"".join(state_record(4 + kind, kind) for kind in (1, 2, 3, 4)))
    states = records.read_states(path)
    assert states.dtype == records.QUESTION_DTYPE
    assert states["kind"].tolist() == [1, 2, 3, 4]
    assert states["time_ns"].tolist() == [5, 6, 7, 8]


def test_records_begin_with_their_head_and_have_the_sizes_of_the_probe() -> None:
    samples = records.CONNECTION_DTYPE, records.SUBFLOW_DTYPE, records.LINK_DTYPE
    states = records.QUESTION_DTYPE, records.SUBFLOW_STATE_DTYPE, records.ANSWER_DTYPE
    for kinds, head in (
        (samples, "time_ns connection kind n flags"),
        (states, "time_ns connection kind n version"),
    ):
        for dtype in kinds:
            assert dtype.names is not None
            assert (dtype.itemsize, " ".join(dtype.names[:5])) == (192, head)
    assert (records.DECISION_DTYPE.itemsize, records.MESSAGE_DTYPE.itemsize) == (48, 64)


def test_kinds_are_separated_in_a_mixed_file(tmp_path: Path) -> None:
    path = tmp_path / "server.samples"
    path.write_bytes(
        connection_record(5) + subflow_record(5) + subflow_record(6) + connection_record(6)
    )
    samples = records.read_samples(path)
    assert samples.connection["time_ns"].tolist() == [5, 6]
    assert samples.subflow["time_ns"].tolist() == [5, 6]


def test_an_empty_file_has_no_samples(tmp_path: Path) -> None:
    path = tmp_path / "server.samples"
    path.touch()
    samples = records.read_samples(path)
    assert len(samples.connection) == len(samples.subflow) == 0


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    client, _ = synthetic.run(FAST, SLOW)
    again = records.read_samples(synthetic.write(client, tmp_path / "client.samples"))
    assert np.array_equal(again.connection, client.connection)
    assert np.array_equal(again.subflow, client.subflow)


DAMAGED: dict[str, tuple[Callable[[Path], object], bytes, str]] = {
    "samples, cut off": (
        records.read_samples,
        connection_record(5) + b"\0" * 100,
        f"{RECORD} 192 is cut off: 100 of 192 bytes",
    ),
    "samples, unknown kind": (
        records.read_samples,
        connection_record(5) + b"\0" * 192 + link_record(5),
        "unknown record kind 0 at offset 192; known are 1 (connection) and 2 (subflow)",
    ),
    "samples, back in time": (
        records.read_samples,
        connection_record(5) + subflow_record(4),
        f"{RECORD} 192 {EARLIER}",
    ),
    "links, of connections": (
        records.read_links,
        link_record(5) + subflow_record(5),
        "unknown record kind 2 at offset 192; known are 3 (link)",
    ),
    "links, back in time": (
        records.read_links,
        link_record(5) + link_record(7) + link_record(6),
        f"{RECORD} 384 {EARLIER}",
    ),
    "decisions, cut off": (
        records.read_decisions,
        decision_record(5) + b"\0" * 40,
        f"{RECORD} 48 is cut off: 40 of 48 bytes",
    ),
    "decisions, unknown kind": (
        records.read_decisions,
        decision_record(5, 7) + decision_record(5, 8) + decision_record(5, 9),
        "unknown kind 8 of a decision at offset 48; known are 0 to 7",
    ),
    "decisions, back in time": (
        records.read_decisions,
        decision_record(5) + decision_record(4),
        f"{RECORD} 48 {EARLIER}",
    ),
    "states, cut off": (
        records.read_states,
        state_record(5) + b"\0",
        f"{RECORD} 192 is cut off: 1 of 192 bytes",
    ),
    "states, version": (
        records.read_states,
        state_record(5) + state_record(5, version=3) + state_record(5, version=4),
        f"{RECORD} 192 has version 3 of the format of states; this program reads version 2; "
        "repeat the run with --states",
    ),
    "states, unknown kind": (
        records.read_states,
        state_record(5) + state_record(5, 6) + state_record(5, 0),
        "unknown kind 6 of a state at offset 192; known are 1 to 4",
    ),
    "states, kind 0": (
        records.read_states,
        state_record(5) + state_record(5, 0),
        "unknown kind 0 of a state at offset 192; known are 1 to 4",
    ),
    "states, back in time": (
        records.read_states,
        state_record(5) + state_record(4),
        f"{RECORD} 192 {EARLIER}",
    ),
    "messages, cut off": (
        records.read_messages,
        message_record() + b"\0" * 60,
        f"{RECORD} 64 is cut off: 60 of 64 bytes",
    ),
    "messages, direction": (
        records.read_messages,
        message_record() + message_record(direction=2) + message_record(direction=3),
        "unknown direction 2 of a message at offset 64; known are 0 (up) and 1 (down)",
    ),
    "messages, complete before first": (
        records.read_messages,
        message_record() + message_record(complete_ns=11) + message_record(complete_ns=1),
        "complete_ns of the message at offset 64 is 11, before its first_ns, 12",
    ),
    **{
        f"messages, {name} at {value} ns": (
            records.read_messages,
            message_record(**{name: value}),
            f"{late} of the message at offset 0 is {at}, before its {early}, {before}",
        )
        for name, value, late, at, early, before in (
            ("begin_ns", 9, "begin_ns", 9, "due_ns", 10),
            ("begin_ns", 1, "begin_ns", 1, "due_ns", 10),
            ("begin_ns", 0, "written_ns", 14, "begin_ns", 0),
            ("written_ns", 10, "written_ns", 10, "begin_ns", 11),
            ("first_ns", 10, "first_ns", 10, "begin_ns", 11),
        )
    },
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_with_its_name_and_the_offset(tmp_path: Path, name: str) -> None:
    read, content, message = DAMAGED[name]
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(MptcplabError) as raised:
        read(path)
    assert str(raised.value) == f"{path}: {message}"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "client.samples"
    with pytest.raises(MptcplabError) as raised:
        records.read_samples(path)
    assert str(raised.value) == f"{path}: cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("local", "remote", "index"),
    [
        ("10.0.3.1", "10.1.3.1", 2),  # the client's view
        ("10.1.8.1", "10.0.8.1", 7),  # the server's
        ("10.0.1.1", "10.1.2.1", 0),  # of a mesh: by the client's address
        ("10.1.1.1", "10.0.2.1", 1),
        ("10.0.1.1", "10.0.1.2", -1),
        ("10.2.1.1", "10.255.1.1", -1),  # octets whose sum wraps around to 1
        ("127.0.0.1", "127.0.0.1", -1),
        ("11.0.1.1", "10.1.1.1", -1),
        ("10.0.1.1", "11.1.1.1", -1),
        ("10.1.1.1", "10.1.1.1", -1),
        ("10.3.1.1", "10.254.1.1", -1),
    ],
)
def test_the_addresses_of_a_subflow_tell_its_path(local: str, remote: str, index: int) -> None:
    subflow = np.zeros(1, records.SUBFLOW_DTYPE)
    subflow["local_addr"] = [int(octet) for octet in local.split(".")]
    subflow["remote_addr"] = [int(octet) for octet in remote.split(".")]
    assert records.path_indices(subflow).tolist() == [index]
    # counted from the first path of a connection that is viewed alone
    assert records.path_indices(subflow, 3).tolist() == [index - 2 if index >= 0 else -1]


def test_a_subflow_that_was_closed_before_an_answer_has_no_samples(tmp_path: Path) -> None:
    closed = bytearray(subflow_record(6))
    at = struct.calcsize(HEAD)
    closed[at : at + 4] = bytes(4)
    path = tmp_path / "client.samples"
    path.write_bytes(subflow_record(5) + closed + subflow_record(7))
    assert records.read_samples(path).subflow["time_ns"].tolist() == [5, 7]


def test_a_text_declares_fields_with_their_units() -> None:
    found = records._fields("""
    u8 kind: 1: one,
        2: another
    u64 rate [bytes/s]: the highest
""")
    kind = records.Field("kind", "u8", "", "1: one, 2: another")
    assert found == (kind, records.Field("rate", "u64", "bytes/s", "the highest"))


def test_fields_follow_each_other_and_a_record_has_its_size() -> None:
    sizes = {"u8": 1, "u8[3]": 3, "u8[16]": 16, "u16": 2, "u32": 4, "u64": 8, "ipv4": 4}
    fields = [records.Field(f"a {kind}", kind, "", "") for kind in sizes]
    assert {field.type: field.bytes for field in fields} == sizes
    dtype = records._dtype(fields, 40)
    assert dtype.itemsize == 40
    assert dtype.fields is not None
    offsets = [dtype.fields[field.name][1] for field in fields]
    assert offsets == [0, 1, 4, 20, 22, 26, 34]
    # 1 in each, in the order of bytes of the files, text up to its first zero
    content = b"\1" + b"\1\2\3" + b"ab".ljust(16, b"\0") + b"\1\0" + b"\1\0\0\0"
    content += b"\1" + bytes(7) + b"\1\2\3\4" + b"xx"
    (record,) = np.frombuffer(content, dtype)
    found = [np.asarray(record[field.name]).tolist() for field in fields]
    assert found == [1, [1, 2, 3], b"ab", 1, 1, 1, [1, 2, 3, 4]]


def test_the_page_on_records_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "records.md"
    assert page.read_text() == docs_pages.records_page(), (
        "python -m mptcplab.metrics.docs_pages records"
    )


HEADER = resources.UAPI / "probe.h"
C_TYPES = {"__le64": "u64", "__le32": "u32", "__le16": "u16", "__be32": "ipv4", "__u8": "u8"}


@pytest.mark.parametrize(
    "name",
    [
        *("CONNECTION", "SUBFLOW", "LINK", "NO_SPACE", "UNSCHEDULED"),
        *("QUESTION", "SUBFLOW_STATE", "ANSWER", "DONE"),
        *("WRITER_WAITS", "SNDBUF_FULL", "CLOSING", "HAS_HEAD", "HAS_OLDEST", "HAS_REINJECTION"),
        *("USABLE", "BACKUP", "CAN_SEND", "CARRIED_HEAD", "CARRIED_OLDEST", "CARRIED_REINJECTION"),
        *("THROTTLED", "MEMORY_FULL", "STALE"),
    ],
)
def test_kinds_and_flags_are_those_of_the_kernel(name: str) -> None:
    in_kernel = name.removeprefix("HAS_").removesuffix("_STATE")
    numbers = re.findall(rf"\b(?:PROBE|STATE)_{in_kernel}[ =\t]+(\d+)", HEADER.read_text())
    assert {*map(int, numbers)} == {getattr(records, name)}


@pytest.mark.parametrize(
    ("struct", "fields"),
    [
        ("probe_head", records.HEAD),
        ("probe_connection", records.CONNECTION_FIELDS),
        ("probe_subflow", records.SUBFLOW_FIELDS),
        ("probe_link", records.LINK_FIELDS),
        ("probe_decision", records.DECISION_FIELDS),
    ],
)
def test_the_kernel_writes_the_fields_that_are_read(
    struct: str, fields: tuple[records.Field, ...]
) -> None:
    body = HEADER.read_text().split(f"struct {struct} {{")[1].split("};")[0]
    declared = re.findall(r"^\t(\w+)\t+(\w+)(\[\d+\])?;", body, re.MULTILINE)
    assert [
        (name, C_TYPES[kind] + count) for kind, name, count in declared if name != "padding"
    ] == [(field.name, field.type) for field in fields]


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
@pytest.mark.parametrize(
    ("struct", "dtype"),
    [
        ("probe_connection", records.CONNECTION_DTYPE),
        ("probe_subflow", records.SUBFLOW_DTYPE),
        ("probe_link", records.LINK_DTYPE),
        ("probe_decision", records.DECISION_DTYPE),
    ],
)
def test_a_compiler_puts_the_fields_where_they_are_read(
    tmp_path: Path, struct: str, dtype: np.dtype[np.void]
) -> None:
    heads = [] if struct == "probe_decision" else [field.name for field in records.HEAD]
    lines = [f'#include "{HEADER}"', "#include <stddef.h>"]
    assert dtype.fields is not None
    for name, (kind, offset, *_) in dtype.fields.items():
        place = f"head.{name}" if name in heads else name
        lines += [
            f'_Static_assert(offsetof(struct {struct}, {place}) == {offset}, "");',
            f'_Static_assert(sizeof(((struct {struct} *)0)->{place}) == {kind.itemsize}, "");',
        ]
    source = tmp_path / "layout.c"
    source.write_text("\n".join([*lines, ""]))
    command = ["gcc", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_every_field_of_a_message_is_read_from_its_place(tmp_path: Path) -> None:
    path = tmp_path / "messages.records"
    path.write_bytes(message_record())
    (record,) = records.read_messages(path)
    assert {name: int(record[name]) for name in record.dtype.names} == MESSAGE_VALUES
    assert records.DIRECTIONS == ("up", "down")


def test_what_did_not_happen_to_a_message_is_0(tmp_path: Path) -> None:
    path = tmp_path / "messages.records"
    path.write_bytes(
        message_record(complete_ns=0)
        + message_record(begin_ns=0, written_ns=0, first_ns=0, complete_ns=0)
    )
    assert records.read_messages(path)["complete_ns"].tolist() == [0, 0]


def test_all_of_a_message_may_happen_at_once(tmp_path: Path) -> None:
    path = tmp_path / "messages.records"
    times = dict.fromkeys(("due_ns", "begin_ns", "written_ns", "first_ns", "complete_ns"), 9)
    path.write_bytes(message_record(**times))
    assert records.read_messages(path)["complete_ns"].tolist() == [9]
