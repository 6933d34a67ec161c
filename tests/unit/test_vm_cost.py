# SPDX-License-Identifier: GPL-2.0-only
"""The bounds of what a scheduler may cost, and the table (checks/vm/cost.py)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from checks.vm import cost, machine
from checks.vm.cost import Transfer


def transfers(name: str, *figures: tuple[float, float]) -> list[Transfer]:
    """Pairs, whose second takes so many times the instructions and the packets of `default`."""
    made = []
    for busy, packets in figures:
        for scheduler, times, more in (("default", 1.0, 1.0), (name, busy, packets)):
            ns, count = round(times * 50_000_000), round(more * 2000)
            made.append(
                Transfer(scheduler=scheduler, busy_ns=ns, idle_ns=0, packets=count, acks=700)
            )
    return made


@pytest.mark.parametrize(
    ("figures", "beyond"),
    [
        # one pair of three may be beyond both bounds
        ([(1.04, 1.4), (0.9, 0.5), (2, 3)], "none"),
        ([(1.06, 1.4), (0.9, 0.5), (2, 3)], "ecf"),
        ([(1.04, 1.6), (0.9, 0.5), (2, 3)], "ecf"),
    ],
)
def test_medians_decide(
    figures: list[tuple[float, float]],
    beyond: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(machine, "require", lambda: None)
    monkeypatch.setattr(machine, "parts", lambda series: SimpleNamespace(release=f"{series}.1"))
    monkeypatch.setattr(cost, "measure", lambda *_: transfers("ecf", *figures))
    assert cost.main(["--megabytes", "50", "--scheduler", "ecf"]) == (beyond != "none")
    said = capsys.readouterr()
    assert said.err == f"beyond the bounds: {beyond}\n"
    middle, packets = sorted(figures)[1]
    row = f"| `ecf` | {middle:.3f} | {middle:.2f} | 0.90 | 2.00 | {packets:.2f} | 0.50 | 3.00 |"
    assert said.out.splitlines()[-1] == row
