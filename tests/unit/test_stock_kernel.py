# SPDX-License-Identifier: GPL-2.0-only
"""A distribution's kernel as one of the kernels of runs: what it can run, and what is known then.

Nothing is run; test_stock.py has packages and virtual machines, engine/test_stock_kernel.py a run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from mptcplab.cli.actions import common
from mptcplab.cli.commands.kernel import kernel_list
from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab import doctor, kernel_names, stock_machine, stock_package
from mptcplab.lab.engine import RunOutcome
from mptcplab.lab.kernel import KernelBuild, Parts, Stock, parts
from mptcplab.metrics import sockets
from mptcplab.metrics.compute import run_metrics
from mptcplab.metrics.definitions import RUN_METRICS
from mptcplab.metrics.schema import Trait
from mptcplab.papers import catalogue
from mptcplab.report import explain
from mptcplab.runs import cost, experiment, single, store, sweep
from mptcplab.scenario import resolve, scheduler
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import Request
from tests.unit import synthetic
from tests.unit.synthetic import FAST, SECOND, SLOW
from tests.unit.test_kernel_axis import GUEST, KERNELS
from tests.unit.test_sweep import FILE

PATHS = ("wifi:50mbit,5ms", "lte:20mbit,20ms")
NAME = "linux-image-6.12.117_6.12.117-1_amd64"


@pytest.fixture
def debian(tmp_path: Path) -> KernelBuild:
    """A kernel of a package."""
    config = tmp_path / "config"
    config.write_text("CONFIG_NET_IPIP=m\n")
    own = Stock("linux-image-6.12.117", "6.12.117-1", "6.12.117-amd64", (), ("reno", "cubic"))
    return KernelBuild("d1", "stock", tmp_path / "vmlinuz", config, NAME, own)


def request(**flags: Any) -> Request:
    return resolve.from_flags(Flags(**{"path": PATHS, **flags}))


# --- what it can run


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"scheduler": "default", "cc": "cubic,reno", "pcap": True},
        {"transport": "tcp", "path": PATHS[:1]},
        {"workload": "requests"},
        {"event": ["1s:lte:down,lasts=1s"]},
    ],
)
def test_default_and_plain_tcp_run_there(debian: KernelBuild, flags: dict[str, Any]) -> None:
    experiment.require_able(request(**flags), debian)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"scheduler": "default,minrtt"}, "minrtt: .* without our schedulers; accepted is default"),
        ({"scheduler": "default:recovery=on"}, "default:recovery=on: .* accepted is default"),
        ({"cc": "reno,lia:exact=on"}, "lia:exact=on: .* accepted is one of reno, cubic"),
        ({"cc": "bbr"}, "bbr: .* lacks it; accepted is one of reno, cubic"),
        ({"path": ["a:1mbit,1ms,drop=5"]}, "path.a.up.drop: .* by their numbers; use loss"),
        ({"path": ["wifi-bursts"]}, "path.wifi-bursts.up.trace: .* above 0 never leave"),
        (
            {"path": PATHS, "workload": "bulk:connections=2"},
            ".* one connection; leave out connections",
        ),
        ({"path": PATHS, "workload": "tunnel"}, "tunnel: .* whose runs have no tunnel"),
        (
            {"path": PATHS, "connection": ["one:paths=wifi", "two:paths=lte"]},
            "one, two: .* one connection; leave out connection",
        ),
    ],
)
def test_the_rest_is_refused(debian: KernelBuild, flags: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        experiment.require_able(request(**flags), debian)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"scheduler": "default,minrtt,minrtt:rp=off"}, ""),
        ({"scheduler": "minrtt,ecf"}, "ecf: .* some of our schedulers; accepted is default or min"),
        ({"scheduler": "minrtt:recovery=on"}, "minrtt:recovery=on: .* accepted is default or min"),
        ({"scheduler": "minrtt", "decisions": True}, "keeps no decisions; leave out decisions"),
    ],
)
def test_with_our_package_it_runs_its_schedulers(
    debian: KernelBuild, flags: dict[str, Any], message: str
) -> None:
    assert debian.stock is not None
    there = replace(debian, stock=replace(debian.stock, schedulers=("minrtt",)))
    if not message:
        experiment.require_able(request(**flags), there)
        return
    with pytest.raises(InputError, match=message):
        experiment.require_able(request(**flags), there)


def test_all_of_it_is_said_at_once(debian: KernelBuild) -> None:
    with pytest.raises(InputError) as raised:
        experiment.require_able(request(scheduler="ecf", cc="olia"), debian)
    assert [each.where for each in raised.value.problems] == ["--scheduler", "--cc"]


def test_an_old_kernel_runs_plain_tcp_alone(debian: KernelBuild) -> None:
    assert debian.stock is not None
    old = replace(debian, stock=replace(debian.stock, release="6.1.0-48-amd64"))
    with pytest.raises(InputError, match=r"6\.1\.0-48-amd64 does not count .* accepted is 6\.6 or"):
        experiment.require_able(request(), old)
    experiment.require_able(request(path=PATHS[:1], transport="tcp"), old)


def test_papers_run_there_with_default_alone(debian: KernelBuild, tmp_path: Path) -> None:
    def check(name: str) -> None:
        published = catalogue.load(name)
        for each in catalogue.settings(
            published, scheduler.known(), tmp_path, part=catalogue.QUICK
        ):
            experiment.require_able(each.request, debian)

    check("cech2020/fig11")
    with pytest.raises(InputError, match="without our schedulers"):
        check("cech2020/fig2")
    # of what a part was made: the whole of it
    assert parts(debian) == Parts("d1", {})


def test_a_sweep_refuses_what_it_cannot_run(debian: KernelBuild, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(FILE)
    given = sweep.load(file, kernels=[NAME])
    with pytest.raises(InputError, match="without our schedulers"):
        sweep.plan(given, scheduler.known(), GUEST, {NAME: debian}.__getitem__)


# --- asking for one


@pytest.fixture
def asked(debian: KernelBuild, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of kernels that were asked for, in their order; each `stock:` is the package."""
    names: list[str] = []

    def by_name(name: str, *_more: object) -> KernelBuild:
        names.append(name)
        return debian if stock_package.is_stock(name) else KERNELS[name]

    monkeypatch.setattr(experiment, "kernel_by_name", by_name)
    monkeypatch.setattr(kernel_names, "find", lambda _name: None)
    return names


