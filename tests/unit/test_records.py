# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mptcplab import resources
from mptcplab.errors import MptcplabError
from mptcplab.metrics import docs_pages, records
from tests.unit import synthetic
from tests.unit.synthetic import FAST, SLOW

# The layout as the probe writes it, spelled out by hand: a field of the table that moves, or
# changes its width, must fail here before it misreads a file.
HEAD = "<QIBBH"
CONNECTION = HEAD + "6Q4IQIIQ3QQ5I"
SUBFLOW = HEAD + "4s4s8I4Q5I4B3I2H2Q2I"
LINK = HEAD + "16s16s4Q4I"
DECISION = "<QQIIIB3sIIII"

# What a mistake in a file is told by.
RECORD = "the record at offset"
EARLIER = "is earlier than the one before it; records are in the order of time"


def connection_record(time_ns: int) -> bytes:
    values = [time_ns, 1, 1, 2, 0, 11, 12, 13, 14, 15, 16, 21, 22, 23, 24, 31, 41, 0, 51]
    return struct.pack(CONNECTION, *values, 61, 62, 63, *range(71, 77)).ljust(192, b"\0")


def subflow_record(time_ns: int) -> bytes:
    addresses = [bytes([10, 0, 2, 1]), bytes([10, 1, 2, 1])]
    values = [time_ns, 1, 2, 1, 0, *addresses, *range(31, 39), *range(41, 45), *range(51, 60)]
    return struct.pack(SUBFLOW, *values, 61, 62, 63, *range(71, 77)).ljust(192, b"\0")


def link_record(time_ns: int) -> bytes:
    values = [time_ns, 0, 3, 0, 0, b"rs1", b"netem", *range(11, 15), *range(21, 25)]
    return struct.pack(LINK, *values).ljust(192, b"\0")


def decision_record(time_ns: int, kind: int = 3) -> bytes:
    return struct.pack(DECISION, time_ns, 11, 12, 13, 14, kind, b"\0\0\0", 15, 16, 17, 0)


def test_every_field_of_a_connection_record_is_read_from_its_place(tmp_path: Path) -> None:
    path = tmp_path / "server.samples"
    path.write_bytes(connection_record(5))
    record = records.read_samples(path).connection[0]
    assert {name: int(record[name]) for name in record.dtype.names} == {
        "time_ns": 5, "connection": 1, "kind": 1, "n": 2, "flags": 0,
        "delivered_bytes": 11, "read_bytes": 12, "ofo_bytes": 13, "written_bytes": 14,
        "sent_bytes": 15, "acked_bytes": 16, "sndbuf_used": 21, "sndbuf": 22, "rcvbuf_used": 23,
        "rcvbuf": 24, "window_bytes": 31, "ofo_packets": 41, "reserved": 0,
        "reinjected_bytes": 51, "waits": 61, "refused": 62, "forced": 63,
        "blocked_us": 71, "blocks": 72, "fallbacks": 73,
        "forced_reinjections": 74, "deferred": 75, "refused_calls": 76,
    }  # fmt: skip


def test_every_field_of_a_subflow_record_is_read_from_its_place(tmp_path: Path) -> None:
    path = tmp_path / "client.samples"
    path.write_bytes(subflow_record(5))
    record = records.read_samples(path).subflow[0]
    assert record["local_addr"].tolist() == [10, 0, 2, 1]
    assert record["remote_addr"].tolist() == [10, 1, 2, 1]
    numbers = {n: int(record[n]) for n in record.dtype.names if not n.endswith("_addr")}
    assert numbers == {
        "time_ns": 5, "connection": 1, "kind": 2, "n": 1, "flags": 0,
        "cwnd": 31, "ssthresh": 32, "srtt_us": 33, "rttvar_us": 34, "min_rtt_us": 35,
        "in_flight": 36, "mss": 37, "unsent_bytes": 38, "sent_bytes": 41, "acked_bytes": 42,
        "received_bytes": 43, "retransmitted_bytes": 44, "retransmitted_packets": 51,
        "data_packets_out": 52, "data_packets_in": 53, "window_bytes": 54, "ofo_bytes": 55,
        "ca_state": 56, "tcp_state": 57, "backup": 58, "reserved": 59,
        "new_segments": 61, "duplicates": 62, "reinjections": 63,
        "local_port": 71, "remote_port": 72, "blocking_us": 73, "pacing_rate": 74, "rto_us": 75,
        "timeouts": 76,
    }  # fmt: skip


