# SPDX-License-Identifier: GPL-2.0-only
"""The router and the server of docs/two-uplinks.md, on a kernel without our patches for MPTCP."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import run_files
from tests.vocabulary import RunProgram, output, received_bytes, without_patches

SCRIPTS = Path(__file__).parents[2] / "examples" / "two-uplinks"
PORT, DESTINATION = "5201", "198.51.100.2"
DSL_BPS, LTE_BPS = 12e6, 30e6
PATHS = ("dsl:12mbit,20ms,queue=300", "lte:30mbit,12500us")
#: 4 KiB each 4 ms, two thirds of what DSL carries.
STREAM = ["-b", "8M", "-l", "4K"]
STREAM_BPS = 8e6


@pytest.fixture(scope="module")
def lab_kernel(lab_kernel: KernelBuild) -> KernelBuild:
    """The kernel that the package is for takes the place of the lab's."""
    return without_patches(lab_kernel)


@pytest.mark.parametrize(
    ("scheduler", "options", "lte", "rate_bps"),
    [
        # iperf3's own connection, and the first blocks, which find small windows: a part in 20
        ("overflow", [*STREAM, "-R"], (0, 0.05), (0.97 * STREAM_BPS, 1.03 * STREAM_BPS)),
        ("overflow", STREAM, (0, 0.05), (0.97 * STREAM_BPS, 1.03 * STREAM_BPS)),
        # headers take 94 of 1514 bytes. With DSL alone LTE has no part; with both full, 30 of 42
        ("overflow", ["-R"], (0.6, 30 / 42 + 0.05), (0.85 * (DSL_BPS + LTE_BPS), 42e6)),
        # Linux's own leaves a backup alone, but for less than a packet of iperf3's other connection
        ("default", ["-R"], (0, 1e-4), (0.9 * DSL_BPS, DSL_BPS)),
    ],
)
def test_lte_carries_what_dsl_cannot(
    run_program: RunProgram,
    scheduler: str,
    options: list[str],
    lte: tuple[float, float],
    rate_bps: tuple[float, float],
) -> None:
    run = run_program(
        router("iperf3", "-J", "-c", DESTINATION, "-t", "5", *options),
        server("iperf3", "-s"),
        paths=PATHS,
        scheduler=scheduler,
    )
    receiver = run_files.CLIENT_SAMPLES if "-R" in options else run_files.SERVER_SAMPLES
    arrived = received_bytes(run, receiver)
    assert lte[0] <= sum(arrived[1:]) / sum(arrived) <= lte[1]
    # without the first second, in which the windows grow
    rates_bps = [
        each["sum"]["bits_per_second"] for each in json.loads(output(run))["intervals"][1:]
    ]
    assert rate_bps[0] < sum(rates_bps) / len(rates_bps) < rate_bps[1]


def test_each_byte_arrives_when_dsl_fails(run_program: RunProgram, tmp_path: Path) -> None:
    content = random.Random(1).randbytes(4_000_000)
    (tmp_path / "file").write_bytes(content)
    url = f"http://{DESTINATION}:{PORT}/file"
    run = run_program(
        # the second one begins when a ping each second has gone unanswered for a second
        router("sh", "-c", f"curl -sS {url}; sleep 2; curl -sS {url}"),
        server("python3", "-m", "http.server", "--directory", str(tmp_path), PORT),
        paths=PATHS,
        scheduler="overflow",
        event=("500ms:dsl:down",),
    )
    assert (run.directory / run_files.CLIENT_OUTPUT).read_bytes() == 2 * content
    # no more than DSL can carry in its half second
    arrived = received_bytes(run, run_files.CLIENT_SAMPLES)
    assert arrived[0] < 0.5 * DSL_BPS / 8
    assert sum(arrived) > len(content)


def router(*program: str) -> list[str]:
    return ["sh", str(SCRIPTS / "router.sh"), PORT, *program]


def server(*program: str) -> list[str]:
    return ["sh", str(SCRIPTS / "server.sh"), *program]