def test_it_refuses_before_another_kernel_is_built(debian: KernelBuild, asked: list[str]) -> None:
    found = experiment.kernels(request(kernel="6.12,stock:a.deb"))
    assert found == [KERNELS["6.12"], debian]
    asked.clear()
    with pytest.raises(InputError, match="without our schedulers"):
        experiment.kernels(request(kernel="6.12,stock:a.deb", scheduler="ecf"))
    assert asked == ["stock:a.deb"]


@pytest.mark.usefixtures("asked")
def test_one_kernel_is_not_compared_with_itself() -> None:
    with pytest.raises(InputError, match=f"stock:a.deb, stock:b.deb: all of these are {NAME}"):
        experiment.kernels(request(kernel="stock:a.deb,stock:b.deb"))


def test_it_is_for_runs_on_this_machine() -> None:
    with pytest.raises(InputError, match="leave out --cluster"):
        experiment.kernel_by_name("stock:a.deb", cluster="tls://a:1")
    with pytest.raises(InputError, match=r"only --kernel of runs takes; .* prune removes it"):
        kernel_names.find("stock:a.deb", "NAME", to_remove=True)


def test_it_needs_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {check.name: check for check in doctor.checks("0123456789ab")}
    assert not found[doctor.QEMU].required
    assert found[doctor.QEMU].packages == ("qemu-system-x86",)
    monkeypatch.setattr(doctor, "find_tool", lambda name: None if "qemu" in name else "/bin/it")
    with pytest.raises(MptcplabError, match=r"qemu-system-x86_64: missing\n  to fix it: .*qemu-"):
        stock_machine.require()


# --- what results say


def test_results_name_the_package(debian: KernelBuild) -> None:
    found = single.builds(debian, GUEST)
    # its configuration is that of the cloud flavour: no WLAN
    assert {**found, "mptcplab": ""} == {
        "kernel": "d1",
        "kernel_name": NAME,
        "kernel_like": "cloud",
        "package": "linux-image-6.12.117 6.12.117-1",
        "guest": GUEST.id,
        "mptcplab": "",
    }
    assert debian.stock is not None
    slower = replace(debian, stock=replace(debian.stock, instruction_ns=2))
    assert single.builds(slower, GUEST)["instruction_ns"] == "2"
    debian.config.write_text("")
    assert "kernel_like" not in single.builds(debian, GUEST)


def _leave(directory: Path, *, links: bool) -> RunOutcome:
    """What a run of 2 s leaves; its records go on for a second."""
    client, server = synthetic.run(FAST, SLOW, duration_ns=3 * SECOND)
    synthetic.write(client, directory / "client.samples")
    synthetic.write(server, directory / "server.samples")
    (directory / "messages.records").touch()
    if links:
        (directory / "links.samples").touch()
    reported = synthetic.guest(2 * SECOND)
    (directory / "guest.json").write_text(json.dumps(reported))
    return RunOutcome(directory, reported, 2.0, 1.0, 0.0, 1.0, 0.0, 1 << 20, of_sockets=not links)


def test_what_sockets_do_not_tell_is_unknown_and_not_0(tmp_path: Path) -> None:
    scenario = synthetic.scenario(duration_ns=2 * SECOND, warmup_ns=0)
    found = single.figures(scenario, _leave(tmp_path, links=False))
    values = found.metrics.model_dump()
    assert {values[name] for name in sockets.UNKNOWN} == {None}
    # 4 and 1 bytes per us of 2 s, up to the end and no further
    assert values["goodput_bps"] == 40e6
    known = {name for name, value in values.items() if value is not None}
    assert known >= {
        *("goodput_bps", "retransmitted_packets", "retransmitted_bytes", "data_packets"),
        *("reinjected_bytes", "wasted_bytes", "send_buffer_bytes_mean"),
        *("receive_buffer_bytes_mean", "subflows"),
    }
    assert {name for name, value in found.paths[0].model_dump().items() if value is not None} >= {
        *("name", "goodput_bps", "share", "srtt_ms_mean", "cwnd_mean", "in_flight_mean"),
        *("retransmitted_packets", "utilisation"),
    }


