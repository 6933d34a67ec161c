# SPDX-License-Identifier: GPL-2.0-only
"""The key of a cluster: whoever has the file can run code on all its machines, and nobody else can.

It is one file, with a private key and its self-signed certificate. Scheduler, workers and client
all present that certificate, and trust no other: mutual TLS. docs/cluster.md.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import ssl
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mptcplab import extras
from mptcplab.errors import InputError, MptcplabError, Problem

FLAG = "--cluster-key"
#: For `dask.config.set`: without most of what Dask does for its developers. It keeps the last 1000
#: messages of each connection, with the tasks in them. A worker looks at its own stack each 10 ms,
#: at its delays each 20 ms, at its memory each 100 ms: eight idle ones take half a CPU.
LEAN = {
    "distributed.admin.low-level-log-length": 10,
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}
_NAME = "mptcplab-cluster"
# Practically for ever: an expiry date would not help against a leaked file.
_VALID = datetime.timedelta(days=3650)
# Clocks of machines differ, and some are set only after boot.
_BEFORE = datetime.timedelta(days=2)
_ACCEPTED = "accepted is a file made by: mptcplab cluster key FILE"


def make(file: Path) -> None:
    """Make a new key, readable by nobody else.

    Raises MptcplabError if the file exists or cannot be written, MachineError without the package
    that makes keys.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ModuleNotFoundError as error:
        raise extras.lacking("cluster", "the key of a cluster", str(error.name)) from None
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    # certificates use the real time
    now = datetime.datetime.now(datetime.UTC)  # noqa: TID251
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + _VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(private, hashes.SHA256())
    )
    content = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ) + certificate.public_bytes(serialization.Encoding.PEM)
    _write(file, content)


def settings(file: Path) -> dict[str, Any]:
    """Settings for `dask.config.set` that make all of Dask's connections need the key.

    They name the file instead of containing it, since Dask passes settings on in environments and
    command lines, which others can see. Raises InputError if the file is not a key, or others can
    read it.
    """
    place = str(file.absolute())
    _check(file)
    tls = {f"distributed.comm.tls.{role}.cert": place for role in ("scheduler", "worker", "client")}
    # the file has both; a key that is set elsewhere would not match
    tls |= {f"distributed.comm.tls.{role}.key": place for role in ("scheduler", "worker", "client")}
    return {
        "distributed.comm.require-encryption": True,
        "distributed.comm.default-scheme": "tls",
        "distributed.comm.tls.ca-file": place,
        **tls,
    }


def mend_streams() -> None:
    """Have no connection of this process fail of what happened to another one.

    Since OpenSSL 3.4 Python leaves the error of a write to a connection that the other end has
    closed in the queue of its thread, and the next read of every other connection in that thread
    takes it for its own (python/cpython#148594): the scheduler loses all its workers at once.
    """
    from tornado.iostream import SSLIOStream

    empty = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    def mended(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*arguments: Any) -> Any:
            try:
                return method(*arguments)
            except (BrokenPipeError, ConnectionResetError):
                # a new connection empties the queue; its own error is there again
                empty.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_side=True)
                return method(*arguments)

        return call

    for name in ("read_from_fd", "write_to_fd"):
        method = getattr(SSLIOStream, name)
        if not hasattr(method, "__wrapped__"):
            setattr(SSLIOStream, name, mended(method))


def _check(file: Path) -> None:
    def refuse(why: str) -> InputError:
        return InputError([Problem(FLAG, "", str(file), f"{why}; {_ACCEPTED}")])

    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror}") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise refuse(f"others can read it; to fix it: chmod 600 {file}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_cert_chain(file, password=lambda: "")
        context.load_verify_locations(file)
    except (ssl.SSLError, ValueError):
        raise refuse("not a private key with its certificate") from None


def _write(file: Path, content: bytes) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise MptcplabError(f"{file}: exists already; remove it, or choose another") from None
    except OSError as error:
        raise MptcplabError(f"{file}: cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
    except OSError as error:
        with contextlib.suppress(OSError):
            file.unlink()
        raise MptcplabError(f"{file}: cannot be written: {error.strerror}") from None
