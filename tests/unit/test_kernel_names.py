# SPDX-License-Identifier: GPL-2.0-only
"""Kernels by name: how they get one, and what is removed with it, with a `make` that pretends."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mptcplab.cli import load
from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab import doctor, kernel, kernel_names
from mptcplab.lab.kernel_names import Named
from mptcplab.runs import experiment
from mptcplab.selftests import campaign
from mptcplab.selftests.campaign import Wanted
from tests.unit.test_kernel import MAKEFILE, SCHEDULER, Repository, repository

__all__ = ["repository"]


@pytest.fixture(autouse=True)
def debian(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Debian's archive, here a directory, whose protocol.c has other lines."""
    repository.write("debian/Makefile", MAKEFILE)
    repository.write("debian/net/mptcp/protocol.c", "one\ntwo\nthree\ndebian\n")
    monkeypatch.setattr(doctor, "DEBIAN_SOURCE", repository.root / "debian")
    return repository.root / "debian"


@pytest.fixture
def tested(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """One with all variants of the kernel."""
    for name in ("cloud", "selftest"):
        repository.write(f"kernel/{name}.config", f"CONFIG_{name.upper()}=y\n")
    monkeypatch.setattr(doctor, "require", lambda *_checks: None)
    return repository


def call(*words: str) -> Result:
    return CliRunner().invoke(load("kernel"), words, catch_exceptions=False)


def named(repository: Repository, name: str, *more: str) -> kernel.KernelBuild:
    assert call("build", "--source", str(repository.source), "--name", name, *more).exit_code == 0
    found = kernel_names.find(name).current()
    assert found is not None
    return found


def test_a_name_stands_for_a_source_and_a_variant(repository: Repository) -> None:
    built = named(repository, "mine")
    assert built.name == "mine"
    assert built.image.read_text().startswith("one\nTWO\n")
    assert kernel_names.known()["mine"] == Named("mine", repository.source)
    # it is not what runs without a name use
    assert kernel.current() is None
    assert "debian" in kernel.build(quiet=True).image.read_text()
    # nor is it another kernel than the one that has no name
    assert kernel.build(repository.source, quiet=True, remember=False) == built
    # each has its own modules
    file = repository.write("mine.c", SCHEDULER)
    module, of_debian = (
        kernel.module(each, file, quiet=True) for each in (built, kernel.build(quiet=True))
    )
    assert module.path.exists()
    assert of_debian.digest != module.digest


def test_a_name_follows_our_patches_and_files(repository: Repository, debian: Path) -> None:
    # it can be for a variant of the usual source
    assert call("build", "--name", "plain", "--engine-only").exit_code == 0
    assert kernel_names.find("plain") == Named("plain", debian, "engine")
    before = named(repository, "mine", "--variant", "debug")
    repository.write("kernel/mptcp/probe.c", "another probe\n")
    assert kernel_names.find("mine").current() is None
    assert call("build", "--name", "mine").exit_code == 0
    after = kernel_names.find("mine").current()
    assert after is not None
    assert (after.variant, before.variant) == ("debug", "debug")
    assert after.id != before.id


def test_a_kernel_to_compare_has_a_name_or_an_id(repository: Repository) -> None:
    mine = named(repository, "mine", "--variant", "debug")
    assert kernel_names.build_any("mine") == mine
    found = kernel_names.build_any(mine.id)
    assert (found, found.name) == (mine, mine.id)
    current = kernel_names.build_any("current")
    assert current == kernel.current()
    assert current.name == ""
    with pytest.raises(InputError, match="every packet differs"):
        kernel_names.build_any("stock:linux-image.deb")
    for unknown, why in (("0123456789ab", "in the cache has"), ("other", "kernel has")):
        with pytest.raises(InputError, match=f"{unknown}: .*{why} this"):
            kernel_names.build_any(unknown)


def test_series_have_names_where_their_source_is(repository: Repository, debian: Path) -> None:
    repository.write("kernel/patches/7.3/mptcp/.keep", "")
    assert kernel_names.known() == {"6.12": Named("6.12", debian)}
    with pytest.raises(
        InputError, match=r"one of 6\.12, stock:PACKAGE\.deb; to add it: make setup-kernels"
    ):
        kernel_names.find("7.3")
    archive = repository.write("cache/mptcplab/sources/linux-source-7.3.tar.xz", "")
    assert kernel_names.find("7.3") == Named("7.3", archive)
    # whatever --source chose, and without changing that
    repository.build()
    assert "debian" in kernel_names.build(kernel_names.find("6.12"), quiet=True).image.read_text()
    assert "debian" not in kernel.build(quiet=True).image.read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("7.4", "series of Linux"),
        ("0123456789ab", "ids of kernels"),
        ("current", "without --kernel"),
        ("a,b", "a name is"),
        ("../x", "a name is"),
        ("", "a name is"),
    ],
)
def test_not_everything_can_be_a_name(repository: Repository, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call("build", "--source", str(repository.source), "--name", name)
    assert repository.finished() == []


def test_an_unknown_name_is_reported_with_the_known_ones(repository: Repository) -> None:
    named(repository, "mine")
    with pytest.raises(InputError, match=r'no kernel has this name; did you mean "mine"\?'):
        kernel_names.find("mime")
    with pytest.raises(InputError, match="kernel build --source ARCHIVE --name other"):
        kernel_names.find("other")
    for asked, hint in (("nosuch", ";"), ("mime", '; did you mean "mine"?')):
        # one that can only be used is not proposed
        removable = f"{asked}: no kernel has this name{hint} accepted is one of 6.12, mine"
        with pytest.raises(InputError, match=rf"{re.escape(removable)}$"):
            call("remove", asked)
    for name in ("6.99", "0123456789ab", "current", "Other"):  # which --name refuses
        with pytest.raises(InputError, match="kernel build --source ARCHIVE --name NAME"):
            kernel_names.find(name)


@pytest.mark.parametrize(
    ("asked", "accepted"),
    [
        # as each of them takes them
        (kernel_names.find, "6.12, mine, stock:PACKAGE.deb"),
        (kernel_names.build_any, "6.12, mine, current, an id of mptcplab kernel list"),
        (campaign.builds, "6.12, mine"),
        (lambda name: campaign.check(Wanted(), [name]), "6.12, mine"),
    ],
)
def test_only_what_is_accepted_is_proposed(
    repository: Repository, asked: Callable[[str], object], accepted: str
) -> None:
    named(repository, "mine")
    with pytest.raises(InputError) as error:
        asked("other")
    assert f"accepted is one of {accepted}; to add it:" in str(error.value)


def test_names_that_cannot_be_read_are_reported(repository: Repository) -> None:
    for text in ("[]", "3", "{", "", '{"mine": 3}', '{"mine": {"source": "/x"}}'):
        repository.write("cache/mptcplab/kernel/names.json", text)
        with pytest.raises(MptcplabError, match=r"names\.json: not a table of kernels' names"):
            kernel_names.known()


def test_a_name_is_removed_with_what_only_it_needs(repository: Repository) -> None:
    mine = named(repository, "mine")
    module = kernel.module(mine, repository.write("mine.c", SCHEDULER), quiet=True)
    same = named(repository, "same")
    assert same.id == mine.id
    # all of it is that of the other name, too
    assert kernel_names.remove("mine") == []
    assert mine.image.exists()
    tree = kernel.tree_of(repository.source)
    message = call("remove", "same").output
    assert message.splitlines()[-1].startswith("freed: ")
    assert str(mine.image.parent) in message
    assert not any(path.exists() for path in (mine.image, module.path, tree))
    assert "same" not in kernel_names.known()


def left(repository: Repository) -> set[Path]:
    """The kernels, trees and modules in the cache."""
    places = ("*/linux", "trees/*", "modules/*")
    return {path for place in places for path in repository.cache.glob(place)}


@pytest.mark.parametrize("variant", ["lab", "debug", "upstream", "engine", "selftest-engine"])
def test_a_name_is_removed_with_all_its_builds(tested: Repository, variant: str) -> None:
    before = left(tested)
    mine = named(tested, "mine", "--variant", variant)
    campaign.builds("mine")
    if mine.has_framework:
        ours = experiment.kernel_by_name("mine", "cloud" if variant == "lab" else "amd64")
        kernel.module(ours, tested.write("mine.c", SCHEDULER), quiet=True)
    made = left(tested) - before
    assert kernel_names.unneeded() == []
    gone = {each.directory for each in kernel_names.remove("mine")}
    assert gone == {path.parent if path.name == "linux" else path for path in made}
    assert left(tested) == before


def test_what_another_name_of_the_same_source_needs_stays(tested: Repository) -> None:
    named(tested, "mine")
    campaign.builds("mine")
    of_mine = left(tested)
    named(tested, "upstream", "--variant", "upstream")
    named(tested, "engine", "--engine-only")
    campaign.builds("upstream")
    campaign.builds("engine")
    of_all = left(tested)
    # the tests of both run on the same kernel, and all are built in one tree
    assert [each.what.split()[0] for each in kernel_names.remove("upstream")] == ["kernel"]
    kernel_names.remove("engine")
    assert left(tested) == of_mine
    named(tested, "engine", "--engine-only")
    campaign.builds("engine")
    kernel_names.remove("mine")
    assert of_mine & left(tested) == {kernel.tree_of(tested.source)}
    assert left(tested) < of_all


def test_the_tree_of_a_source_that_is_gone_is_removed_with_its_name(tested: Repository) -> None:
    named(tested, "mine")
    campaign.builds("mine")
    (tree,) = tested.cache.glob("trees/*")
    shutil.move(tested.source, tested.root / "away")
    assert {each.directory for each in kernel_names.remove("mine")} == {tree}


def test_of_a_series_only_what_was_built_is_removed(repository: Repository, debian: Path) -> None:
    built = kernel_names.build(kernel_names.find("6.12"), quiet=True)
    # runs without a name use it
    assert kernel_names.remove("6.12") == []
    repository.build()
    assert "its source is" in call("remove", "6.12").output
    assert not built.image.exists()
    assert debian.exists()
    assert "6.12" in kernel_names.known()


def test_prune_removes_what_nothing_names(repository: Repository) -> None:
    old = named(repository, "mine")
    module = kernel.module(old, repository.write("mine.c", SCHEDULER), quiet=True)
    repository.write("kernel/mptcp/probe.c", "another probe\n")
    new = named(repository, "mine")
    usual = kernel.build(quiet=True)
    assert [(each.what, each.directory) for each in kernel_names.unneeded()] == [
        (f"kernel {old.id}", old.image.parent),
        ("module", module.path.parent),
    ]
    assert "would be freed: " in call("prune", "--dry-run").output
    assert old.image.exists()
    call("prune")
    assert not old.image.exists()
    assert not module.path.exists()
    assert kernel_names.find("mine").current() == new
    assert kernel.current() == usual
    assert kernel_names.unneeded() == []


def test_a_name_whose_source_is_gone_is_reported_with_what_to_do(repository: Repository) -> None:
    built = named(repository, "mine")
    module = kernel.module(built, repository.write("mine.c", SCHEDULER), quiet=True)
    usual = kernel.build(variant="debug", quiet=True)
    repository.write("kernel/mptcp/probe.c", "another probe\n")
    shutil.move(repository.source, repository.root / "away")
    # prune removes the others, and keeps those that it cannot tell apart
    said = call("prune").output
    assert not usual.image.exists()
    assert module.path.exists()
    assert f"kept: kernels of mine, whose source is gone: {repository.source}; to give" in said
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "compiler_version", lambda _name="gcc": "")
        with pytest.raises(MptcplabError, match="gcc is missing"):
            kernel_names.prune()
    assert built.image.exists()
    for asked in (
        lambda: kernel_names.build_any("mine"),
        lambda: experiment.kernel_by_name("mine"),
        lambda: call("build", "--name", "mine"),
    ):
        with pytest.raises(MptcplabError) as error:
            asked()
        assert str(error.value).splitlines() == [
            f"the source of mine is gone: {repository.source}",
            "  to choose another: mptcplab kernel build --source ARCHIVE --name mine",
            "  to give up the name: mptcplab kernel remove mine",
        ]
    with pytest.raises(InputError, match=r"--source(.|\n)*/nosuch: neither a file nor a directory"):
        call("build", "--source", "/nosuch", "--name", "mine")
    # both of these work
    away = str(repository.root / "away")
    assert call("build", "--source", away, "--name", "mine").exit_code == 0
    shutil.rmtree(away)
    assert call("remove", "mine").exit_code == 0
    assert "mine" not in kernel_names.known()