def test_every_field_of_a_link_record_is_read_from_its_place(tmp_path: Path) -> None:
    path = tmp_path / "links.samples"
    path.write_bytes(link_record(5))
    record = records.read_links(path)[0]
    assert (record["device"], record["qdisc"]) == (b"rs1", b"netem")
    numbers = {n: int(record[n]) for n in record.dtype.names if n not in ("device", "qdisc")}
    assert numbers == {
        "time_ns": 5, "connection": 0, "kind": 3, "n": 0, "flags": 0,
        "sent_bytes": 11, "sent_packets": 12, "dropped_packets": 13, "lost_packets": 14,
        "queue_packets": 21, "queue_bytes": 22, "delayed_packets": 23, "delayed_bytes": 24,
    }  # fmt: skip


def test_samples_of_connections_are_no_links(tmp_path: Path) -> None:
    path = tmp_path / "links.samples"
    path.write_bytes(link_record(5) + subflow_record(5))
    with pytest.raises(MptcplabError) as raised:
        records.read_links(path)
    text = "unknown record kind 2 at offset 192; known are 3 (link)"
    assert str(raised.value) == f"{path}: {text}"


def test_links_that_go_back_in_time_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "links.samples"
    path.write_bytes(link_record(5) + link_record(7) + link_record(6))
    with pytest.raises(MptcplabError) as raised:
        records.read_links(path)
    assert str(raised.value) == f"{path}: the record at offset 384 {EARLIER}"