def test_decisions_that_nothing_counted_are_blank_and_not_0(tmp_path: Path) -> None:
    scenario = synthetic.scenario(scheduler="minrtt", duration_ns=2 * SECOND, warmup_ns=0)
    left = _leave(tmp_path, links=True)
    (tmp_path / "links.samples").write_bytes(synthetic.links(FAST, SLOW).tobytes())
    blank = sockets.names(RUN_METRICS, {Trait.DECISIONS})
    counted = single.figures(scenario, left).metrics
    assert None not in {counted[name] for name in blank}
    found = single.figures(scenario, replace(left, decisions=False))
    assert {found.metrics[name] for name in blank} == {None} == {found.paths[0]["new_segments"]}
    of_decisions = {name: counted[name] for name in blank}
    assert found.metrics.model_copy(update=of_decisions) == counted


def test_no_known_figure_depends_on_a_field_that_sockets_lack() -> None:
    scenario, guest = synthetic.scenario(), synthetic.guest()
    ends = synthetic.run(FAST, SLOW)
    before = sockets.known(run_metrics(scenario, *ends, guest))
    for end in ends:
        # counters grow; a queue that did would be goodput
        for name in ("written_bytes", "window_bytes", "blocked_us", "blocks"):
            end.connection[name] += np.arange(len(end.connection), dtype=np.uint32)
        end.connection["ofo_bytes"], end.connection["flags"] = 700, 1
        end.subflow["ofo_bytes"] = 300
        end.subflow["blocking_us"] = np.arange(len(end.subflow))
    found = run_metrics(scenario, *ends, guest)
    assert found != before
    assert sockets.known(found) == before


def test_series_have_no_panel_of_what_is_unknown(tmp_path: Path) -> None:
    titles = {}
    for links in (True, False):
        directory = tmp_path / str(links)
        directory.mkdir()
        _leave(directory, links=links)
        scenario = synthetic.scenario(duration_ns=2 * SECOND, warmup_ns=0)
        store.write_json(directory / store.SCENARIO, scenario)
        titles[links] = [panel.title for panel in store.read_series(directory).panels]
    assert [title for title in titles[True] if title not in titles[False]] == [
        "Out-of-order queues of the connection and of subflows",
        "Buffers, send window",
    ]
    assert "Buffers" in titles[False]
    with pytest.raises(MptcplabError, match="do not report what limits a path"):
        explain.explain(tmp_path / "False")


def test_a_run_there_is_expected_to_take_longer(debian: KernelBuild) -> None:
    base = request().base
    lab, stock = (cost.size(base, kernel) for kernel in (KERNELS["6.12"], debian))
    costs = cost.Costs({"lab": lab, "stock": stock})
    assert costs.of("stock") == pytest.approx(cost.TIMES_AS_LONG * costs.of("lab"))


def test_its_runs_are_said_to_take_long(
    debian: KernelBuild, capsys: pytest.CaptureFixture[str]
) -> None:
    common.say_slow([KERNELS["6.12"]])
    assert capsys.readouterr().err == ""
    common.say_slow([KERNELS["6.12"], debian])
    assert "about 70 times as long" in capsys.readouterr().err


def test_the_list_shows_what_is_in_the_cache_and_prune_removes_it(
    tmp_path: Path, debian: KernelBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = stock_package.packages_dir() / "d1"
    place.mkdir(parents=True)
    (place / "vmlinuz").write_bytes(b"image")
    (place / "config").write_bytes(b"")
    (place.parent / "a.deb").write_bytes(b"package")
    about = {"package": "linux-image-6.12.117", "version": "6.12.117-1", "architecture": "amd64"}
    about |= {"release": "6.12.117-amd64"}
    lists = {"modules": [], "ccs": ["reno", "cubic"], "packages": ["/a.deb"]}
    (place / "about.json").write_text(json.dumps({**about, **lists}))
    (kept,) = stock_package.kept()
    assert kept.stock == debian.stock
    current: Callable[..., None] = lambda *_of: None  # noqa: E731
    monkeypatch.setattr("mptcplab.lab.kernel.current", current)
    shown = CliRunner().invoke(kernel_list).output
    lines = shown.splitlines()
    assert max(map(len, lines[:-2])) <= 100
    _, _, line = lines[lines.index("Linux 6.12: /a.deb") :][:3]
    assert line.split()[:4] == ["d1", NAME, "stock", "neither"]
    monkeypatch.setattr(kernel_names, "_needed", lambda _names: (set(), set()))
    (gone,) = kernel_names.prune()
    assert (gone.what, gone.directory) == ("distribution's kernel", place)
    assert [each.name for each in place.parent.iterdir()] == ["a.deb"]