@pytest.mark.parametrize("command", [("remove", "mine"), ("prune",)])
def test_builds_prevent_removal(repository: Repository, command: tuple[str, ...]) -> None:
    built = named(repository, "mine")
    with (kernel.place() / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(MptcplabError, match="a kernel is being built"):
            call(*command)
    assert built.image.exists()


def test_the_list_has_the_kernels_of_each_source(repository: Repository, debian: Path) -> None:
    mine = named(repository, "mine")
    usual = kernel.build(variant="debug", quiet=True)
    for build in (mine, usual):
        os.utime(build.image, (0, 0))  # the same time: in the order of the directories
    lines = call("list").output.splitlines()
    assert max(map(len, lines[:-1])) <= 100
    tables = "\n".join(lines).split("\n\n")
    rows = {}
    for head, _, *table in (each.splitlines() for each in tables[:-1]):
        rows[head] = [line.split() for line in table]
    when = [*datetime.fromtimestamp(0).strftime("%Y-%m-%d %H:%M").split()]
    assert rows == {
        f"Linux 6.12: {repository.source}": [
            [mine.id, "mine", "lab", "neither", "0.0", "MB", *when]
        ],
        f"Linux 6.12: {debian}": [
            [usual.id, "debug", "neither", "0.0", "MB", *when[:-1], f"{when[-1]},", "current"],
            ["6.12", "lab", "not", "built"],
        ],
    }
