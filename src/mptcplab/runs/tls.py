# SPDX-License-Identifier: GPL-2.0-only
"""The key of a cluster: whoever has the file can run code on all its machines, and nobody else can.

It is one file, with a private key and a certificate that it signed itself. Scheduler, workers and
client all show that certificate, and trust no other: TLS in both directions. docs/cluster.md.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import ssl
import stat
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError, MachineError, MptcplabError, Problem

FLAG = "--cluster-key"
_NAME = "mptcplab-cluster"
# As long as the file is there: who has had it can no more be shut out by a date than who has it.
_VALID = datetime.timedelta(days=3650)
# Clocks of machines differ, and some are set right only after they have started.
_BEFORE = datetime.timedelta(days=2)
_ACCEPTED = "accepted is a file that was made by: mptcplab cluster key FILE"


def make(file: Path) -> None:
    """Make a new key, readable by nobody else.

    Raises MptcplabError if the file is there already or cannot be written, MachineError without
    the package that makes keys.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ModuleNotFoundError as error:
        raise MachineError(
            f"keys need the package cryptography, and there is no {error.name}",
            "pip install 'mptcplab[cluster]'",
        ) from None
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    # certificates go by the clock
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
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ) + certificate.public_bytes(serialization.Encoding.PEM)
    _write(file, content)


def settings(file: Path) -> dict[str, Any]:
    """What Dask must be told so that all its connections need the key: for `dask.config.set`.

    These name the file and do not have its content, since Dask passes settings on in environments
    and command lines, which others can see. Raises InputError if the file is no key, or others can
    read it.
    """
    place = str(file.absolute())
    _check(file)
    tls = {f"distributed.comm.tls.{role}.cert": place for role in ("scheduler", "worker", "client")}
    # one file has both; a key that is set elsewhere would not fit
    tls |= {f"distributed.comm.tls.{role}.key": place for role in ("scheduler", "worker", "client")}
    return {
        "distributed.comm.require-encryption": True,
        "distributed.comm.default-scheme": "tls",
        "distributed.comm.tls.ca-file": place,
        **tls,
    }


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
        raise refuse("no private key with its certificate") from None


def _write(file: Path, content: bytes) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise MptcplabError(f"{file}: is there already; remove it, or choose another") from None
    except OSError as error:
        raise MptcplabError(f"{file}: cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
    except OSError as error:
        with contextlib.suppress(OSError):
            file.unlink()
        raise MptcplabError(f"{file}: cannot be written: {error.strerror}") from None
