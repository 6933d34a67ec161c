# SPDX-License-Identifier: GPL-2.0-only
"""Clusters let in nobody who has not the key; all is on loopback, or in a namespace."""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from mptcplab.errors import MptcplabError
from mptcplab.runs import cluster, tls
from mptcplab.runs.cluster import OnCluster
from mptcplab.runs.tasks import Task
from tests.engine.test_cluster import assert_as_here, done_by, tasks
from tests.vocabulary import in_namespace

asyncssh = pytest.importorskip("asyncssh")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

EXAMPLES = Path(__file__).parents[2] / "examples"

__all__ = ["tasks"]

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.pem"
    tls.make(file)
    return file


@contextmanager
def keyed_workers(key: Path, cache: Path) -> Iterator[Any]:
    """A cluster of one worker that takes its key from Dask's settings, as those of the examples."""
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    own = {"nthreads": 1, "env": {"XDG_CACHE_HOME": str(cache)}, "local_directory": str(cache)}
    with dask.config.set(tls.settings(key)):
        cluster = distributed.SpecCluster(
            {0: {"cls": distributed.Nanny, "options": options | own}},
            scheduler={"cls": distributed.Scheduler, "options": options},
            security=distributed.Security(),
        )
    with cluster as started:
        yield started


def is_let_in(address: str, certificate: Path | None = None, *, encrypted: bool = True) -> bool:
    """Whether what is at an address talks to whoever shows a certificate, or none."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as plain:
        try:
            if not encrypted:
                plain.sendall(b"whoever" * 100)
                return bool(plain.recv(1))
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            if certificate is not None:
                context.load_cert_chain(certificate)
            with context.wrap_socket(plain) as safe:
                # a scheduler, a worker and a nanny speak first
                return bool(safe.recv(1))
        except (ssl.SSLError, ConnectionError):
            return False


def test_nobody_is_let_in_without_the_key(
    tasks: Callable[..., list[Task]], key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 2.0)
    tls.make(tmp_path / "other.pem")
    there, here = tasks(2, "there"), tasks(2, "here")
    with keyed_workers(key, tmp_path / "cache") as started:
        address = started.scheduler_address
        nanny = started.workers[0]
        for each in (address, nanny.address, nanny.worker_address):
            assert each.startswith("tls://127.0.0.1:")
            assert is_let_in(each, key)
            assert not is_let_in(each, tmp_path / "other.pem")
            assert not is_let_in(each)
            assert not is_let_in(each, encrypted=False)

        plain = address.replace("tls://", "tcp://")
        for wrong, shown in ((address, tmp_path / "other.pem"), (plain, None), (plain, "none")):
            with pytest.raises(MptcplabError, match=f"--cluster {wrong}: "):
                OnCluster(wrong, print, shown)
        with pytest.raises(MptcplabError, match="tls:// needs a key; accepted is --cluster-key FI"):
            OnCluster(address, print)

        on = OnCluster(address, print, key)
        try:
            done = done_by(on, there)
        finally:
            on.shutdown(cancel=True)
    assert_as_here(done, there, here)


# In a network namespace with an address that is none of loopback's.
OPEN = """
import sys
import distributed
from mptcplab.errors import MptcplabError
from mptcplab.runs.cluster import OnCluster

def attempt(address, key=None):
    try:
        OnCluster(address, print, key).shutdown(cancel=True)
        print("connected")
    except MptcplabError as error:
        print(str(error).replace("\\n", " "))

def started(scheduler, worker):
    options = {"dashboard_address": "127.0.0.1:0"}
    own = {"nthreads": 1, "local_directory": sys.argv[1]}
    return distributed.SpecCluster(
        {0: {"cls": distributed.Worker, "options": options | own | worker}},
        scheduler={"cls": distributed.Scheduler, "options": options | scheduler},
    )

if __name__ == "__main__":
    with started({"host": "192.0.2.1"}, {}) as cluster:
        attempt(cluster.scheduler_address)
        attempt(cluster.scheduler_address, "none")
    with started({"host": "0.0.0.0"}, {"host": "127.0.0.1"}) as cluster:
        attempt(f"tcp://127.0.0.1:{cluster.scheduler.port}")
    with started({"host": "127.0.0.1"}, {}) as cluster:
        attempt(cluster.scheduler_address)
