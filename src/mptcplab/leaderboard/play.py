# SPDX-License-Identifier: GPL-2.0-only
"""Which runs a leaderboard is made of, and what came of them: a sweep over the scenarios of a set.

Each scheduler runs each scenario, with the scenario's own seed, and one of them with further seeds,
too, if it is asked how much is chance. Where bulk data is sent at once, plain TCP runs over each
path alone, too. Stored runs are not repeated.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mptcplab import extras
from mptcplab.advice import goals
from mptcplab.advice.goals import GoalFigure
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.leaderboard import Set, sets
from mptcplab.leaderboard.sets import Drawn
from mptcplab.leaderboard.standings import Played
from mptcplab.metrics.recorded import measured_direction
from mptcplab.plan import timeline
from mptcplab.runs import cost, store
from mptcplab.runs.entries import Entry
from mptcplab.runs.store import Store
from mptcplab.runs.sweep import Plan, Planned
from mptcplab.scenario import resolve, scheduler
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.limits import PACKET_BYTES
from mptcplab.scenario.model import LONGEST_NS, Scenario, Shape
from mptcplab.scenario.workload import opens_connections
from mptcplab.units import format_fraction, format_rate, format_time

# The levels of factors: the upper ends of all but the last.
_APART = (3, 10, 100)
_PRODUCTS = (1, 4)
_KIB = (256, 1024)
# A time of nothing, in any unit, is as good as this.
_LEAST_TIME = 1e-6


@dataclass(frozen=True)
class Asked:
    """Which schedulers run which scenarios.

    `request` has the schedulers and the user's own files; those named in `asked` are shown where
    they lose, and those in `catalogue` make up the oracle. All are labels. `chance` is the number
    of further seeds with which one of them runs. `kernels` by their names: `default` runs with each
    of them, too, beside the catalogue. Without `tcp`, no TCP runs over paths alone.
    """

    set_name: Set
    drawn: Sequence[Drawn]
    request: resolve.Request
    asked: Sequence[str]
    catalogue: Collection[str]
    chance: int = 0
    kernels: Mapping[str, KernelBuild] = field(default_factory=dict)
    tcp: bool = True

    @property
    def elsewhere(self) -> list[str]:
        """The labels of `default` with the kernels."""
        return [f"{scheduler.DEFAULT} ({name})" for name in self.kernels]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The labels to compare: with the first kernel's `default`, the one of the others."""
        others = [scheduler.DEFAULT, *self.asked, *self.elsewhere[1:]]
        return [(other, base) for base in self.elsewhere[:1] for other in dict.fromkeys(others)]

    @property
    def repeated(self) -> str:
        """The one that runs with further seeds: the first that the user named, or `default`."""
        return self.asked[0] if self.asked else scheduler.DEFAULT

    def spec(self, label: str) -> str:
        """The scheduler as --scheduler takes it."""
        name, _, settings = label.partition(":")
        file = self.request.sources.get(name)
        return ":".join(filter(None, (str(file or name), settings)))


def asked(
    name: Set,
    count: int,
    specs: Sequence[str],
    *,
    only: bool = False,
    chance: int = 0,
    kernels: str | None = None,
) -> Asked:
    """The first `count` scenarios of a set for the catalogue and for `specs`, schedulers as
    --scheduler takes them; with `only`, for these and `default` alone. `chance` as in `Asked`. The
    request names the `kernels`, given as --kernel takes them.

    Raises InputError for an invalid scheduler or kernel, MachineError if a package is missing.
    """
    extras.require("sweep", "a leaderboard")
    known = scheduler.known()
    given = [spec for each in specs if (spec := each.strip()) != scheduler.ALL]
    all_of_them = not only or len(given) < len(specs)
    wanted = list(dict.fromkeys([scheduler.DEFAULT, *(known if all_of_them else ()), *given]))
    # any path will do: they are those of the set
    path = next(iter(sets.PRESETS))
    request = resolve.from_flags(
        Flags(path=[path], scheduler=",".join(wanted), kernel=kernels), known=known
    )
    labels = {spec: each.label for spec, each in zip(wanted, request.schedulers, strict=True)}
    return Asked(
        name,
        sets.draw(name, count, known),
        request,
        [labels[spec] for spec in dict.fromkeys(given)],
        [label for label in labels.values() if label in known],
        chance,
    )


