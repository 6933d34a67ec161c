# SPDX-License-Identifier: GPL-2.0-only
"""The wheel brings kernel and guest along: where it is installed, runs are those of the clone.

The environment that it is installed into is empty, but for the packages of this one, which it finds
behind its own; with --wheel-packages, what the wheel asks for is installed, in the versions of
requirements.lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks import wheel as wheel_tool
from mptcplab import files, resources
from mptcplab.errors import MachineError, MptcplabError
from mptcplab.lab import doctor, guest, kernel, module_kit, package, prebuilt
from mptcplab.lab.engine import Rig, Watch
from mptcplab.lab.kernel_module import Scheduler
from mptcplab.runs import bench
from tests.kernel.test_module import SCHEDULER

pytestmark = pytest.mark.kernel

ROOT = Path(__file__).parents[2]
PATHS = ("--path", "wifi:50mbit,10ms", "--path", "lte:20mbit,40ms,loss=0.1%")
#: All that a run needs of the machine; PATH has no other program.
TOOLS = ("setpriv", "prlimit", "taskset", "setarch")
COMPILER = ("gcc", "as", "ld", "nm")
MOST_BYTES = 15_000_000
MOST_INSTALLED_BYTES = 300_000_000


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built once by whichever process comes first."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "wheel"
    if kernel.source_of(kernel.build()).path != doctor.DEBIAN_SOURCE:
        pytest.skip("a wheel names Debian's package as the source of its kernel")
    place.mkdir(exist_ok=True)
    with files.locked(place):
        return next(place.glob("*.whl"), None) or wheel_tool.make(place)


@pytest.fixture(scope="session")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What came with the package: `resources.PREBUILT` where the wheel is installed."""
    place = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place / "mptcplab" / "data" / "prebuilt"


