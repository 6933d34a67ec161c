# SPDX-License-Identifier: GPL-2.0-only
"""A user's git repository, which is only read: no checkout, no lock, no configuration.

git itself resolves names, lists the commits between two of them, and chooses the one that halves
these.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab import doctor
from mptcplab.lab.kernel_tree import ending_with_us

# They would name another repository.
_PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
#: The modes of a file, of one that is a program, and of a link, whose content is where it leads.
FILE, PROGRAM, LINK = "100644", "100755", "120000"
_SUBMODULE = "160000"


@dataclass(frozen=True)
class About:
    """A commit's author, its date in ISO 8601, and the first line of its message."""

    author: str
    date: str
    subject: str


@dataclass(frozen=True)
class Halfway:
    """The commit that halves what is left: the number of candidates, and of steps, with it."""

    commit: str
    candidates: int
    steps: int


class Repository:
    """A repository: a clone, a work tree of it, or a bare one."""

    def __init__(self, path: Path) -> None:
        """Raises MachineError if there is no git, InputError if it is no repository."""
        self.path = path.absolute()
        git = doctor.require_tool("git", "git")
        # a user may have set it, and it prints more
        self._command = (git, "-c", "log.showSignature=false", "-C", str(self.path))
        kept = {name: value for name, value in os.environ.items() if name not in _PLACES}
        self._environment = {**kept, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        try:
            self._read("rev-parse", "--git-dir")
        except MptcplabError as error:
            raise InputError([Problem("--tree", "", str(path), str(error))]) from None

    def commit(self, name: str) -> str | None:
        """The hash of the commit that a name, tag or part of a hash stands for; None if none."""
        given = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return self._found("rev-parse", *given)

    def is_ancestor(self, one: str, other: str) -> bool:
        """Whether a commit is in the history of another, or is the same."""
        return self._run("merge-base", "--is-ancestor", one, other).returncode == 0

    def merge_base(self, one: str, other: str) -> str | None:
        """The best common ancestor of two commits, None if they have none."""
        return self._found("merge-base", one, other)

    def parents(self, commit: str) -> list[str]:
        """The parents of a commit; a merge has several."""
        return self._read("rev-parse", f"{commit}^@").decode().split()

    def about(self, commit: str) -> About:
        text = self._read("show", "--no-patch", "--format=%an <%ae>%x00%aI%x00%s", commit)
        author, date, subject = text.decode(errors="replace").strip("\n").split("\0")
        # git 2.45 and newer write Z for +00:00
        return About(author, date.replace("Z", "+00:00"), subject)

    def changed(self, commit: str) -> list[str]:
        """The files that a commit changes, compared with its first parent."""
        options = ("-r", "-z", "--no-commit-id", "--name-only")
        names = self._read("diff-tree", *options, f"{commit}^1", commit)
        return [os.fsdecode(name) for name in names.split(b"\0") if name]

    def candidates(self, bad: str, good: Sequence[str]) -> list[str]:
        """The commits in the history of a bad one, itself included, in none of the good ones'."""
        return self._read("rev-list", bad, *_not(good)).decode().split()

    def halfway(self, bad: str, good: Sequence[str], skipped: Iterable[str] = ()) -> Halfway | None:
        """The commit to try next, as `git bisect` chooses it; None if only `bad` is left.

        The smaller of both halves has as many commits as possible. In place of a skipped one it
        takes another, some way from it: untestable commits come in rows.
        """
        found = self._read("rev-list", "--bisect-vars", bad, *_not(good)).decode()
        values = dict(re.findall(r"^(\w+)='?(\w+)'?$", found, re.MULTILINE))
        commit = values["bisect_rev"]
        if left_out := {*skipped}:
            listed = self._read("rev-list", "--bisect-all", bad, *_not(good)).decode()
            best_first = [line.split()[0] for line in listed.splitlines()]
            left = [each for each in best_first if each not in left_out]
            commit = left[0] if best_first[0] not in left_out else _some_way_from_best(left, bad)
        if commit == bad:
            return None
        return Halfway(commit, int(values["bisect_all"]), int(values["bisect_steps"]))

    def files(self, commit: str) -> dict[str, str]:
        """The files of a commit: by name, the mode and the hash of the content, "100644 HASH".

        Submodules are left out.
        """
        found = {}
        for line in self._read("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            mode, _kind, digest = about.decode().split()
            if mode != _SUBMODULE:
                found[os.fsdecode(name)] = f"{mode} {digest}"
        return found

    def contents(self, files: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """The contents of files, given as by `files`, one after the other.

        Raises MptcplabError if one is missing, as in a clone without all objects.
        """
        with tempfile.TemporaryFile() as wanted:
            wanted.write(b"".join(f"{each.split()[1]}\n".encode() for each in files.values()))
            wanted.seek(0)
            with subprocess.Popen(
                ending_with_us([*self._command, "cat-file", "--batch", "--buffer"]),
                stdin=wanted,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment,
            ) as reading:
                assert reading.stdout is not None
                for name in files:
                    words = reading.stdout.readline().decode().split()
                    if len(words) != 3:
                        reading.kill()
                        raise MptcplabError(f"{self.path}: the content of {name} is missing")
                    content = reading.stdout.read(int(words[2]))
                    reading.stdout.read(1)
                    yield name, content

    def _found(self, *arguments: str) -> str | None:
        done = self._run(*arguments)
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def _read(self, *arguments: str) -> bytes:
        done = self._run(*arguments)
        if done.returncode != 0:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise MptcplabError("\n  ".join([f"git {arguments[0]} failed in {self.path}", *lines]))
        return done.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self._command, *arguments], env=self._environment, capture_output=True, check=False
        )


def _not(commits: Iterable[str]) -> list[str]:
    return [f"^{each}" for each in commits]


def _some_way_from_best(left: Sequence[str], bad: str) -> str:
    """One of some commits, the best first, to try after the best of all was skipped.

    As skip_away() and get_prn() in git's bisect.c: a number that depends on their count alone, with
    small ones more often.
    """
    count, most = len(left), 32768
    number = ((count * 1103515245 + 12345) & 0xFFFFFFFF) // 65536 % most
    index = (count * number // most) * math.isqrt(number) // math.isqrt(most)
    return left[max(index - 1, 0)] if left[index] == bad else left[index]
