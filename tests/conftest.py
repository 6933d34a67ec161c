# SPDX-License-Identifier: GPL-2.0-only
"""What the tests share: the builds, and runs of the real kernel."""

from __future__ import annotations

import atexit
import gc
import json
import signal
import subprocess
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab import resources
from mptcplab.lab import doctor, kernel, kernel_names
from mptcplab.lab import guest as guest_module
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig, RunOutcome
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_tree import KERNEL_VERSION
from mptcplab.metrics import run_files
from mptcplab.runs import experiment, single
from mptcplab.runs.program import find
from mptcplab.scenario.workload import Program
from tests.vocabulary import PROGRAM_PATHS, Run, RunProgram, RunScenario, request_of


def pytest_configure() -> None:
    """Who starts the tests in the background has interrupts ignored, as have all programs then."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """All modules and tests stay to the end: what looks for garbage need not look at them, which
    takes 0.6 s each time.
    """
    atexit.register(gc.unfreeze)  # else DuckDB says at the end that it has leaked
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kernel-variant",
        choices=sorted(kernel.VARIANTS),
        default="lab",
        help="the kernel that runs are made with (default: lab)",
    )
    parser.addoption(
        "--kernel",
        help="its name, as in mptcplab kernel list, instead of the current one (default: current)",
    )
    parser.addoption(
        "--sweep-runs",
        type=int,
        default=24,
        help="how many runs the sweep has that is interrupted (default: 24)",
    )
    parser.addoption(
        "--all-pairs",
        action="store_true",
        help="change each scheduler into each other one (default: into two of them)",
    )
    parser.addoption(
        "--wheel-packages",
        action="store_true",
        help="install what the wheel needs with it, from the package index, instead of using the "
        "packages of this environment",
    )
    parser.addoption(
        "--docs-commands",
        action="store_true",
        help="run the commands of README.md and docs/ to their ends (default: they are only read)",
    )
    parser.addoption(
        "--processors",
        action="store_true",
        help="make runs on other processors, which QEMU emulates (default: on this one alone)",
    )
    parser.addoption(
        "--site",
        type=Path,
        help="where `make site` has put the site that is to be tested (default: none is)",
    )


@pytest.fixture(scope="session", autouse=True)
def current_kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """With --kernel, its source is that of the current kernel, also for programs that tests start:
    in a cache that shares everything with the real one but this choice.
    """
    name = request.config.getoption("--kernel")
    if name is None:
        yield
        return
    # what is built before it is shared is kept
    named = kernel_names.find(name)
    kernel_names.build(replace(named, variant=request.config.getoption("--kernel-variant")))
    guest_module.build()
    real, cache = doctor.cache_dir(), tmp_path_factory.mktemp("cache") / "mptcplab"
    (cache / "kernel").mkdir(parents=True)
    for each in (*real.iterdir(), *(real / "kernel").iterdir()):
        if each.name not in ("kernel", "source.json"):
            (cache / each.relative_to(real)).symlink_to(each)
    (cache / "kernel" / "source.json").write_text(json.dumps({"path": str(named.source)}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache.parent))
        yield


@pytest.fixture(scope="session")
def lab_kernel(request: pytest.FixtureRequest) -> KernelBuild:
    """The lab kernel, built if it is not in the cache."""
    doctor.require(*doctor.RUN_CHECKS)
    return kernel.build(variant=request.config.getoption("--kernel-variant"))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    made.mkdir()
    return made


@pytest.fixture(scope="session")
def series(lab_kernel: KernelBuild) -> str:
    """The series of Linux that runs are made with, such as 6.12: what is true of one may not be of
    another, and bounds say of which they are.
    """
    about = kernel.about(lab_kernel.image.parent)
    return about.series if about else KERNEL_VERSION


@pytest.fixture(scope="session")
def lab_guest() -> Guest:
    return guest_module.build()


@pytest.fixture(scope="session")
def rig(lab_kernel: KernelBuild, lab_guest: Guest) -> Rig:
    return Rig(lab_kernel, lab_guest)


@pytest.fixture(scope="session")
def builds(lab_kernel: KernelBuild, lab_guest: Guest) -> None:
    """They are there; programs that tests start find them."""
    assert lab_guest
    if lab_kernel.variant != "lab":
        pytest.skip("the program runs the lab kernel")


@pytest.fixture
def run_scenario(lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path) -> RunScenario:
    """Run the scenario of some flags (see scenario.Flags) on the real kernel.

    The scheduler may be a C file, which is compiled.
    """
    count = 0

    def run(*paths: str, limits: Limits | None = None, **flags: Any) -> Run:
        nonlocal count
        count += 1
        directory = tmp_path / f"run{count}"
        directory.mkdir()
        request = request_of(*paths, **flags)
        (scenario,) = request.runs()
        modules = experiment.modules(request, lab_kernel)
        rig = Rig(lab_kernel, lab_guest, modules, limits=limits or Limits())
        return Run.made(scenario, rig, directory)

    return run


@pytest.fixture
def run_program(lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path) -> RunProgram:
    """Run a client's command, and a server's, in the directory `tmp_path`.

    A command that is a C file is compiled there; what follows it are its arguments.
    """
    count = 0

    def command(words: Sequence[str]) -> tuple[str, ...]:
        first, *arguments = words
        if first.endswith(".c"):
            source, first = first, str(tmp_path / Path(first).stem)
            headers = f"-I{resources.KERNEL / 'mptcp'}"
            compiler = ["cc", "-O2", "-Wall", "-Werror", headers, "-o", first, source]
            subprocess.run(compiler, check=True)
        return find([first, *arguments])

    def run(
        client: Sequence[str],
        server: Sequence[str] = (),
        *,
        paths: Sequence[str] = PROGRAM_PATHS,
        time_limit_s: float = 600,
        limits: Limits | None = None,
        script: str | None = None,
        listen: str = "",
        **flags: Any,
    ) -> RunOutcome:
        nonlocal count
        count += 1
        directory = tmp_path / f"run{count}"
        directory.mkdir()
        if script is not None:
            (directory / run_files.CLIENT_INPUT).write_text(script)
        program = Program(
            client=command(client),
            server=command(server) if server else (),
            directory=str(tmp_path),
            time_limit_ns=int(time_limit_s * 1e9),
            input="none" if script is None else "file",
            listen=listen,
        )
        request = request_of(*paths, program=program, **flags)
        (scenario,) = request.runs()
        modules = experiment.modules(request, lab_kernel)
        rig = Rig(lab_kernel, lab_guest, modules, limits=limits or Limits())
        return single.run(scenario, rig, directory)

    return run
