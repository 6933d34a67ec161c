# SPDX-License-Identifier: GPL-2.0-only
"""Addresses and keys of a cluster, and the answers of its workers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mptcplab
from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab.engine import Rig
from mptcplab.runs import archive, cluster, store, tls
from mptcplab.runs.entries import run_entry
from mptcplab.runs.store import Store
from mptcplab.runs.tasks import Done, Task, failed
from tests.unit.advised import GUEST, KERNEL
from tests.vocabulary import scenario_of

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
from tornado.iostream import SSLIOStream  # noqa: E402
from tornado.tcpserver import TCPServer  # noqa: E402

# Connections


async def read_beside_one_that_is_closed(key: Path) -> bytes:
    """What arrives on a connection, after writes to another one that the other end has closed."""
    accepted: list[SSLIOStream] = []

    class Accepting(TCPServer):
        async def handle_stream(self, stream: Any, address: object) -> None:
            del address
            await stream.wait_for_handshake()
            accepted.append(stream)

    with dask.config.set(tls.settings(key)):
        security = distributed.Security()
    listen, connect = (
        security.get_listen_args("scheduler")["ssl_context"],
        security.get_connection_args("client")["ssl_context"],
    )
    server = Accepting(ssl_options=listen)
    server.listen(0, "127.0.0.1")
    (port,) = (each.getsockname()[1] for each in server._sockets.values())

    async def connection() -> tuple[SSLIOStream, SSLIOStream]:
        client = SSLIOStream(socket.socket(), ssl_options=connect)
        await client.connect(("127.0.0.1", port))
        while not accepted:
            await asyncio.sleep(0)
        return client, accepted.pop()

    client, sound = await connection()
    other, broken = await connection()
    arrives = asyncio.ensure_future(sound.read_bytes(5))
    other.close()
    for _ in range(3):  # at the second the other end has refused the first
        with contextlib.suppress(OSError):
            broken.socket.write(b"to nobody")
    sound._try_inline_read()  # as when something else wakes it up
    await client.write(b"hello")
    try:
        return await arrives
    finally:
        server.stop()
        for each in (client, sound, broken):
            each.close()


def test_a_connection_does_not_fail_of_what_happened_to_another_one(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    tls.make(key)
    assert asyncio.run(read_beside_one_that_is_closed(key)) == b"hello"


# What a worker answers


class Answer:
    """The future of a task, done with whatever a worker says."""

    def __init__(self, answer: object) -> None:
        self.result: Callable[[], Any] = lambda: answer


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task.of(scenario_of("a:10mbit,10ms"), Rig(KERNEL, GUEST), tmp_path / "out")


@pytest.fixture
def right(task: Task, tmp_path: Path) -> Done:
    """What a worker answers when the run has ended well."""
    entry = run_entry(task.scenario, directory=store.place(task.key))
    run = tmp_path / "run"
    run.mkdir()
    store.write_json(run / store.RESULT, entry.result())
    return Done(task.key, entry, archive.pack(run))


def outcome(answer: object, task: Task) -> Done:
    return cluster._outcome(Answer(answer), task)  # type: ignore[arg-type]


def test_a_right_answer_is_stored(task: Task, right: Done) -> None:
    full = failed(task, "the disk is full")
    assert outcome(full, task) == full
    assert outcome(right, task) == replace(right, files=None)
    assert task.out is not None
    assert Store(task.out).keys() == [task.key]


def test_files_that_are_none_make_a_failed_run_and_leave_nothing(task: Task, right: Done) -> None:
    done = outcome(replace(right, files=b"what?"), task)
    assert (done.key, done.entry.status, done.files) == (task.key, "failed", None)
    assert task.out is not None
    assert list((task.out / "runs").iterdir()) == []


# Files that are sent


def test_a_file_that_was_sent_is_kept_whole_and_can_be_run(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    content = b"\x7fELF" + bytes(range(256)) * 64
    file = cluster.kept("0" * 64)
    with pytest.raises(MptcplabError, match=f"{file} is gone"):
        cluster._Sent(task, {task.rig.kernel.image: "0" * 64}).arrived(tmp_path)
    # a damaged one is replaced, and nothing else is left
    for before in (None, b"damaged"):
        if before:
            file.write_bytes(before)
        cluster.keep("0" * 64, zlib.compress(content))
        assert file.read_bytes() == content
        assert os.access(file, os.X_OK)
    assert list(file.parent.iterdir()) == [file]


# Keys


def test_a_key_is_for_its_owner_alone_and_is_not_overwritten(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        tls.make(tmp_path / "key.pem")
    finally:
        os.umask(old)
    content = (tmp_path / "key.pem").read_bytes()
    assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600
    assert content.startswith(b"-----BEGIN PRIVATE KEY-----")
    with pytest.raises(MptcplabError, match=r"key\.pem: exists already"):
        tls.make(tmp_path / "key.pem")
    assert (tmp_path / "key.pem").read_bytes() == content
    with pytest.raises(MptcplabError, match=r"nowhere/key\.pem: cannot be written: No such file"):
        tls.make(tmp_path / "nowhere" / "key.pem")


def test_dask_is_reported_where_the_key_is_and_not_what_it_is(tmp_path: Path) -> None:
    """It passes its settings on in command lines, which others can see."""
    settings = mptcplab.cluster_settings(tmp_path / "key.pem")
    assert settings == mptcplab.cluster_settings(str(tmp_path / "key.pem"))
    with dask.config.set(settings):
        security = distributed.Security()
        for role in ("client", "worker", "scheduler"):
            found = security.get_tls_config_for_role(role)
            assert {found["ca_file"], found["cert"], found["key"]} == {str(tmp_path / "key.pem")}
            security.get_listen_args(role)
    assert security.require_encryption
    assert "PRIVATE" not in json.dumps(settings)


@pytest.mark.parametrize(
    ("length", "mode", "message"),
    [
        (None, None, "cannot be read: No such file or directory"),
        (0, 0o600, "not a private key with its certificate"),
        (300, 0o600, "not a private key with its certificate"),
        (10_000, 0o640, "others can read it; to fix it: chmod 600 "),
        (10_000, 0o604, "others can read it; to fix it: chmod 600 "),
    ],
)
def test_what_is_no_key_is_reported(
    tmp_path: Path, length: int | None, mode: int | None, message: str
) -> None:
    """Of a key, its first bytes."""
    file = tmp_path / "key.pem"
    if length is not None and mode is not None:
        tls.make(tmp_path / "whole.pem")
        file.write_bytes((tmp_path / "whole.pem").read_bytes()[:length])
        file.chmod(mode)
    with pytest.raises(InputError, match=rf"key\.pem: {message}.*; accepted is a file made"):
        cluster.OnCluster("tls://127.0.0.1:1", print, file)


# Addresses


@pytest.mark.parametrize(
    ("address", "closed"),
    [
        ("tls://192.0.2.1:1", True),
        ("tcp://127.0.0.1:1", True),
        ("tcp://127.1.2.3:1", True),
        ("tcp://[::1]:1", True),
        ("tcp://localhost:1", True),
        ("tcp://0.0.0.0:1", False),
        ("tcp://[::]:1", False),
        ("tcp://192.0.2.1:1", False),
        ("tcp://[2001:db8::1]:1", False),
        ("ws://192.0.2.1:1", False),
    ],
)
def test_only_loopback_and_tls_are_closed_to_others(address: str, closed: bool) -> None:
    assert cluster._is_closed(address) == closed


@pytest.mark.parametrize("given", ["address", "file"])
def test_an_address_that_others_could_use_is_not_connected_to(tmp_path: Path, given: str) -> None:
    address = "tcp://192.0.2.1:8786"
    if given == "file":
        (tmp_path / "scheduler.json").write_text(json.dumps({"address": address}))
        address = str(tmp_path / "scheduler.json")
    with pytest.raises(InputError, match=r"tls://HOST:PORT with --cluster-key FILE, or --cluster-"):
        cluster.OnCluster(address, print)
    # a key is for TLS and for clusters
    tls.make(tmp_path / "key.pem")
    with pytest.raises(InputError, match="--cluster-key is for tls://HOST:PORT, and this is tcp:"):
        cluster.OnCluster("tcp://127.0.0.1:1", print, tmp_path / "key.pem")
    with pytest.raises(InputError, match="tls:// needs a key"):
        cluster.OnCluster("tls://127.0.0.1:1", print, cluster.NO_KEY)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON: EOF while parsing"),
        (b"\xff", "not JSON: "),
        (b"[]", "not the file of a Dask scheduler: as a whole"),
        (b'{"address": 7}', "not the file of a Dask scheduler: address: Input should be"),
        (b'{"address": "http://localhost"}', "not an address"),
    ],
)
def test_a_file_of_no_scheduler_is_reported(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "scheduler.json"
    file.write_bytes(content)
    with pytest.raises(
        InputError, match=rf"scheduler\.json: {message}.*; accepted is tcp://HOST:PO"
    ):
        cluster.OnCluster(str(file), print)
