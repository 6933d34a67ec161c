# SPDX-License-Identifier: GPL-2.0-only
"""Kernels of commits, with a `make` that only pretends to compile, as in test_kernel.py."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab import kernel
from mptcplab.lab.git import Repository as Git
from mptcplab.lab.kernel_files import Commit
from mptcplab.lab.kernel_tree import OWN_DIRECTORY, SourceError, is_unpacked_name
from tests.histories import Made, commit_all, git
from tests.histories import repository as empty_repository
from tests.unit.test_kernel import MAKEFILE, PATCH, SCHEDULER, Repository, repository
from tests.unit.test_kernel_attacks import killed_at

__all__ = ["repository"]

BASE = {"Makefile": MAKEFILE, "net/mptcp/protocol.c": "one\ntwo\nthree\n"}


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    return empty_repository(tmp_path / "linux.git")


def commits(linux: Path, *files: Mapping[str, str | tuple[str, str] | None]) -> list[Commit]:
    """A commit after the other; files are those that change, the first on top of BASE."""
    first, *rest = files
    made = [
        Made([], {**BASE, **first}),
        *(Made([number], each) for number, each in enumerate(rest)),
    ]
    found = Git(linux)
    return [Commit(found, each) for each in commit_all(linux, made)]


def image(commit: Commit) -> str:
    return kernel.build_commit(commit, quiet=True).image.read_text()


def source(repository: Repository) -> Path:
    return repository.tree / "src"


def everything(directory: Path) -> dict[str, tuple[str, int]]:
    """The files below a directory but for ours: what they contain or lead to, and their modes."""
    found = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            found[name] = os.readlink(path), 0
        elif path.is_file() and not name.startswith(OWN_DIRECTORY):
            found[name] = path.read_text(), path.stat().st_mode & 0o777
    return found


@pytest.mark.usefixtures("repository")
def test_the_kernel_of_a_commit_is_patched_and_has_our_files(linux: Path) -> None:
    one, other = commits(linux, {}, {"net/mptcp/protocol.c": "one\ntwo\nthree\nfour\n"})
    assert image(one) == "one\nTWO\nthree\nprobe\n"
    assert image(other) == "one\nTWO\nthree\nfour\nprobe\n"
    assert image(one) == "one\nTWO\nthree\nprobe\n"
    assert kernel.of_commit(one) == kernel.build_commit(one, quiet=True)
    assert kernel.current() is None  # --source was not asked for


def test_only_what_differs_is_written(repository: Repository, linux: Path) -> None:
    one, other = commits(linux, {"net/a.c": "a", "net/b.c": "b"}, {"net/b.c": "c"})

    def times(commit: Commit) -> dict[str, int]:
        image(commit)
        root = source(repository)
        return {str(f.relative_to(root)): f.stat().st_mtime_ns for f in root.rglob("*.c")}

    before, after = times(one), times(other)
    assert {name for name in after if after[name] != before[name]} == {"net/b.c"}


def test_what_is_never_compiled_makes_no_other_kernel(repository: Repository, linux: Path) -> None:
    one, other, third = commits(
        linux, {}, {"Documentation/index.rst": "x"}, {"net/mptcp/README": "x"}
    )
    assert kernel.of_commit(one) == kernel.of_commit(other)
    assert kernel.of_commit(one) != kernel.of_commit(third)
    image(one)
    calls = repository.calls()
    image(other)
    assert repository.calls() == calls


def test_headers_are_made_anew_only_if_they_may_differ(repository: Repository, linux: Path) -> None:
    for commit in commits(linux, {}, {"net/a.h": "a"}, {"include/a.h": "a"}, {"net/Kconfig": "a"}):
        image(commit)
    fresh = ["allnoconfig", "prepare", "linux"]
    assert repository.calls() == [*fresh, "linux", *fresh, *fresh]


@pytest.mark.usefixtures("repository")
def test_a_commit_that_the_patches_do_not_fit_is_refused(linux: Path) -> None:
    good, unfit, gone, other, leads_out, back = commits(
        linux,
        {},
        {"net/mptcp/protocol.c": "five\nsix\n"},
        {"net/mptcp/protocol.c": None},
        {"Makefile": "all:\n"},
        {**BASE, "net/a": ("120000", "../../../../etc")},
        {"net/a": None, "net/mptcp/protocol.c": "zero\none\ntwo\nthree\n"},
    )
    image(good)
    for commit in (unfit, gone):
        with pytest.raises(SourceError, match=r"the patch 0001-an-example\.patch does not"):
            image(commit)
    with pytest.raises(SourceError, match=r"^not a kernel source: no Makefile with VERSION"):
        image(other)
    with pytest.raises(InputError, match="its net/a is a link that leads out of it"):
        image(leads_out)
    assert image(back) == "zero\none\nTWO\nthree\nprobe\n"
    assert image(good) == "one\nTWO\nthree\nprobe\n"


def test_a_commit_has_modules_of_its_own(repository: Repository, linux: Path) -> None:
    one, other = commits(linux, {}, {"net/a.c": "a"})
    built = [kernel.build_commit(each, quiet=True) for each in (one, other)]
    file = repository.write("mine.c", SCHEDULER)
    # the tree is at the other commit, and goes back
    made = [
        kernel.module(build, file, commit=commit, quiet=True)
        for build, commit in zip(built, (one, other), strict=True)
    ]
    assert made[0].digest != made[1].digest
    assert all(each.path.exists() for each in made)
    repository.write("mine.c", SCHEDULER + "\n#error no\n")
    with pytest.raises(SourceError, match="does not compile"):
        kernel.module(built[0], file, commit=one, quiet=True)


def test_a_full_disk_is_not_the_commits_fault(repository: Repository, linux: Path) -> None:
    (commit,) = commits(linux, {})
    make = repository.root / "bin/make"
    text = make.read_text()
    broken = 'echo "a.c:1:1: error: no"; exit 2'
    full = 'echo "fatal error: error writing to x.s: No space left on device"; exit 2'
    make.write_text(text.replace("    linux)\n", f"    linux)\n{broken}\n"))
    with pytest.raises(SourceError, match=r"a\.c:1:1: error: no"):
        image(commit)
    make.write_text(text.replace("    linux)\n", f"    linux)\n{full}\n"))
    with pytest.raises(MptcplabError, match="No space left on device") as caught:
        image(commit)
    assert not isinstance(caught.value, SourceError)


def test_nothing_is_written_to_the_repository(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = empty_repository(tmp_path / "linux.git")
    commits(bare, {"net/a.c": "a"}, {"net/a.c": "b"})
    work = tmp_path / "work"
    git(tmp_path, "clone", "--quiet", str(bare), str(work))
    (work / "net/a.c").write_text("not committed")

    def state() -> dict[str, tuple[int, bytes]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
            for path in sorted([work, *work.rglob("*")])
        }

    before = state()
    # it is the one that is named
    monkeypatch.setenv("GIT_DIR", str(empty_repository(tmp_path / "other")))
    with pytest.raises(MptcplabError, match="not a git repository"):
        Git(tmp_path)
    found = Git(work)
    head = found.commit("HEAD")
    assert head
    image(Commit(found, head))
    assert found.halfway(head, [])
    assert found.changed(head) == ["net/a.c"]
    assert (source(repository) / "net/a.c").read_text() == "b"
    assert state() == before


def drawn_files(draw: random.Random) -> dict[str, str | tuple[str, str]]:
    """Files, programs and links; a name may be a directory in another commit."""
    found: dict[str, str | tuple[str, str]] = {
        "Makefile": MAKEFILE,
        "net/mptcp/protocol.c": draw.choice("abc") + "\none\ntwo\nthree\n",
    }
    for name in draw.sample(["net/a", "net/b", "net/b/c", "net/b/c/d", "lib/e", "g", "h/i"], 4):
        if any(name.startswith(f"{other}/") or other.startswith(f"{name}/") for other in found):
            continue
        content = draw.choice(["x", "y"])
        about: list[str | tuple[str, str]] = [content, ("100755", content), ("120000", content)]
        found[name] = draw.choice(about)
    return found


@pytest.mark.parametrize("seed", range(10))
def test_after_any_commits_a_tree_is_that_of_the_last_one_alone(
    seed: int, repository: Repository, linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    states = [drawn_files(draw) for _ in range(6)]
    changes = [dict.fromkeys(one, None) | other for one, other in itertools.pairwise(states)]
    made = commits(linux, states[0], *changes)
    others = PATCH.replace("three", "three\n+added")
    for turn, commit in enumerate(made):
        if turn == 3:  # now the patches change another file, too
            repository.write("kernel/patches/6.12/mptcp/0001-an-example.patch", others)
            repository.write("kernel/patches/6.12/engine/0002-more.patch", NEW)
        image(commit)
    left = everything(source(repository))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "fresh"))
    image(made[-1])
    (fresh,) = (tmp_path / "fresh/mptcplab/kernel/trees").iterdir()
    assert left == everything(fresh / "src")


NEW = """Another example.

