# SPDX-License-Identifier: GPL-2.0-only
"""Which commit to try next, and when it is found.

git chooses (`Repository.halfway`) a commit with half of the candidates in its history. If it is
bad, the first bad commit is in its history; if it is good, its whole history is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mptcplab.bisection.document import Tried
from mptcplab.errors import InputError, MptcplabError, NotMetError, Problem
from mptcplab.lab.git import Halfway, Repository

#: Builds and runs a commit, and returns the verdict.
Judge = Callable[[str], Tried]
#: Called before each commit is tried, with the candidates that it halves; None for the two ends.
Show = Callable[[str, Halfway | None], None]


def ends(repository: Repository, good: str, bad: str) -> tuple[str, str]:
    """The hashes of the commits that --good and --bad name.

    Raises InputError if one is unknown, or the good one is not in the history of the bad one.
    """
    one, other = repository.commit(good), repository.commit(bad)
    if one is None or other is None:
        named = (("--good", good, one), ("--bad", bad, other))
        message = f"no commit of {repository.path}"
        raise InputError([Problem(opt, "", name, message) for opt, name, is_ in named if not is_])
    if one == other:
        message = "the same commit as --bad"
    elif repository.is_ancestor(one, other):
        return one, other
    elif repository.is_ancestor(other, one):
        message = "later than --bad; to find the repair, exchange them, and expect the opposite"
    else:
        base = repository.merge_base(one, other)
        message = "not in the history of --bad" + (
            f"; both histories have {base}, if it is good" if base else ""
        )
    raise InputError([Problem("--good", "", good, message)])


def search(
    repository: Repository,
    good: str,
    bad: str,
    tried: Iterable[Tried],
    judge: Judge,
    show: Show = lambda _commit, _halfway: None,
) -> tuple[list[str], str]:
    """The commits that may be the first bad one, one if it is found, and the last bad one of them.

    The two ends are tried first. `tried` are the earlier ones, in their order. Raises NotMetError
    if the good end is bad or the bad end good, MptcplabError if one cannot be tried.
    """
    known = {each.commit: each for each in tried}

    def verdict_of(commit: str, halfway: Halfway | None) -> Tried:
        if commit not in known:
            show(commit, halfway)
            known[commit] = judge(commit)
        return known[commit]

    for end, commit in (("good", good), ("bad", bad)):
        _require(end, verdict_of(commit, None))
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
    """A good parent of the first bad commit, if one can be tried.

    The first parent of a merge is tried if none was: it is good, since a later commit is. Raises
    MptcplabError if it is bad: then no commit is the first.
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
            f"{first_bad} is not the first bad commit"
        )
    return parents[0] if found.verdict == "good" else None


def _require(end: str, found: Tried) -> None:
    if found.verdict == end:
        return
    what = f"the {end} commit, {found.commit[:12]} ({found.subject}), "
    if found.verdict == "skipped":
        raise MptcplabError("\n  ".join([f"{what}cannot be tried", *found.why]))
    raise NotMetError("\n  ".join([f"{what}is {found.verdict}", *found.why]))
