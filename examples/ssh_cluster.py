# SPDX-License-Identifier: GPL-2.0-only
"""Run on machines over SSH: python ssh_cluster.py mptcplab sweep FILE.toml --out results

It starts a Dask cluster on them that only holders of the key can join, calls the command with the
cluster's address and key, and stops the cluster. docs/cluster.md.
"""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncssh
import dask
from distributed import SSHCluster

import mptcplab

# The scheduler runs on the first of the machines, workers on the others.
HOSTS = ["localhost", "lab1", "lab2", "lab3"]
WORKERS = 8
#: Copied to this path on all machines.
KEY = Path.home() / "mptcplab-cluster.pem"
#: Arguments of asyncssh.connect() if `ssh`'s defaults do not fit: username, client_keys, ...
CONNECT: dict[str, Any] = {}


async def send_key() -> None:
    for host in set(HOSTS):
        async with asyncssh.connect(host, **CONNECT) as there:
            # not `cat > KEY`: machines may share the directory
            command = f"umask 077 && cat > {KEY}.part && mv {KEY}.part {KEY}"
            await there.run(command, input=KEY.read_text(), check=True)


def main(command: list[str]) -> int:
    with dask.config.set(mptcplab.cluster_settings(KEY)):
        asyncio.run(send_key())
        pages = {"dashboard_address": "127.0.0.1:0"}
        with SSHCluster(
            HOSTS,
            connect_options=CONNECT,
            scheduler_options=pages,
            worker_options={"nthreads": 1, "n_workers": WORKERS} | pages,
            remote_python=sys.executable,  # at the same place on all of them
        ) as cluster:
            of = ["--cluster", cluster.scheduler_address, "--cluster-key", str(KEY)]
            return subprocess.call([*command, *of])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