class Installed:
    """An environment with the wheel and nothing else, on a machine with a few programs."""

    def __init__(self, wheel: Path, root: Path, *, with_packages: bool) -> None:
        self.root, self.cache = root, root / "cache"
        venv.create(root / "env", with_pip=False)
        (self.packages,) = (root / "env").glob("lib/python*/site-packages")
        self.bin = root / "bin"
        self.bin.mkdir()
        self.offer(*TOOLS)
        pip = [sys.executable, "-m", "pip", "--python", str(root / "env" / "bin" / "python")]
        self._run([*pip, "install", "--quiet", *self._from(with_packages), str(wheel)])

    def _from(self, with_packages: bool) -> list[str]:
        if not with_packages:
            ours = sysconfig.get_path("platlib")
            (self.packages / "packages.pth").write_text(f"{ours}\n")
            return ["--no-deps", "--no-index"]
        versions = re.findall(r"^\S+==[^ ;\\]+", (ROOT / "requirements.lock").read_text(), re.M)
        (self.root / "versions").write_text("\n".join(versions))
        return ["--constraint", str(self.root / "versions")]

    def _run(self, command: list[str]) -> None:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)

    def offer(self, *names: str) -> None:
        """Put programs into PATH."""
        for name in names:
            found = doctor.find_tool(name)
            assert found is not None
            (self.bin / name).symlink_to(Path(found).resolve())

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.root / "env" / "bin" / "mptcplab", *arguments],
            cwd=self.root,
            env={"HOME": str(self.root), "PATH": str(self.bin), "XDG_CACHE_HOME": str(self.cache)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def mptcplab(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Installed:
    root = tmp_path_factory.mktemp("installed")
    return Installed(wheel, root, with_packages=request.config.getoption("--wheel-packages"))


@pytest.fixture
def came_along(unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As if this package came from the wheel, with an empty cache: a copy that can be damaged."""
    copy = tmp_path / "prebuilt"
    shutil.copytree(unpacked, copy)
    monkeypatch.setattr(resources, "PREBUILT", copy)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    prebuilt.came.cache_clear()
    yield copy
    prebuilt.came.cache_clear()


def digests(directory: Path) -> dict[str, str]:
    """The files of a run, but for what it cost."""
    return {
        str(file.relative_to(directory)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(directory.rglob("*"))
        if file.is_file() and file.name != "cost.json"
    }


def test_the_wheel_is_small_and_has_the_same_programs(wheel: Path, unpacked: Path) -> None:
    assert wheel.stat().st_size <= MOST_BYTES
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    built, program = kernel.build(), guest.build()
    assert (unpacked / "kernel" / "linux").read_bytes() == built.image.read_bytes()
    assert (unpacked / "guest").read_bytes() == program.program.read_bytes()


def test_sources_patches_and_licences_come_along(wheel: Path, unpacked: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for place in (
        resources.KERNEL,
        resources.GUEST,
        resources.DKMS,
        resources.EXPERIMENTS,
        resources.CASES,
    ):
        for file in place.rglob("*"):
            if file.is_file():
                assert f"mptcplab/data/{file.relative_to(ROOT)}" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    about = (unpacked / "SOURCES.md").read_text()
    built = json.loads((unpacked / "kernel" / "build.json").read_text())
    assert f"kernel {built['id']} again" in about
    assert built["source"] in about
    assert re.search(r"Debian's source package linux(-6\.12)? 6\.12\.\d+-\S+: ", about)
    assert re.search(r"Debian's source package glibc \d", about)
    assert (unpacked / "LGPL-2.1.txt").read_text().lstrip().startswith("GNU LESSER GENERAL PUBLIC")


def test_without_a_compiler_a_run_is_that_of_the_clone(mptcplab: Installed, tmp_path: Path) -> None:
    scenario = (*PATHS, "--duration", "2s", "--seed", "3", "--scheduler", "minrtt", "--pcap")
    done = mptcplab("run", *scenario, "--out", str(tmp_path / "installed"))
    assert done.returncode == 0, done.stderr
    command = [sys.executable, "-m", "mptcplab", "run", *scenario, "--out", str(tmp_path / "clone")]
    subprocess.run(command, check=True, capture_output=True)
    there, here = (digests(tmp_path / name / "runs") for name in ("installed", "clone"))
    assert there == here
    assert sum(name.endswith(".pcapng") for name in here) >= 2
    # nothing was built
    assert not (mptcplab.cache / "mptcplab" / "guest").exists()
    assert not list((mptcplab.cache / "mptcplab" / "kernel").glob("*/linux"))


def test_a_comparison_ends_with_table_and_picture(mptcplab: Installed, tmp_path: Path) -> None:
    out = tmp_path / "out"
    flags = ("--duration", "1s", "--repeat", "2", "--scheduler", "default,minrtt")
    done = mptcplab("compare", *PATHS, *flags, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^minrtt +\d", done.stdout, re.MULTILINE)
    assert (out / "goodput.png").stat().st_size > 10_000
    report = mptcplab("report", str(out), "--out", str(tmp_path / "report.html"))
    assert report.returncode == 0, report.stderr


def test_what_is_there_and_what_a_build_would_need_is_reported(mptcplab: Installed) -> None:
    identity = kernel.build().id
    doctored = mptcplab("doctor")
    assert doctored.returncode == 0, doctored.stdout
    said = " ".join(doctored.stdout.split())
    assert f"ok kernel came with mptcplab: {identity}" in said
    assert "To build the kernel (not for runs):" in said
    assert "- flex missing" in said
    listed = mptcplab("kernel", "list").stdout
    assert re.search(rf"^{identity} +6.12 +lab +amd64 .*with mptcplab, current", listed, re.M)
    built = mptcplab("kernel", "build")
    assert f"kernel {identity} came with mptcplab: nothing to build" in built.stdout
    other = mptcplab("kernel", "build", "--variant", "cloud")
    assert other.returncode == MachineError.exit_status
    assert "flex: missing" in other.stderr


def test_an_own_scheduler_needs_a_compiler_and_linker(mptcplab: Installed, tmp_path: Path) -> None:
    file = tmp_path / "mine.c"
    file.write_text(SCHEDULER)
    flags = ("run", *PATHS, "--duration", "1s", "--scheduler", str(file), "--out", str(tmp_path))
    refused = mptcplab(*flags)
    assert refused.returncode == MachineError.exit_status
    assert refused.stderr.startswith("mptcplab: gcc: missing; ld: missing\n")
    mptcplab.offer(*COMPILER)
    try:
        done = mptcplab(*flags)
    finally:
        for name in COMPILER:
            (mptcplab.bin / name).unlink()
    assert done.returncode == 0, done.stderr
    (made,) = (mptcplab.cache / "mptcplab" / "kernel").glob("modules/*/mine.ko")
    # and it is the module that make makes, byte for byte
    ours = kernel.module(kernel.build(), file, quiet=True)
    assert ours.path.read_bytes() == made.read_bytes()
    assert ours.digest == made.parent.name


def test_a_debian_package_is_that_of_the_clone(mptcplab: Installed, tmp_path: Path) -> None:
    refused = mptcplab("scheduler", "package", "--out", str(tmp_path / "installed"))
    assert refused.stderr.startswith("mptcplab: dpkg-deb: missing\n")
    mptcplab.offer("dpkg-deb", "tar")
    done = mptcplab("scheduler", "package", "--out", str(tmp_path / "installed"))
    assert done.returncode == 0, done.stderr
    ours = package.make(tmp_path / "clone")
    assert (tmp_path / "installed" / ours.name).read_bytes() == ours.read_bytes()


def test_mistakes_in_a_scheduler_read_as_with_make(came_along: Path, tmp_path: Path) -> None:
    built = kernel.build()
    assert kernel.came_along(built)
    file = tmp_path / "mine.c"
    declared = "void missing(void);\nstatic bool next_segment"
    for text, message in (
        (SCHEDULER.replace("mps_head(conn)", "mps_head(com)"), r"mine\.c:6:\d+: error: .*com"),
        (SCHEDULER.replace('MODULE_LICENSE("GPL");', ""), r"missing MODULE_LICENSE\(\) in mine\.o"),
        (SCHEDULER.replace('"GPL"', '"Mine"'), r"GPL-incompatible module mine\.ko uses GPL-only"),
        (SCHEDULER.replace("mps_scheduler(ops);", ""), "registers no scheduler"),
        (
            SCHEDULER.replace("static bool next_segment", declared, 1).replace(
                "\treturn false;", "\tmissing();\n\treturn false;"
            ),
            r'"missing" \[mine\.ko\] undefined',
        ),
        (f"#include <linux/usb.h>\n{SCHEDULER}", "mptcplab brings only the headers"),
    ):
        file.write_text(text)
        with pytest.raises(MptcplabError, match=message) as failure:
            kernel.module(built, file, quiet=True)
        assert str(doctor.cache_dir()) not in str(failure.value)
    assert list(came_along.parent.glob("cache/**/*.ko")) == []


def test_warnings_are_shown(came_along: Path, tmp_path: Path) -> None:
    kit = module_kit.unpack(came_along / prebuilt.MODULE_KIT, tmp_path / "kit")
    scheduler = Scheduler(
        "mine",
        Path("mine.c"),
        SCHEDULER.replace("\tstruct mps_subflow", "\tint nothing;\n\tstruct mps_subflow").encode(),
    )
    (warning, *_) = [
        line
        for line in module_kit.compile(kit, scheduler, tmp_path / "mine.ko")
        if "warning" in line
    ]
    assert re.match(r"mine\.c:\d+:\d+: warning: unused variable", warning)
    # one in a header that all files include
    text = SCHEDULER.replace("\tstruct mps_subflow", "\tlist_add(conn, 0);\n\tstruct mps_subflow")
    wrong = Scheduler("mine", Path("mine.c"), text.encode())
    with pytest.raises(MptcplabError, match=r"include/linux/list\.h:") as failure:
        module_kit.compile(kit, wrong, tmp_path / "mine.ko")
    assert "headers.h" in str(failure.value)
    assert str(kit) not in str(failure.value)


def test_another_compiler_makes_another_module(
    came_along: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del came_along
    file = tmp_path / "mine.c"
    file.write_text(SCHEDULER)
    built = kernel.build()
    same = kernel.module(built, file, quiet=True)
    monkeypatch.setattr(kernel, "compiler_version", lambda _name="gcc": "gcc 99")
    assert kernel.build() == built
    assert kernel.module(built, file, quiet=True).digest != same.digest


def test_the_benchmark_needs_no_objects_of_a_kernel(came_along: Path, tmp_path: Path) -> None:
    del came_along
    said: list[str] = []
    runner = bench._Runner(Rig(kernel.build(), guest.build()), tmp_path, Watch())
    assert runner.decisions(said.append) == {}
    assert said == ["time of a decision: left out, it takes a kernel that was built here"]


def test_what_came_along_is_used_only_for_the_files_it_was_made_from(
    came_along: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del came_along
    identity = kernel.build().id
    changed = tmp_path / "kernel"
    shutil.copytree(resources.KERNEL, changed)
    monkeypatch.setattr(resources, "KERNEL", changed)
    assert kernel.current() == kernel.build()
    with (changed / "mptcp" / "sched" / "minrtt.c").open("a") as file:
        file.write("/* changed */\n")
    assert kernel.current() is None
    assert kernel.current("cloud") is None
    assert [build.id for build in kernel.built()] == [identity]


def test_a_source_that_was_chosen_counts_more_than_what_came_along(came_along: Path) -> None:
    del came_along
    assert kernel.current() is not None
    note = kernel.place() / "source.json"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps({"path": "/nowhere"}))
    assert kernel.current() is None
    with pytest.raises(MptcplabError, match="the kernel source that --source chose is gone"):
        kernel.build()


def test_what_is_installed_is_small(mptcplab: Installed, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--wheel-packages"):
        pytest.skip("only with --wheel-packages is everything there")
    total = sum(file.lstat().st_size for file in mptcplab.packages.rglob("*") if file.is_file())
    assert total <= MOST_INSTALLED_BYTES