"""


def test_what_whoever_reaches_it_could_use_is_not_connected_to(tmp_path: Path) -> None:
    file = tmp_path / "open.py"
    file.write_text(OPEN)
    prepare = "ip link set lo up && ip addr add 192.0.2.1/32 dev lo && exec"
    said = in_namespace("net", f"{prepare} {sys.executable} {file} {tmp_path}")
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    mistake = "1 mistake in --cluster   tcp://"
    assert lines[0].startswith(mistake + "192.0.2.1:")
    assert "--cluster-key FILE, or --cluster-key none in a network without others" in lines[0]
    assert lines[1] == "connected"
    assert lines[2].startswith(mistake + "127.0.0.1:")
    assert "whoever can reach tcp://0.0.0.0:" in lines[2]
    assert lines[3].startswith("1 of the 1 workers of the cluster cannot make runs")
    assert "whoever can reach tcp://0.0.0.0:" in lines[3]
    assert len(lines) == 4


# The examples that start clusters

PATH = "a:10mbit,10ms"


def example(name: str, **settings: Any) -> Callable[[list[str]], int]:
    """The main function of an example, with some of its settings changed."""
    found = runpy.run_path(str(EXAMPLES / name))
    main: Any = found["main"]
    main.__globals__.update(settings)
    return cast(Callable[[list[str]], int], main)


def compare(out: Path) -> list[str]:
    """A run by the program, which the example tells where the cluster is."""
    return [
        *(sys.executable, "-m", "mptcplab", "compare", "--path", PATH, "--duration", "1s"),
        *("--scheduler", "default", "--repeat", "1", "--out", str(out)),
    ]


def assert_one_run(out: Path) -> None:
    document = json.loads((out / "comparison.json").read_text())
    assert [run["status"] for run in document["runs"]] == ["ok"]


SSHD = """
import asyncio, sys
import asyncssh

async def serve(process):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
    child = await asyncio.create_subprocess_shell(process.command, **pipes)
    await process.redirect(child.stdin, child.stdout, child.stderr)
    status = await child.wait()
    # exit() closes the channel, and what is still to be sent would end the connection
    await asyncio.gather(process.stdout.drain(), process.stderr.drain())
    process.exit(status)

async def listen():
    key = asyncssh.read_private_key(sys.argv[1])
    allowed = asyncssh.import_authorized_keys(key.export_public_key().decode())
    options = {"server_host_keys": [key], "authorized_client_keys": allowed, "encoding": None}
    server = await asyncssh.listen("127.0.0.1", 0, process_factory=serve, **options)
    print(server.get_port(), flush=True)
    await server.wait_closed()

asyncio.run(listen())
"""


@contextmanager
def ssh_server(place: Path) -> Iterator[dict[str, Any]]:
    """A server of SSH on loopback; gives what asyncssh.connect() needs to know of it."""
    key = place / "ssh"
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(key)
    with subprocess.Popen(
        [sys.executable, "-c", SSHD, str(key)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as server:
        assert server.stdout is not None
        try:
            known = {"username": "somebody", "client_keys": [str(key)], "known_hosts": None}
            yield {"port": int(server.stdout.readline()), "config": None, **known}
        finally:
            os.killpg(server.pid, signal.SIGKILL)


def test_the_example_for_ssh_starts_a_cluster_with_a_key(builds: None, tmp_path: Path) -> None:
    del builds
    key = tmp_path / "key.pem"
    with ssh_server(tmp_path) as connect:
        main = example(
            "ssh_cluster.py", HOSTS=["127.0.0.1"] * 2, WORKERS=1, KEY=key, CONNECT=connect
        )
        assert main(compare(tmp_path / "out")) == 0
    assert_one_run(tmp_path / "out")
    assert key.stat().st_mode & 0o777 == 0o600


SBATCH = """#!/bin/sh
cp "$1" {place}/job.sh
setsid bash {place}/job.sh </dev/null >{place}/job.log 2>&1 &
echo $! >{place}/pid
echo Submitted batch job 1
"""


def test_the_example_for_slurm_starts_a_cluster_with_a_key(
    builds: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job runs here instead."""
    del builds
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "sbatch").write_text(SBATCH.format(place=tmp_path))
    (tools / "scancel").write_text("#!/bin/sh\nexit 0\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    key = tmp_path / "key.pem"
    job = {
        "cores": 1,
        "processes": 1,
        "memory": "1GB",
        "interface": "lo",
        "local_directory": str(tmp_path),
    }
    try:
        main = example("slurm_cluster.py", KEY=key, JOBS=1, JOB=job)
        assert main(compare(tmp_path / "out")) == 0
    finally:
        with suppress(FileNotFoundError, ProcessLookupError):
            os.killpg(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert_one_run(tmp_path / "out")
    script = (tmp_path / "job.sh").read_text()
    assert f"--tls-cert {key}" in script
    # what others can see names the key, and does not have it
    assert "PRIVATE" not in script
