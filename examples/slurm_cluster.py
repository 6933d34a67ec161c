# SPDX-License-Identifier: GPL-2.0-only
"""Run as SLURM jobs: python slurm_cluster.py mptcplab sweep FILE.toml --out results

It starts a Dask scheduler here, on the login node, and workers as jobs, which only holders of the
key can join, calls the command with the cluster's address and key, and stops everything.
docs/cluster.md.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import dask
from dask_jobqueue import SLURMCluster
from distributed import Security

import mptcplab

#: In a directory that the compute nodes share.
KEY = Path.home() / "mptcplab-cluster.pem"
JOBS = 20
JOB: dict[str, Any] = {
    "queue": "short",  # your site's, like the next three
    "cores": 16,
    "memory": "16GB",
    "walltime": "04:00:00",
    "processes": 16,  # one run each
}
# workers end before their job, not all at the same time, so that runs are handed over
LIFETIME = ["--lifetime", "235m", "--lifetime-stagger", "4m"]


def main(command: list[str]) -> int:
    with (
        dask.config.set(mptcplab.cluster_settings(KEY)),
        SLURMCluster(
            security=Security(),
            scheduler_options={"dashboard_address": "127.0.0.1:0"},
            worker_extra_args=[*LIFETIME, "--dashboard-address", "127.0.0.1:0"],
            **JOB,
        ) as cluster,
    ):
        cluster.adapt(maximum_jobs=JOBS)
        of = ["--cluster", cluster.scheduler_address, "--cluster-key", str(KEY)]
        return subprocess.call([*command, *of])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
