# SPDX-License-Identifier: GPL-2.0-only
"""What tests of runs share: guests with a first process of the test's own, and a sweep that nothing
interrupted, which others are compared with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from tests.sweeps import WholeSweep, program, write_sweep
from tests.vocabulary import RigOf

PROLOGUE = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
static void fault(const char *what)
{
    int fd;

    mount("proc", "/proc", "proc", 0, NULL);
    fd = open("/proc/mptcplab_fault", O_WRONLY);
    dprintf(1, "provoking a fault\\n");
    write(fd, what, __builtin_strlen(what));
}
/* go to where the guest can write to the host */
static void enter_run_directory(void)
{
    mount("proc", "/proc", "proc", 0, NULL);
    mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
    mkdir("/tmp/run", 0755);
    if (mount("hostfs", "/tmp/run", "hostfs", 0, "/proc/self/cwd") || chdir("/tmp/run"))
        perror("the run directory");
}
static void make_file(const char *name, const char *content)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    if (fd < 0 || write(fd, content, __builtin_strlen(content)) < 0 || close(fd))
        perror(name);
}
/* as a run that succeeded */
static void end(void)
{
    make_file("guest.json", "{\\"status\\":\\"ok\\",\\"start_ns\\":1}");
    reboot(RB_POWER_OFF);
}
int main(void)
"""


@pytest.fixture
def rig_of(lab_kernel: KernelBuild, tmp_path: Path) -> RigOf:
    """A rig with a guest whose first process has this body."""

    def build(body: str) -> Rig:
        source, program = tmp_path / "guest.c", tmp_path / "guest"
        source.write_text(f"{PROLOGUE}{{ {body} }}\n")
        # gcc 12 only warns of what are errors since gcc 14
        kinds = ("implicit", "int-conversion", "incompatible-pointer-types", "return-type")
        errors = [f"-Werror={kind}" for kind in kinds]
        command = ["gcc", "-O1", "-static", *errors, "-o", str(program), str(source)]
        subprocess.run(command, check=True)
        return Rig(lab_kernel, Guest("test", program))

    return build


@pytest.fixture(scope="session")
def whole_sweep(
    builds: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> WholeSweep:
    """On two worker processes of this machine."""
    del builds
    place = tmp_path_factory.mktemp("whole")
    file, out = place / "sweep.toml", place / "out"
    total = write_sweep(file, request.config.getoption("--sweep-runs"))
    done = subprocess.run(
        program("sweep", file, "--jobs", 2, "--out", out, "--json"),
        capture_output=True,
        text=True,
        check=True,
    )
    print("\n".join(line for line in done.stderr.splitlines() if "left" in line))
    outcome = json.loads(done.stdout)
    assert (outcome["total"], outcome["made"], outcome["stored"]) == (total, total, 0)
    assert outcome["reasons"] == {}
    return WholeSweep(file, total, out)