def test_every_field_of_a_decision_is_read_from_its_place(tmp_path: Path) -> None:
    path = tmp_path / "client.decisions"
    path.write_bytes(decision_record(5))
    record = records.read_decisions(path)[0]
    assert record["reserved"].tolist() == [0, 0, 0]
    assert {n: int(record[n]) for n in record.dtype.names if n != "reserved"} == {
        "time_ns": 5, "seq": 11, "connection": 12, "length": 13, "subflow": 14, "kind": 3,
        "unsent_bytes": 15, "in_flight": 16, "cwnd": 17, "reserved2": 0,
    }  # fmt: skip
    # as `kind` of kernel/mptcp/trace.h
    assert (
        *("wait", "new", "reinjection", "duplicate", "dropped", "refused", "forced", "event"),
    ) == records.DECISIONS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (decision_record(5) + b"\0" * 40, f"{RECORD} 48 is cut off: 40 of 48 bytes"),
        (
            decision_record(5, 7) + decision_record(5, 8) + decision_record(5, 9),
            "unknown kind 8 of a decision at offset 48; known are 0 to 7",
        ),
        (decision_record(5) + decision_record(4), f"{RECORD} 48 {EARLIER}"),
    ],
    ids=["cut off", "unknown kind", "back in time"],
)
def test_a_damaged_trace_is_refused_with_its_name_and_the_offset(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "client.decisions"
    path.write_bytes(content)
    with pytest.raises(MptcplabError) as raised:
        records.read_decisions(path)
    assert str(raised.value) == f"{path}: {message}"


def state_record(time_ns: int, kind: int = 1, version: int = 2) -> bytes:
    return struct.pack("<QIBBH", time_ns, 1, kind, 0, version).ljust(192, b"\0")


def test_states_of_all_kinds_are_read_in_the_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "client.states"
    path.write_bytes(b"".join(state_record(4 + kind, kind) for kind in (1, 2, 3, 4)))
    states = records.read_states(path)
    assert states.dtype == records.QUESTION_DTYPE
    assert states["kind"].tolist() == [1, 2, 3, 4]
    assert states["time_ns"].tolist() == [5, 6, 7, 8]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (state_record(5) + b"\0", f"{RECORD} 192 is cut off: 1 of 192 bytes"),
        (
            state_record(5) + state_record(5, version=3) + state_record(5, version=4),
            f"{RECORD} 192 has version 3 of the format of states; this program reads version 2; "
            "repeat the run with --states",
        ),
        (
            state_record(5) + state_record(5, 6) + state_record(5, 5),
            "unknown kind 6 of a state at offset 192; known are 1 to 4",
        ),
        (state_record(5) + state_record(4), f"{RECORD} 192 {EARLIER}"),
    ],
    ids=["cut off", "version", "unknown kind", "back in time"],
)
def test_damaged_states_are_refused_with_the_name_and_the_offset(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "client.states"
    path.write_bytes(content)
    with pytest.raises(MptcplabError) as raised:
        records.read_states(path)
    assert str(raised.value) == f"{path}: {message}"


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


def test_kinds_are_told_apart_in_a_mixed_file(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (connection_record(5) + b"\0" * 100, f"{RECORD} 192 is cut off: 100 of 192 bytes"),
        (
            connection_record(5) + b"\0" * 192 + link_record(5),
            "unknown record kind 0 at offset 192; known are 1 (connection) and 2 (subflow)",
        ),
        (connection_record(5) + subflow_record(4), f"{RECORD} 192 {EARLIER}"),
    ],
    ids=["cut off", "unknown kind", "back in time"],
)
def test_a_damaged_file_is_refused_with_its_name_and_the_offset(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "server.samples"
    path.write_bytes(content)
    with pytest.raises(MptcplabError) as raised:
        records.read_samples(path)
    assert str(raised.value) == f"{path}: {message}"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "client.samples"
    with pytest.raises(MptcplabError) as raised:
        records.read_samples(path)
    assert str(raised.value) == f"{path}: cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("local", "remote", "index"),
    [
        ("10.0.1.1", "10.1.1.1", 0),  # the client's view
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


@pytest.mark.parametrize("name", ["NO_SPACE", "UNSCHEDULED"])
def test_flags_of_a_connection_are_those_of_the_kernel(name: str) -> None:
    (bit,) = re.findall(rf"^#define PROBE_{name}\s+(\d+)$", HEADER.read_text(), re.MULTILINE)
    assert int(bit) == getattr(records, name)


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


# Messages

MESSAGE = "<IBBH7Q"


def message_record(**values: int) -> bytes:
    fields = {
        "connection": 3,
        "direction": 1,
        "choice": 2,
        "reserved": 0,
        "bytes": 100,
        "due_ns": 10,
        "begin_ns": 11,
        "written_ns": 14,
        "first_ns": 12,
        "complete_ns": 15,
        "reserved2": 0,
    }
    return struct.pack(MESSAGE, *(fields | values).values())


def test_every_field_of_a_message_is_read_from_its_place(tmp_path: Path) -> None:
    path = tmp_path / "messages.records"
    path.write_bytes(message_record())
    (record,) = records.read_messages(path)
    assert {name: int(record[name]) for name in record.dtype.names} == {
        "connection": 3, "direction": 1, "choice": 2, "reserved": 0, "bytes": 100,
        "due_ns": 10, "begin_ns": 11, "written_ns": 14, "first_ns": 12, "complete_ns": 15,
        "reserved2": 0,
    }  # fmt: skip
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (message_record() + b"\0" * 60, f"{RECORD} 64 is cut off: 60 of 64 bytes"),
        (
            message_record() + message_record(direction=2) + message_record(direction=3),
            "unknown direction 2 of a message at offset 64; known are 0 (up) and 1 (down)",
        ),
        (
            message_record() + message_record(complete_ns=11) + message_record(complete_ns=1),
            "complete_ns of the message at offset 64 is 11, before its first_ns, 12",
        ),
        (
            message_record(begin_ns=9),
            "begin_ns of the message at offset 0 is 9, before its due_ns, 10",
        ),
        (
            message_record(begin_ns=1),
            "begin_ns of the message at offset 0 is 1, before its due_ns, 10",
        ),
        (
            message_record(begin_ns=0),
            "written_ns of the message at offset 0 is 14, before its begin_ns, 0",
        ),
        (
            message_record(written_ns=10),
            "written_ns of the message at offset 0 is 10, before its begin_ns, 11",
        ),
        (
            message_record(first_ns=10),
            "first_ns of the message at offset 0 is 10, before its begin_ns, 11",
        ),
    ],
    ids=[
        "cut off",
        "direction",
        "complete before first",
        "begun early",
        "begun at 1 ns",
        "written, not begun",
        "written early",
        "arrived early",
    ],
)
def test_damaged_messages_are_refused_with_the_name_and_the_offset(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "messages.records"
    path.write_bytes(content)
    with pytest.raises(MptcplabError) as raised:
        records.read_messages(path)
    assert str(raised.value) == f"{path}: {message}"
