# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own unit tests: every KUnit case of kernel/mptcp/tests/ is a test here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from mptcplab import resources
from mptcplab.errors import RunError
from mptcplab.lab import engine, kernel
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import run_files
from tests import ktap
from tests.vocabulary import scenario_of

pytestmark = pytest.mark.kernel

SOURCES = sorted((resources.KERNEL / "mptcp" / "tests").glob("*_test.c"))


def cases(source: Path) -> list[tuple[str, str]]:
    """The suite and the name of every case in a source file."""
    text = source.read_text()
    suites = re.findall(r'struct kunit_suite \w+ = {[^}]*?\.name\s*= "([^"]+)"', text)
    assert len(suites) == 1, f"one suite is expected in {source}"
    return [(suites[0], name) for name in re.findall(r"\bKUNIT_CASE\w*\((\w+)", text)]


ALL = [(source.stem, *case) for source in SOURCES for case in cases(source)]

#: What a module of tests found: the result of each case, and why its run failed ("" if it did not).
Results = tuple[Mapping[tuple[str, str], ktap.KtapCase], str]


@pytest.fixture(scope="session")
def results_of(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Results]:
    """Load a module of tests into a guest of its own; done once for each."""

    @cache
    def run(module: str) -> Results:
        directory = tmp_path_factory.mktemp(module)
        built = kernel.kunit_modules(lab_kernel, quiet=True)
        modules = {name: built / f"{name}.ko" for name in ("kunit", module)}
        plan = f"sysctl -qw kernel.printk=7\ninsmod kunit.ko\ninsmod {module}.ko\n"
        failure = ""
        try:
            engine.run(
                scenario_of("p:10mbit,1ms"),
                plan,
                Rig(
                    lab_kernel,
                    lab_guest,
                    modules=modules,
                    limits=Limits(wall_s=1200.0, stall_cpu_s=5.0),
                ),
                directory,
            )
        except RunError as error:
            failure = str(error)
        console = (directory / run_files.CONSOLE).read_text(errors="replace")
        return ktap.results(console.replace("\r", "")), failure

    return run


@pytest.mark.parametrize(("module", "suite", "case"), ALL)
def test_kunit(results_of: Callable[[str], Results], module: str, suite: str, case: str) -> None:
    results, failure = results_of(module)
    assert (suite, case) in results, failure or "it did not run"
    result = results[suite, case]
    if result.skipped:
        pytest.skip(result.skipped)
    if not result.passed:
        pytest.fail("\n".join(result.lines), pytrace=False)


@pytest.mark.parametrize("module", [source.stem for source in SOURCES])
def test_the_list_has_every_case(results_of: Callable[[str], Results], module: str) -> None:
    results, failure = results_of(module)
    assert not failure
    assert {(module, *case) for case in results} == {each for each in ALL if each[0] == module}
