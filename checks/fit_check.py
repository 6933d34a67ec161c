# SPDX-License-Identifier: GPL-2.0-only
"""Does a fitted scenario have the goodput of the original? `make fit-check`.

The check runs random scenarios with captures, gives `fit` the client's capture alone, and runs the
fitted scenario with the same scheduler: its estimates, and draws from their intervals. It also
hides all paths but one: it fits the first one to its own router's capture, and compares TCP over
the true and the fitted path. `--by` takes a log of ss, or iperf3 and ping, instead of captures. It
fails (status 1) if the median deviation exceeds 10 %.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mptcplab as lab
from checks import tables
from checks.command_line import natural, parser_of, say
from mptcplab import files, marked
from mptcplab.errors import status_of
from mptcplab.fit import captures, socket_logs, speed_tests
from mptcplab.fit.document import Fit, scenario
from mptcplab.scenario.limits import PACKET_BYTES

#: The promised deviation of goodput.
WITHIN = 0.1
_MARK = "make fit-check"
_SEEDS = (1, 2, 3)
_DRAWS = range(1, 9)
_DURATION = "30s"
_SS = """iperf3 -c server -t 30 >&2 &
while sleep 0.5; do date +%s.%N; ss -tin; done &
sleep 30; kill $!; wait"""
_SPEED = """ping -i 0.2 -c 60 server; echo CUT
ping -i 0.2 -c 145 server >busy.txt & iperf3 -c server -t 30 REVERSE --json >test.json; wait
cat busy.txt; echo CUT; cat test.json"""


@dataclass(frozen=True)
class Drawn:
    """A scenario, as flags."""

    paths: Sequence[str]
    scheduler: str
    direction: str

    def flags(self, **more: Any) -> dict[str, Any]:
        return {
            "path": self.paths,
            "scheduler": self.scheduler,
            "direction": self.direction,
            "duration": _DURATION,
            "warmup": "0s",
            **more,
        }


@dataclass(frozen=True)
class Checked:
    """What came out, in bit/s: goodput of the captured transfer; over seeds, of the original
    scenario, the captured run first, of the fitted one, and of draws from its intervals; and of TCP
    over the first path alone, original and fitted.
    """

    drawn: Drawn
    captured: float
    original: Sequence[float]
    fitted: Sequence[float]
    draws: Sequence[float] = ()
    alone: tuple[float, float] | None = None

    @property
    def off(self) -> float:
        """The deviation of the fitted goodput from the captured one."""
        return statistics.median(self.fitted) / self.captured - 1

    @property
    def spread(self) -> float:
        """The largest deviation of the original with another seed."""
        return max((abs(each / self.original[0] - 1) for each in self.original[1:]), default=0.0)


def draw(count: int, seed: int) -> list[Drawn]:
    """Random scenarios; fewer are a prefix of more."""
    source = random.Random(seed)
    return [
        Drawn(
            [_path(name, source) for name in "abc"[: 1 + number % 3]],
            source.choice(("default", "minrtt")),
            source.choice(("up", "down")),
        )
        for number in range(count)
    ]


def _path(name: str, source: random.Random) -> str:
    rate_mbps, delay_ms = 2 * 50 ** source.random(), 5 * 20 ** source.random()
    products = 0.5 * 8 ** source.random()
    queue = max(round(products * rate_mbps * 2 * delay_ms * 1e3 / 8 / PACKET_BYTES), 10)
    # netem's limit includes packets in flight: below a product, the link would never be full
    discipline = source.choice(("netem", "droptail")) if products > 1 else "droptail"
    loss = source.choice(("0%", "1%"))
    shape = f"queue={queue},queue_discipline={discipline},loss={loss}"
    return f"{name}:{rate_mbps:.1f}mbit,{delay_ms:.1f}ms,{shape}"


def check_capture(drawn: Drawn, out: Path) -> Checked:
    """Run, fit to the client's capture, and run again."""
    first = lab.run(lab.request(**drawn.flags(pcap=True)), out=out)
    client, captured_bps = _of_capture(out / "client.toml", first.directory / "client.pcapng")
    alone = None
    if len(drawn.paths) > 1:
        router, _ = _of_capture(out / "router.toml", first.directory / "router-a.pcapng")
        only = Drawn(drawn.paths[:1], "default", drawn.direction).flags(transport="tcp")
        tcp = {"transport": "tcp", "duration": _DURATION, "warmup": "0s", "vary": ["0%"]}
        alone = (_goodput(lab.request(**only), out), _goodput(lab.request(router, **tcp), out))
    again = _repeated(out, **drawn.flags())
    how: dict[str, Any] = {"source": client, "scheduler": drawn.scheduler}
    draws = [_goodput(lab.request(**how, seed=seed), out) for seed in _DRAWS]
    fitted = _repeated(out, **how, vary=["0%"])
    return Checked(drawn, captured_bps, again, fitted, draws, alone)


def check_log(drawn: Drawn, out: Path) -> Checked:
    """Run iperf3 beside ss, fit to the log, and run again. The client sends, as its log needs."""
    drawn = replace(drawn, direction="up")
    text = _program(
        _SS, out, *(f"--path={each}" for each in drawn.paths), f"--scheduler={drawn.scheduler}"
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / "ss.log").write_text(text)
    paths, transfer, _ = socket_logs.fit(out / "ss.log", None)
    file = _written(out / "ss.toml", Fit("ss.log", paths, transfer))
    fitted = _repeated(out, source=file, scheduler=drawn.scheduler, vary=["0%"])
    return Checked(drawn, transfer.goodput_bps, _repeated(out, **drawn.flags()), fitted)


