# SPDX-License-Identifier: GPL-2.0-only
"""Does docs/results still agree with experiments/ and the kernel? `make papers-check`

The check fails if a claim of docs/results/claims.json is no longer in experiments/, unless
CHANGELOG.md names it, PAPER/FIGURE:NAME. It warns of stale figures, of experiments that have
changed since their runs, and of explanations and headlines that are no longer shown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from checks.command_line import parser_of
from mptcplab.errors import MptcplabError, status_of
from mptcplab.papers import catalogue, data, publish, stale, summary, wording
from mptcplab.papers.catalogue import Published
from mptcplab.papers.markdown_page import Section, by_paper
from mptcplab.resources import EXPERIMENTS

_ROOT = EXPERIMENTS.parent


def lost(claims: Path, everything: Sequence[Published], changelog: str) -> list[str]:
    """Published claims, PAPER/FIGURE:NAME, that neither an experiment nor the changelog has.

    Raises MptcplabError if the file of claims is damaged.
    """
    if not claims.exists():
        return []
    try:
        published = list(json.loads(claims.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise MptcplabError(f"{claims}: not a list of claims: {error}") from None
    there = {f"{each.name}:{claim.name}" for each in everything for claim in each.experiment.claim}
    named = set(changelog.replace("`", " ").split())
    return [name for name in published if name not in there and name not in named]


def warnings(sections: Sequence[Section]) -> Iterator[str]:
    """What of the published results is not of now, or is not shown."""
    for section in sections:
        name = section.published.name
        for kernel, parts in section.outdated.items():
            for part in parts:
                again = "to be run again, since the experiment has changed"
                yield f"{name}: {part}{wording.on(kernel)}: {again}"
        for (kernel, part), changed in section.stale.items():
            yield f"{name}: {part}{wording.on(kernel)}: run with another {'; '.join(changed)}"
        for claim, judged, _ in section.claims():
            for each in judged.explained if judged else ():
                if not each.shown:
                    yield f"{name}:{claim.name}: not shown: {each.because.says} ({each.why})"
    for paper, group in by_paper(sections).items():
        for found in summary.headlines(group):
            if found.why:
                yield f"{paper}: headline not shown: {found.headline.says} ({found.why})"


def main(arguments: Sequence[str], results: Path = _ROOT / "docs" / "results") -> int:
    """Print what is wrong; the exit status."""
    parser = parser_of("papers_check", __doc__)
    parser.add_argument("--strict", action="store_true", help="fail if there are warnings")
    options = parser.parse_args(arguments)
    return status_of(lambda: _check(results, strict=options.strict))


def _check(results: Path, *, strict: bool) -> int:
    everything = [catalogue.load(name) for name in catalogue.names()]
    gone = lost(results / summary.CLAIMS, everything, (_ROOT / "CHANGELOG.md").read_text())
    kernels = publish.kernels(results, None)
    now = stale.now(results / data.DATA, kernels)
    of_data = ((each, publish.gathered(each, results, None)) for each in everything)
    noted = list(warnings([publish.section(*each, now) for each in of_data]))
    unknown = [name or "the lab's" for name in ("", *kernels) if name not in now]
    noted += [f"{name} kernel is not built: its stale results are not found" for name in unknown]
    for name in gone:
        print(f"lost: {name}: neither in experiments/ nor in CHANGELOG.md")
    for warning in noted:
        print(f"warning: {warning}")
    print(f"{len(gone)} lost claims, {len(noted)} warnings")
    return int(bool(gone or (noted and strict)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
