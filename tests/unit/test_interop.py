# SPDX-License-Identifier: GPL-2.0-only
"""What two machines with different versions of MPTCP send, and what is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.interop import __main__ as interop
from checks.interop.__main__ import Sent

GOOD = "counter MPCapableSYNRX 1\r\ncounter MPCapableACKRX 1\r\ncounter MPJoinAckRx 3\r\nend\r\n"


def test_a_machine_without_an_end_has_a_mistake() -> None:
    assert Sent.read(GOOD).mistakes == []
    (mistake,) = Sent.read(GOOD.replace("end", "")).mistakes
    assert "did not come to its end" in mistake


@pytest.mark.parametrize("at", interop.ROLES)
def test_a_mistake_of_either_machine_makes_the_data_wrong(at: str) -> None:
    wrong = Sent.read("wrong data of the client: EOF\n" + GOOD)
    sent = {role: wrong if role == at else Sent.read(GOOD) for role in interop.ROLES}
    assert "wrong" in interop.row({"client": "6.12", "server": "v0.95"}, sent)


def test_a_connection_is_mptcp_if_the_server_took_its_key() -> None:
    pair = {"client": "6.12", "server": "6.12"}
    assert "4" in interop.row(pair, dict.fromkeys(interop.ROLES, Sent.read(GOOD)))
    fell_back = Sent.read(GOOD.replace("MPCapableACKRX", "MPCapableFallbackACK"))
    assert "TCP" in interop.row(pair, dict.fromkeys(interop.ROLES, fell_back))


def test_the_sockets_of_one_machine_are_the_peers_of_the_other() -> None:
    client, server = (
        [
            dict(part.split("=") for part in word.split(",")[1:])
            for word in interop.links(role)
            if word.startswith("dgram")
        ]
        for role in interop.ROLES
    )
    assert len(client) == len(server) == 2
    for mine, theirs in zip(client, server, strict=True):
        assert mine["local.path"] == theirs["remote.path"] != mine["remote.path"]
        assert mine["remote.path"] == theirs["local.path"]


def test_another_kernel_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n")
    assert interop.main([str(tmp_path)]) != 0
    assert "source" in capsys.readouterr().err