def check_speed(drawn: Drawn, out: Path) -> Checked:
    """Measure each path alone by iperf3 and ping, fit, and run with all paths."""
    reverse = "-R" if drawn.direction == "down" else ""
    found = []
    for each in drawn.paths:
        place = out / each[0]
        text = _program(
            _SPEED.replace("REVERSE", reverse), place, f"--path={each}", "--transport=tcp"
        )
        for name, part in zip(
            ("idle.txt", "busy.txt", "test.json"), text.split("CUT\n"), strict=True
        ):
            (place / name).write_text(
                part.rpartition("}")[0] + "}" if name == "test.json" else part
            )
        items = f"{place}/test.json,{place}/idle.txt,loaded={place}/busy.txt"
        found.append(speed_tests.path(f"{each[0]}:{items}"))
    file = _written(out / "speed.toml", Fit("tests", found))
    original = _repeated(out, **drawn.flags())
    fitted = _repeated(out, source=file, **{**drawn.flags(vary=["0%"]), "path": ()})
    return Checked(drawn, original[0], original, fitted)


def _program(script: str, out: Path, *options: str) -> str:
    """What a shell script at the client prints, with iperf3 at the server."""
    call = [sys.executable, "-m", "mptcplab", "exec", *options, "--out", str(out)]
    done = subprocess.run(
        [*call, "--server", "iperf3 -s", "--", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return done.stdout


def _of_capture(file: Path, capture: Path) -> tuple[Path, float]:
    """The scenario fitted to a capture, and the goodput of its transfer in bit/s."""
    paths, transfer, _ = captures.fit([capture])
    return _written(file, Fit(capture.name, paths, transfer)), transfer.goodput_bps


def _written(file: Path, fit: Fit) -> Path:
    for each, text in scenario(fit, file).items():
        files.write(each, text.encode())
    return file


def _repeated(out: Path, **flags: Any) -> list[float]:
    """The goodputs with each seed."""
    return [_goodput(lab.request(**flags, seed=seed), out) for seed in _SEEDS]


def _goodput(request: Any, out: Path) -> float:
    return _figure(lab.run(request, out=out))


def _figure(run: lab.Run) -> float:
    value = run.metrics["goodput_bps"]
    assert value is not None
    return float(value)


def page(found: Sequence[Checked]) -> str:
    """What came out, as Markdown."""
    off = sorted(abs(each.off) for each in found)
    within = sum(each <= WITHIN for each in off)
    alone = sorted(abs(b / a - 1) for a, b in (e.alone for e in found if e.alone))
    lines = [
        f"- Goodput of {within} of {len(found)} scenarios is within 10 % of the captured run; "
        f"median deviation {100 * statistics.median(off):.1f} %, largest {100 * off[-1]:.1f} %.",
    ]
    if drawn := [e for e in found if e.draws]:
        around = sum(min(e.draws) <= e.captured <= max(e.draws) for e in drawn)
        lines.append(
            f"- The range of {len(_DRAWS)} draws from the intervals has the captured goodput in "
            f"{around} of {len(drawn)}."
        )
    if alone:
        good = sum(each <= WITHIN for each in alone)
        lines.append(
            f"- One path of several, fitted to its own capture: {good} of {len(alone)} within 10 % "
            f"for TCP over this path; median {100 * statistics.median(alone):.1f} %, "
            f"largest {100 * alone[-1]:.1f} %."
        )
    rows = [
        [
            " ".join(each.drawn.paths).replace("queue_discipline=", "").replace(",loss=0%", ""),
            f"{each.drawn.scheduler}, {each.drawn.direction}",
            f"{each.captured / 1e6:.2f}",
            f"{statistics.median(each.fitted) / 1e6:.2f}",
            f"{100 * each.off:+.1f} %",
            f"{100 * each.spread:.1f} %",
            "-" if each.alone is None else f"{100 * (each.alone[1] / each.alone[0] - 1):+.1f} %",
        ]
        for each in found
    ]
    head = [
        "paths",
        "scheduler, direction",
        "captured",
        "fitted",
        "deviation",
        "other seeds",
        "one path",
    ]
    return "\n".join([*lines, "", tables.markdown(head, rows)])


_BY = {"capture": check_capture, "ss": check_log, "speed": check_speed}


def _checked(arguments: argparse.Namespace) -> int:
    found = []
    for number, drawn in enumerate(draw(arguments.scenarios, arguments.seed), 1):
        out = arguments.out / f"{number}"
        found.append(_BY[arguments.by](drawn, out))
        # captures take hundreds of megabytes
        files.remove(out)
        say(f"[{number}/{arguments.scenarios}] {100 * found[-1].off:+.1f} %")
    text = page(found)
    print(text)
    if arguments.docs:
        options = f"--by {arguments.by} --scenarios {len(found)} --seed {arguments.seed}"
        command = f'`make fit-check FIT_ARGS="{options}"`:\n\n'
        marked.replace(arguments.docs, {f"{_MARK} {arguments.by}": command + text})
    return 0 if statistics.median(abs(each.off) for each in found) <= WITHIN else 1


def main() -> int:
    parser = parser_of("fit_check", __doc__)
    parser.add_argument("--by", choices=[*_BY], default="capture", help="fit to this  [capture]")
    parser.add_argument("--scenarios", type=natural, default=24, help="their number  [24]")
    parser.add_argument("--seed", type=natural, default=1, help="of their random values  [1]")
    parser.add_argument("--docs", type=Path, help="put the result between the marks of this page")
    parser.add_argument("--out", type=Path, default=Path("fit-check-out"), help="[fit-check-out]")
    arguments = parser.parse_args()
    return status_of(lambda: _checked(arguments))


if __name__ == "__main__":
    raise SystemExit(main())