def plan(what: Asked, kernel: KernelBuild, guest: Guest) -> Plan:
    """All runs, as a sweep over the numbers of the scenarios."""
    runs: dict[str, Planned] = {}
    points = []
    alone_runs = 0
    for drawn in what.drawn:
        request = replace(
            drawn.request, schedulers=what.request.schedulers, sources=what.request.sources
        )
        base = request.base
        size = cost.size(base)

        def key_of(
            item: Scenario,
            build: KernelBuild = kernel,
            request: resolve.Request = request,
            size: cost.Size = size,
        ) -> str:
            key = store.run_key(item, build, guest)
            own = size if item.transport == "mptcp" else cost.size(item)
            runs[key] = Planned(item, request, own, build)
            return key

        alone = []
        if what.tcp and drawn.workload == sets.BULK and base.workload.start == "at-once":
            alone = [key_of(base.single_path(name)) for name in base.lasting_paths()]
        alone_runs += len(alone)
        again = tuple(each for each in request.schedulers if each.label == what.repeated)
        further = [
            item
            for seed in sets.further_seeds(base.seed, what.chance)
            for item in replace(request, base=base.with_(seed=seed), schedulers=again).runs()
        ]
        own = request.runs()
        default = [each for each in own if each.scheduler.label == scheduler.DEFAULT]
        made = [(item, kernel) for item in own]
        made += [(item, build) for build in what.kernels.values() for item in default]
        made += [(item, kernel) for item in further]
        for item, build in made:
            point = {"key": key_of(item, build), "alone": alone}
            points.append(point | {"set": what.set_name, "scenario": drawn.number})
    counts = {
        "points": len(what.drawn),
        "runs": len(runs) - alone_runs,
        "baselines": alone_runs,
    }
    return Plan(runs, points, guest, counts)


def played(what: Asked, planned: Plan, out: Store) -> list[Played]:
    """What is in the store; a run that failed or is missing there has no figure."""
    found = []
    for drawn, setting in zip(what.drawn, planned.settings(), strict=True):
        figure = goals.figure_of(drawn.request.base.workload.kind)
        entries, alone = setting.entries(out)
        # these come first, see `plan`
        labels = [each.label for each in what.request.schedulers] + what.elsewhere
        count = len(labels)
        entries, further = entries[:count], entries[count:]
        figures = {
            label: _figure(figure, each) for label, each in zip(labels, entries, strict=True)
        }
        tcp = [merit(figure, _figure(figure, each)) for each in alone]
        found.append(
            Played(
                number=drawn.number,
                is_goodput=drawn.workload == sets.BULK,
                is_absolute=figure.scale.absolute,
                levels=levels(drawn),
                text=text(drawn),
                unit="bit/s" if drawn.workload == sets.BULK else figure.unit,
                figures=figures,
                merits={name: merit(figure, value) for name, value in figures.items()},
                tcp=max((each for each in tcp if each is not None), default=None),
                keys=dict(zip(figures, itertools.islice(setting.runs, count), strict=True)),
                further={what.repeated: [merit(figure, _figure(figure, each)) for each in further]}
                if further
                else {},
            )
        )
    return found


def failures(planned: Plan, out: Store) -> dict[str, str]:
    """Why runs failed, by their keys: the scenario, the scheduler, and the reason."""
    found = {}
    for setting in planned.settings():
        both = [*setting.runs, *setting.baselines]
        for key, entry in zip(both, itertools.chain(*setting.entries(out)), strict=True):
            if entry.status != "ok":
                reason = str(entry.reason).splitlines()[0]
                found[key] = f"scenario {setting.values['scenario']}, {entry.label}: {reason}"
    return found


