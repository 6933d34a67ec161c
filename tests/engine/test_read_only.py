# SPDX-License-Identifier: GPL-2.0-only
"""A cache that somebody else has filled, and that cannot be written to, is used as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mptcplab.lab import doctor
from mptcplab.lab.engine import Rig
from tests.read_only import called, read_only

PATHS = ("--path", "a:5mbit,5ms", "--path", "b:5mbit,5ms", "--duration", "1s")


@pytest.mark.usefixtures("builds")
@pytest.mark.parametrize("has_locks", [False, True])
def test_a_cache_that_cannot_be_written_to_is_used(
    rig: Rig, tmp_path: Path, has_locks: bool
) -> None:
    cache = tmp_path / "cache" / "mptcplab"
    for made in (rig.kernel.image, rig.kernel.config, rig.guest.program):
        target = cache / made.relative_to(doctor.cache_dir())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(made, target)
    environment = {"XDG_CACHE_HOME": str(cache.parent)}
    source = doctor.cache_dir() / "kernel" / "source.json"
    if source.exists():
        shutil.copy2(source, cache / "kernel")
    if has_locks:
        assert called(tmp_path, "run", *PATHS, "--out", "first", **environment).returncode == 0
        assert list((cache / "cpu").glob("*/*"))
    assert called(tmp_path, "scheduler", "new", "own").returncode == 0
    with read_only(cache):
        done = called(tmp_path, "run", *PATHS, "--out", "out", **environment)
        assert done.returncode == 0, done.stderr
        assert "ermission" not in done.stdout + done.stderr
        refused = called(tmp_path, "run", *PATHS, "--scheduler", "./own.c", **environment)
        assert (refused.returncode, refused.stderr.splitlines()) == (
            1,
            [
                f"mptcplab: cannot write to {cache}/kernel: Permission denied; you can use "
                "the kernels there, but build none",
                "  to fix it: export XDG_CACHE_HOME=/a/directory/that/you/can/write/to",
            ],
        )
