# SPDX-License-Identifier: GPL-2.0-only
"""Schedulers of a person's own are compiled for the real kernel."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mptcplab.errors import MptcplabError
from mptcplab.lab import kernel
from mptcplab.lab.kernel import KernelBuild, Module

pytestmark = pytest.mark.kernel

SCHEDULER = """\
// SPDX-License-Identifier: GPL-2.0-only
#include "mpsched.h"

static bool next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_head(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (seg && mps_available(subflow))
			return mps_pick_new(pick, conn, subflow, seg);
	return false;
}

static struct mps_ops ops = {
	.next_segment = next_segment,
	.name = "mine",
	.owner = THIS_MODULE,
};
mps_scheduler(ops);

MODULE_LICENSE("GPL");
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A scheduler that nobody compiled before."""
    path = tmp_path / "mine.c"
    path.write_text(f"{SCHEDULER}\n/* {tmp_path} */\n")
    return path


@pytest.fixture
def made(lab_kernel: KernelBuild, file: Path) -> Iterator[Module]:
    module = kernel.module(lab_kernel, file)
    yield module
    shutil.rmtree(module.path.parent)


def readelf(path: Path, *options: str) -> str:
    done = subprocess.run(["readelf", *options, path], capture_output=True, text=True, check=True)
    return done.stdout


def test_modules_compile_quietly(made: Module, capfd: pytest.CaptureFixture[str]) -> None:
    assert made.path.name == "mine.ko"
    assert "warning" not in capfd.readouterr().err
    assert "mps_register" in readelf(made.path, "--symbols", "--wide")


def test_a_module_reaches_all_of_the_address_space(made: Module) -> None:
    # The kernel lies below 2 GB and modules do not: an offset of 32 bits is for what is in the
    # same section alone, such as the module's own functions.
    relocations = readelf(made.path, "--relocs", "--wide")
    outside = re.findall(r"(R_X86_64_\w+)\s+[0-9a-f]+ mps_\w+", relocations)
    assert outside
    assert set(outside) == {"R_X86_64_64"}


def test_functions_of_a_module_have_names_for_backtraces(made: Module) -> None:
    assert re.search(
        r"FUNC +LOCAL .* next_segment$", readelf(made.path, "--symbols", "--wide"), re.M
    )


def test_a_compile_error_is_reported_as_the_compiler_says_it(
    lab_kernel: KernelBuild, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(SCHEDULER.replace("mps_head(conn)", "mps_head(com)"))
    monkeypatch.chdir(file.parent)
    with pytest.raises(MptcplabError) as failure:
        kernel.module(lab_kernel, Path("mine.c"))
    lines = str(failure.value).splitlines()
    assert lines[0] == "mine.c does not compile"
    assert lines[1] == "  mine.c: In function 'next_segment':"
    assert re.match(r"  mine\.c:6:\d+: error: .*com.* undeclared", lines[2])
    assert "mps_head(com)" in lines[3]
    assert str(lab_kernel.image.parents[1]) not in str(failure.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("return false;", "return missing();", r'"missing" \[mine\.ko\] undefined'),
        ('MODULE_LICENSE("GPL");', "", r"missing MODULE_LICENSE\(\) in mine\.o"),
    ],
)
def test_the_kernels_own_check_of_modules_is_reported(
    lab_kernel: KernelBuild, file: Path, old: str, new: str, message: str
) -> None:
    text = SCHEDULER.replace("static bool next", "bool missing(void);\nstatic bool next", 1)
    file.write_text(text.replace(old, new))
    with pytest.raises(MptcplabError, match=message):
        kernel.module(lab_kernel, file)
