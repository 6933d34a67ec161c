# SPDX-License-Identifier: GPL-2.0-only
"""What runs packetdrill's scripts: the hashes that it gets, and which tests there are."""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import socket
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from mptcplab import resources
from mptcplab.cli import load
from mptcplab.errors import InputError
from mptcplab.tools.selftests import packetdrill

SCRIPTS = sorted((resources.GUEST / "packetdrill" / "scripts").glob("*.pkt"))
#: From linux/if_alg.h and sys/socket.h.
AF_ALG, SOL_ALG, ALG_SET_KEY = 38, 279, 1
HASH_BYTES = 32


@pytest.fixture(scope="module")
def libc(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library that packetdrill has before libc."""
    made = tmp_path_factory.mktemp("libc") / "libc.so"
    source = resources.GUEST / "packetdrill" / "libc.c"
    command = ("gcc", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o")
    subprocess.run([*command, made, source], check=True)
    return ctypes.CDLL(str(made), use_errno=True)


def bind(libc: ctypes.CDLL, name: bytes) -> int:
    """A socket for a hash, which may be refused: then -1."""
    listening = libc.socket(AF_ALG, socket.SOCK_SEQPACKET, 0)
    address = struct.pack("<H14sII64s", AF_ALG, b"hash", 0, 0, name)
    assert listening >= 0
    return -1 if libc.bind(listening, address, len(address)) else int(listening)


def hashed(libc: ctypes.CDLL, name: bytes, key: bytes | None, parts: Sequence[bytes]) -> bytes:
    """A hash as packetdrill asks for one."""
    listening = bind(libc, name)
    if key is not None:
        assert libc.setsockopt(listening, SOL_ALG, ALG_SET_KEY, key, len(key)) == 0
    accepted = libc.accept(listening, None, None)
    for part in parts:
        assert libc.send(accepted, part, len(part), 0) == len(part)
    found = ctypes.create_string_buffer(HASH_BYTES)
    assert libc.recv(accepted, found, HASH_BYTES, 0) == HASH_BYTES
    assert libc.close(accepted) == libc.close(listening) == 0
    return found.raw


# around the ends of a block, 64 bytes, of which 9 are for its own end
@pytest.mark.parametrize("length", [0, 1, 8, 54, 55, 56, 63, 64, 65, 119, 120, 128, 1000, 4096])
def test_hashes_are_those_of_python(libc: ctypes.CDLL, length: int) -> None:
    message = bytes(i * 7 % 251 for i in range(length))
    parts = [message[: length // 3], message[length // 3 :]]
    assert hashed(libc, b"sha256", None, parts) == hashlib.sha256(message).digest()
    for key in (b"", b"k" * 16, b"k" * 64, b"k" * 65):
        expected = hmac.new(key, message, hashlib.sha256).digest()
        assert hashed(libc, b"hmac(sha256)", key, parts) == expected


def test_other_hashes_are_refused(libc: ctypes.CDLL) -> None:
    assert bind(libc, b"sha1") == -1


def test_a_script_is_a_test_for_each_version_of_ip_that_its_name_allows() -> None:
    assert [name for name, _ in packetdrill.variants(Path("a/b.pkt"))] == [
        *("a/b,ipv4", "a/b,ipv4-mapped-ipv6", "a/b,ipv6")
    ]
    assert [version for _, version in packetdrill.variants(Path("b_v4.pkt"))] == [
        *("ipv4", "ipv4-mapped-ipv6")
    ]
    assert [version for _, version in packetdrill.variants(Path("b_v6.pkt"))] == ["ipv6"]


def test_other_scripts_get_a_tenth_of_their_tolerance() -> None:
    assert packetdrill.stricter_us("// a\n--tolerance_usecs=100000\n`x`\n") == 10000
    # what packetdrill has without is 4 ms
    assert packetdrill.stricter_us("+0 < S 0:0(0)\n") == 400


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_our_scripts_say_where_the_rule_is(script: Path) -> None:
    first, second, *_ = script.read_text().splitlines()
    assert first == "// SPDX-License-Identifier: GPL-2.0-only"
    assert second.startswith("// RFC 8684, section 3.")
    # nothing that is tested may be late
    assert "tolerance" not in script.read_text()


def test_there_is_a_script_for_each_thing_that_a_scheduler_must_not_break() -> None:
    names = " ".join(script.stem for script in SCRIPTS)
    wanted = ("mp_capable", "mp_join", "dss", "data_fin", "fallback", "mp_fail", "add_addr")
    assert [name for name in (*wanted, "remove_addr", "fastclose") if name not in names] == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--packetdrill", "nothing"], "nothing: no program"),
        (["--packetdrill", "true", "--packetdrill-scripts", "."], r"\.: a directory with scripts"),
    ],
)
def test_mistakes_are_told(
    options: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "true").symlink_to("/bin/true")
    with pytest.raises(InputError, match=says):
        load("selftests").main(["--only", "packetdrill", *options], standalone_mode=False)
