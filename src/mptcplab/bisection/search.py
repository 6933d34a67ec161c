# SPDX-License-Identifier: GPL-2.0-only
"""Which commit to try next, and when it is found.

git chooses (`Repository.halfway`): the commit that has half of what is left in its history. If it
is bad, so is everything that has it in its history, and the first bad commit is in its own; if it
is good, everything in its history is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mptcplab.bisection.document import Tried
from mptcplab.errors import InputError, MptcplabError, NotMetError, Problem
from mptcplab.lab.git import Halfway, Repository

#: Builds and runs a commit, and says what came of it.
Judge = Callable[[str], Tried]
#: Shown each commit before it is tried, with what it halves; None for the two ends.
Show = Callable[[str, Halfway | None], None]


def ends(repository: Repository, good: str, bad: str) -> tuple[str, str]:
    """The hashes of the commits that --good and --bad name.

    Raises InputError if one is unknown, or the good one is not in the history of the bad one.
    """
    found = {option: repository.commit(name) for option, name in _named(good, bad)}
    problems = [
        Problem(option, "", name, f"no commit of {repository.path}")
        for option, name in _named(good, bad)
        if found[option] is None
    ]
    if problems:
        raise InputError(problems)
    one, other = str(found["--good"]), str(found["--bad"])
    if one == other:
        message = "the same commit as --bad"
    elif repository.is_ancestor(one, other):
        return one, other
    elif repository.is_ancestor(other, one):
        message = (
            "later than --bad; for the commit that mended it, exchange them, and expect the "
            "opposite"
        )
    else:
        base = repository.merge_base(one, other)
        message = "not in the history of --bad" + (
            f"; in both histories is {base}, if that is good" if base else ""
        )
    raise InputError([Problem("--good", "", good, message)])


def _named(good: str, bad: str) -> tuple[tuple[str, str], ...]:
    return ("--good", good), ("--bad", bad)


def search(
    repository: Repository,
    good: str,
    bad: str,
    tried: Iterable[Tried],
    judge: Judge,
    show: Show = lambda _commit, _halfway: None,
) -> tuple[list[str], str]:
    """The commits that may be the first bad one, one if it is found, and the last bad one of them.

    The two ends are tried first. `tried` are those of before, in their order.
    Raises NotMetError if one of the ends is not as it is said to be, MptcplabError if one cannot be
    tried.
    """
    known = {each.commit: each for each in tried}

    def verdict_of(commit: str, halfway: Halfway | None) -> Tried:
        if commit not in known:
            show(commit, halfway)
            known[commit] = judge(commit)
        return known[commit]

    for option, end in _named(good, bad):
        _require(option.removeprefix("--"), verdict_of(end, None))
    goods, skipped = [good], list[str]()
    while halfway := repository.halfway(bad, goods, skipped):
        found = verdict_of(halfway.commit, halfway)
        if found.verdict == "bad":
            bad = found.commit
        elif found.verdict == "good":
            goods.append(found.commit)
        else:
            skipped.append(found.commit)
    return repository.candidates(bad, goods), bad


def good_before(
    repository: Repository, first_bad: str, tried: Sequence[Tried], judge: Judge
) -> str | None:
    """The good commit that is as near to the first bad one as one was tried: a parent of it.

    The first parent of a merge is tried if none was: it is good since something later is. None if
    it cannot be tried. Raises MptcplabError if it is bad, since then no commit is the first.
    """
    parents = repository.parents(first_bad)
    known = {each.commit: each.verdict for each in tried}
    for parent in parents:
        if known.get(parent) == "good":
            return parent
    if parents[0] in known:
        return None
    found = judge(parents[0])
    if found.verdict == "bad":
        raise MptcplabError(
            f"{parents[0]} is bad, though a later commit is good: the fault comes and goes, and "
            f"{first_bad} is not the first that has it"
        )
    return parents[0] if found.verdict == "good" else None


def _require(end: str, found: Tried) -> None:
    if found.verdict == end:
        return
    what = f"the {end} commit, {found.commit[:12]} ({found.subject}), "
    if found.verdict == "skipped":
        raise MptcplabError("\n  ".join([f"{what}cannot be tried", *found.why]))
    raise NotMetError("\n  ".join([f"{what}is {found.verdict}", *found.why]))