--- /dev/null
+++ b/net/new.c
@@ -0,0 +1 @@
+new
"""


def test_a_checkout_that_is_killed_anywhere_is_mended(repository: Repository, linux: Path) -> None:
    changes = {"net/a": None, "net/a/b": "c", "net/mptcp/protocol.c": "0\none\ntwo\nthree\n"}
    one, other, third = commits(
        linux, {"net/a": "a", "net/d": "d"}, changes, {"net/a/b": None, "net/d": "e"}
    )
    expected = [image(each) for each in (third, one, other)]
    wanted = everything(source(repository))
    for finished in repository.finished():
        finished.unlink()
    count = 1
    build: Callable[[], object] = lambda: image(other)  # noqa: E731
    while True:
        image(one)
        for finished in repository.finished():
            finished.unlink()
        if not killed_at(count, build, repository.cache, everything=True):
            break
        if count % 2:
            assert image(third) == expected[0]
        # it may have been killed when the kernel was there already
        for finished in repository.finished():
            finished.unlink()
        assert image(other) == expected[2]
        assert everything(source(repository)) == wanted
        count += 5
    assert count > 10


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        ("net/mptcp/protocol.c", True),
        ("Makefile", True),
        ("arch/x86/um/Makefile", True),
        ("arch/arm/kernel/setup.c", False),
        ("arch/arm/Kconfig", True),
        ("arch/arm64/Kconfig.debug", False),
        ("tools/perf/builtin.c", False),
        ("tools/perfect.c", True),
        ("drivers/net/veth.c", True),
        ("drivers/net/ethernet/intel/e100.c", False),
        ("drivers/gpu/drm/Kconfig", True),
        ("Documentation/index.rst", False),
    ],
)
def test_the_same_files_get_into_a_tree_as_from_an_archive(name: str, is_there: bool) -> None:
    assert is_unpacked_name(name) == is_there
