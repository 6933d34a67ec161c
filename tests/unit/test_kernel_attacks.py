# SPDX-License-Identifier: GPL-2.0-only
"""Builds that are killed at any place, clocks that jump, and sources that would do harm.

With a `make` that only pretends to compile, as in test_kernel.py.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
import tarfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab import kernel, kernel_tree
from tests.unit.test_kernel import MAKEFILE, PATCH, SCHEDULER, Repository, is_running, repository
from tests.vocabulary import children_of, until

__all__ = ["repository"]

# --- killed

# What a build does to files and processes; Python announces each before it happens.
EVENTS = {
    *("open", "os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.utime"),
    *("shutil.copyfile", "shutil.rmtree", "subprocess.Popen"),
}


def killed_at(count: int, do: Callable[[], object], cache: Path, *, everything: bool) -> bool:
    """Do something in a process that SIGKILL meets as it begins the COUNTth change of the cache.

    A file that it was about to write is empty then. With `everything`, all that it has started is
    killed before. Gives whether it came so far.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            left = count

            def look(event: str, arguments: tuple[Any, ...]) -> None:
                nonlocal left
                if event not in EVENTS or (event == "open" and not _writes(arguments, cache)):
                    return
                left -= 1
                if left == 0:
                    if event == "open":
                        os.close(os.open(arguments[0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
                    if everything:
                        for pid in below(os.getpid()):
                            os.kill(pid, signal.SIGKILL)
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(look)
            do()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return os.waitstatus_to_exitcode(status) != 0


def _writes(arguments: tuple[Any, ...], cache: Path) -> bool:
    path, _mode, flags = arguments
    name = str(path)
    return bool(
        name.startswith(f"{cache}/") and flags & (os.O_WRONLY | os.O_RDWR) and "lock" not in name
    ) and not os.path.isdir(name)


def below(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    children = children_of(pid)
    return [*children, *(each for child in children for each in below(child))]


def fresh(repository: Repository) -> Callable[[], object]:
    """The first build."""
    return repository.build


def archive(repository: Repository) -> Callable[[], object]:
    """The first build of an archive."""
    packed = repository.packed()
    return lambda: kernel.build(packed, quiet=True)


def changed(repository: Repository) -> Callable[[], object]:
    """A build after which the configuration, a patch and files of ours change."""
    repository.build()
    repository.write("kernel/lab.config", "CONFIG_NET=y\nCONFIG_MORE=y\n")
    repository.write("kernel/patches/6.12/mptcp/0001-an-example.patch", PATCH.replace("TWO", "2"))
    repository.write("kernel/mptcp/probe.c", "another\n")
    (repository.own / "sched/roundrobin.c").unlink()
    return repository.build


def replaced(repository: Repository) -> Callable[[], object]:
    """Another source at the same place."""
    repository.build()
    repository.write("source/net/mptcp/protocol.c", "one\ntwo\nthree\nfour\n")
    return repository.build


def module(repository: Repository) -> Callable[[], object]:
    """A person's scheduler."""
    built = repository.build()
    file = repository.write("mine.c", SCHEDULER)
    return lambda: kernel.module(built, file, quiet=True)


def modules(repository: Repository) -> Callable[[], object]:
    """Modules of a kernel whose objects are not to be trusted: its make was killed before."""
    built = repository.build()
    (repository.tree / "lab" / "building").touch()
    return lambda: kernel.kunit_modules(built, quiet=True)


# Each is killed at every so many of its changes, so that all take seconds; the variable can be 1.
_STEP = int(os.environ.get("MPTCPLAB_KILL_STEP", "23"))


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("case", [fresh, archive, changed, replaced, module, modules])
def test_a_build_that_is_killed_anywhere_is_made_right_by_the_next_call(
    repository: Repository,
    tmp_path: Path,
    case: Callable[[Repository], Callable[[], object]],
    everything: bool,
) -> None:
    do = case(repository)
    cache, before = repository.cache.parent, tmp_path / "before"
    cache.mkdir(parents=True, exist_ok=True)
    shutil.copytree(cache, before, symlinks=True)
    do()
    wanted = contents(repository)
    assert wanted
    count = 1 + everything * (_STEP // 2)
    while True:
        shutil.rmtree(cache)
        shutil.copytree(before, cache, symlinks=True)
        was_killed = killed_at(count, do, cache, everything=everything)
        do()
        assert contents(repository) == wanted, f"killed at {count}"
        # nothing that was being made is left
        assert [*cache.rglob("*.part"), *cache.rglob(".partial-*")] == []
        calls = calls_of_make(repository)
        do()
        assert calls_of_make(repository) == calls
        if not was_killed:
            break
        count += _STEP
    assert count > _STEP


def contents(repository: Repository) -> dict[str, bytes]:
    """What is finished in a cache, and the sources that it was made of."""
    patterns = (
        *("*/linux", "*/config", "*/build.json", "modules/*/*", "trees/*/originals/**/*"),
        *("trees/*/src/**/*", "trees/*/*.json", "trees/*/*/built"),
    )
    return {
        str(path.relative_to(repository.cache)): path.read_bytes()
        for pattern in patterns
        for path in repository.cache.glob(pattern)
        if path.is_file()
    }


def calls_of_make(repository: Repository) -> list[str]:
    return [path.read_text() for path in repository.cache.glob("trees/*/*/calls")]


#: Says that it has come to some work, and does not end then; all else is done by the real one.
HANGING = """#!/bin/sh
case "$*" in
    *{work}*) echo $$ >{place}/hangs; exec sleep 600 ;;
esac
exec {real} "$@"
"""


def hanging(repository: Repository, name: str, work: str) -> tuple[Path, Path]:
    """A program that hangs with some work, and the file in which it says that it does."""
    text = HANGING.format(work=work, place=repository.root, real=shutil.which(name))
    program = repository.write(f"bin/{name}", text)
    program.chmod(0o755)
    return program, repository.root / "hangs"


def test_tar_ends_with_a_killed_build(repository: Repository) -> None:
    """Else it would write into what the next build unpacks."""
    tar, pid = hanging(repository, "tar", "--extract")
    archive = repository.packed()
    process = repository.start(source=archive)
    until(lambda: pid.exists() and pid.read_text() != "")
    process.kill()
    process.wait()
    tar.unlink()
    assert kernel.build(archive, quiet=True).image.exists()
    assert not is_running(int(pid.read_text()))
    process.communicate()


def test_a_killed_module_costs_no_object(repository: Repository) -> None:
    built = repository.build()
    calls = calls_of_make(repository)
    file = repository.write("mine.c", SCHEDULER)
    gcc, hangs = hanging(repository, "gcc", "mine.c")
    process = repository.start(f"kernel.module(build, Path({str(file)!r}))")
    until(hangs.exists)
    for pid in (*below(process.pid), process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    gcc.unlink()
    assert kernel.module(built, file, quiet=True).path.exists()
    assert calls_of_make(repository) == calls


# --- clocks that jump

HOUR_NS = 3600 * 10**9


def shift(directory: Path, by_ns: int) -> None:
    """As if all files there had been written so much later."""
    for path in directory.rglob("*"):
        stat = path.lstat()
        os.utime(path, ns=(stat.st_atime_ns + by_ns, stat.st_mtime_ns + by_ns))


def test_objects_from_the_future_are_rebuilt_and_from_the_past_kept(repository: Repository) -> None:
    repository.build()
    # the clock was set back since they were made
    shift(repository.tree / "lab" / "obj", HOUR_NS)
    repository.write("kernel/mptcp/probe.c", "another probe\n")
    assert "another probe" in repository.build().image.read_text()
    # the clock was set forward: all that changes is newer
    shift(repository.tree, -HOUR_NS)
    kept = repository.tree / "lab" / "obj" / "kept"
    kept.write_text("")
    repository.write("kernel/mptcp/probe.c", "a third probe\n")
    assert "a third probe" in repository.build().image.read_text()
    assert kept.exists()


@pytest.mark.parametrize("name", ["Makefile", "net/mptcp/protocol.c", "net/mptcp/lab/probe.c"])
def test_sources_from_the_future_do_not_stay_there(repository: Repository, name: str) -> None:
    """make would compile what depends on them again and again."""
    repository.build()
    shift(repository.tree / "src", HOUR_NS)
    if name != "Makefile":
        os.utime(repository.tree / "src" / "Makefile")
    repository.write("kernel/lab.config", "CONFIG_NET=y\nCONFIG_MORE=y\n")
    repository.build()
    now_ns = kernel_tree.now_ns(repository.tree)
    assert (repository.tree / "src" / name).stat().st_mtime_ns <= now_ns


def test_an_archive_from_the_future_is_unpacked_now(repository: Repository) -> None:
    shift(repository.source, 100 * 365 * 24 * HOUR_NS)
    kernel.build(repository.packed(), quiet=True)
    now_ns = kernel_tree.now_ns(repository.tree)
    found = [path for path in (repository.tree / "src").rglob("*") if path.is_file()]
    assert max(path.stat().st_mtime_ns for path in found) <= now_ns


# --- sources that would do harm


def archive_of(repository: Repository, *members: tuple[str, dict[str, Any]]) -> Path:
    """The kernel source as an archive, with some members more."""
    archive = repository.root / "linux.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for name, about in members:
            found = tarfile.TarInfo(name)
            for key, value in about.items():
                setattr(found, key, value)
            packed.addfile(found, io.BytesIO(bytes(found.size)))
        packed.add(repository.source, arcname="linux")
    return archive


def link(to: Path | str) -> dict[str, Any]:
    return {"type": tarfile.SYMTYPE, "linkname": str(to)}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """What is a person's own, and must stay as it is."""
    (tmp_path / "mine" / "sub").mkdir(parents=True)
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    (tmp_path / "mine" / "sub" / "protocol.c").write_text("one\ntwo\nthree\n")
    return tmp_path / "mine"


def everything(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}


HARM: dict[str, tuple[Callable[[Path], list[tuple[str, dict[str, Any]]]], str]] = {
    "our directory": (
        lambda mine: [("linux/net/mptcp/lab", link(mine))],
        "net/mptcp/lab is a link",
    ),
    "a file": (
        lambda mine: [("linux/net/mptcp/new.c", link(mine / "new.c"))],
        "net/mptcp/new.c is a link that leads out of it",
    ),
    "relative": (lambda _mine: [("linux/x", link("../../../../x"))], "x is a link that leads out"),
    "through a link": (
        lambda mine: [("linux/x", link(mine)), ("linux/x/letter.txt", {"size": 3})],
        "could not be unpacked",
    ),
    "up": (lambda _mine: [("linux/../../../../mine/letter.txt", {"size": 3})], "not be unpacked"),
}


@pytest.mark.parametrize("harm", HARM)
def test_an_archive_that_would_do_harm_is_refused(
    repository: Repository, mine: Path, harm: str
) -> None:
    before = everything(mine)
    members, message = HARM[harm]
    archive = archive_of(repository, *members(mine))
    with pytest.raises(MptcplabError, match=message) as failure:
        kernel.build(archive, quiet=True)
    assert str(archive) in str(failure.value)
    assert everything(mine) == before
    assert not list((repository.cache / "trees").iterdir())
    assert repository.finished() == []


@pytest.mark.parametrize("place", ["net/mptcp", "net/mptcp/lab", "net/mptcp/protocol.c"])
def test_links_to_other_places_are_refused(repository: Repository, mine: Path, place: str) -> None:
    """Our patches and files would be written there."""
    path = repository.source / place
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    to = mine / "sub"
    path.symlink_to(to / "protocol.c" if place.endswith(".c") else to)
    before = everything(mine)
    with pytest.raises(InputError, match=f"its {place} is a link that leads out of it; accepted"):
        repository.build()
    assert everything(mine) == before


def test_owners_and_rights_do_not_count_and_inner_links_are_kept(repository: Repository) -> None:
    owned = {"mode": 0o6777, "uid": 12345, "gid": 12345, "size": 1}
    archive = archive_of(repository, ("linux/x", owned), ("linux/a/b", link("../Makefile")))
    kernel.build(archive, quiet=True)
    stat = (repository.tree / "src" / "x").stat()
    assert (stat.st_uid, stat.st_gid) == (os.getuid(), os.getgid())
    assert stat.st_mode & 0o6022 == 0
    assert (repository.tree / "src" / "a" / "b").read_text() == MAKEFILE