def _figure(figure: GoalFigure, entry: Entry) -> float | None:
    return figure.of(entry.metrics) if entry.status == "ok" else None


def merit(figure: GoalFigure, value: float | None) -> float | None:
    """How good a figure is, the higher the better, see `Played`; None if there is none."""
    if value is None:
        return None
    if figure.scale.absolute:
        return value / figure.factor
    return 1 / max(value, _LEAST_TIME) if figure.scale.less_is_better else value


def levels(drawn: Drawn) -> dict[str, str]:
    """The levels of the factors that may decide which scheduler is good, by their names."""
    base = drawn.request.base
    rates_bps, shapes = _rates_bps(base), _shapes(base)
    rtts_ns = _rtts_ns(base)
    products = max(
        (shape.queue_bytes or (shape.queue_packets or 0) * PACKET_BYTES) * 8e9 / (bps * rtt_ns)
        for shape, bps, rtt_ns in zip(shapes, rates_bps, rtts_ns, strict=True)
    )
    losses = {"in bursts" if each.loss_burst else "one by one" for each in shapes if each.loss}
    kib = None if base.receive_buffer_bytes is None else base.receive_buffer_bytes / 1024
    return {
        "workload": drawn.workload,
        "congestion control": base.cc,
        "start": _start(base),
        "paths": str(len(base.paths)),
        "rates apart": _level(max(rates_bps) / min(rates_bps), _APART, "x"),
        "RTTs apart": _level(max(rtts_ns) / min(rtts_ns), _APART, "x"),
        "longest queue": _level(products, _PRODUCTS, "BDP"),
        "loss": "in bursts" if "in bursts" in losses else next(iter(losses), "none"),
        "receive buffer": "auto" if kib is None else _level(kib, _KIB, "KiB"),
        "links": "some presets" if drawn.has_presets else "drawn",
    }


def text(drawn: Drawn) -> str:
    """A scenario in a line: the workload, and the paths in its direction."""
    base = drawn.request.base
    buffer = base.receive_buffer_bytes
    parts = [drawn.workload, base.cc, _start(base)]
    parts += [] if buffer is None else [f"buffer {buffer // 1024}KiB"]
    paths = []
    for path, shape, bps, rtt_ns in zip(
        base.paths, _shapes(base), _rates_bps(base), _rtts_ns(base), strict=True
    ):
        words = [path.name, format_rate(sets.rounded(bps)), format_time(sets.rounded(rtt_ns))]
        words += [f"loss={format_fraction(shape.loss)}"] if shape.loss else []
        paths.append(" ".join(words))
    return f"{', '.join(parts)}: {', '.join(paths)}"


def _level(value: float, ends: Sequence[int], unit: str) -> str:
    """Between which of the ends a value is."""
    below = [end for end in ends if value > end]
    above = [end for end in ends if value <= end]
    if not above:
        return f"above {ends[-1]} {unit}"
    return f"{below[-1]} to {above[0]} {unit}" if below else f"up to {above[0]} {unit}"


def _start(base: Scenario) -> str:
    return "when needed" if opens_connections(base.workload) else base.workload.start


def _shapes(base: Scenario) -> list[Shape]:
    return [getattr(path, measured_direction(base)) for path in base.paths]


def _rates_bps(base: Scenario) -> list[float]:
    span_ns = base.workload.duration_ns or LONGEST_NS
    rates = timeline.rates(base, measured_direction(base))
    return [timeline.mean_rate_bps(each, 0, span_ns) for each in rates.values()]


def _rtts_ns(base: Scenario) -> list[int]:
    return [path.up.delay_ns + path.down.delay_ns for path in base.paths]
