# SPDX-License-Identifier: GPL-2.0-only
"""The out-of-tree MPTCP: how its kernel is chosen and built, its plan, and what it refuses.

The build is one with a `make` that pretends; engine/test_out_of_tree.py has runs.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mptcplab.cli import cli
from mptcplab.errors import InputError
from mptcplab.lab import kernel, kernel_names, kernel_tree, out_of_tree
from mptcplab.lab.engine import Rig
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_names import Named
from mptcplab.plan import plan
from mptcplab.runs import experiment, sweep
from mptcplab.runs.runner import Runner
from mptcplab.scenario import resolve, scheduler
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import Request
from mptcplab.scenario.workload import Program
from tests.unit.test_kernel import MAKEFILE, Repository, repository
from tests.unit.test_kernel_axis import GUEST, NEW

__all__ = ["repository"]

PATHS = ("wifi:50mbit,5ms", "lte:20mbit,20ms")
PROGRAM = Program(client=("/bin/true",), directory="/", time_limit_ns=None)
THERE = KernelBuild("f1", "out-of-tree", Path("linux"), Path("config"), "v0.95")


def request(**flags: Any) -> Request:
    return resolve.from_flags(Flags(**{"path": PATHS, **flags}))


@pytest.fixture
def source(repository: Repository) -> Repository:
    """One whose source is a Linux 4.19 with it."""
    repository.write(
        "source/Makefile", MAKEFILE.replace("6\nPATCHLEVEL = 12", "4\nPATCHLEVEL = 19")
    )
    repository.write("source/net/mptcp/mptcp_ctrl.c", "")
    repository.write("source/net/sched/sch_tbf.c", "one\ntwo\nthree\n")
    repository.write("kernel/out-of-tree.config", "CONFIG_MPTCP_FULLMESH=y\n")
    patch = (repository.patches / "0001-an-example.patch").read_text()
    patch = patch.replace("net/mptcp/protocol.c", "net/sched/sch_tbf.c")
    repository.write("kernel/patches/4.19/engine/0001-another.patch", patch)
    return repository


def test_such_a_source_has_patches_a_variant_and_a_probe_of_its_own(source: Repository) -> None:
    for name in (
        *("v0/probe.c", "stream.c", "stream.h", "drop.c", "uapi/probe.h"),
        *("bulk.c", "uapi/sockopt.h"),
    ):
        source.write(f"kernel/mptcp/{name}", name)
    built = kernel.build(source.source, quiet=True, remember=False)
    assert (built.variant, built.is_out_of_tree, built.has_framework) == (
        "out-of-tree",
        True,
        False,
    )
    assert "CONFIG_MPTCP_FULLMESH=y" in built.config.read_text()
    tree = kernel.tree_of(source.source) / "src"
    assert (tree / "net/sched/sch_tbf.c").read_text() == "one\nTWO\nthree\n"
    assert (tree / "net/mptcp/protocol.c").read_text() == "one\ntwo\nthree\n"
    lab = tree / "net/mptcp/lab"
    ours = {str(path.relative_to(lab)) for path in lab.rglob("*") if path.is_file()}
    assert ours == {"v0/probe.c", "stream.c", "stream.h", "drop.c", "uapi/probe.h"}
    # and a source of upstream's keeps those of its series
    source.write("source/Makefile", MAKEFILE)
    assert not kernel.build(source.source, quiet=True, remember=False).is_out_of_tree
    assert (lab / "uapi/sockopt.h").exists()
    assert not (lab / "v0").exists() or not list((lab / "v0").iterdir())
    assert kernel_tree.supported_series() == ["6.12"]


@pytest.mark.parametrize("variant", ["engine", "upstream", "debug", "cloud"])
def test_it_has_no_other_variant(source: Repository, variant: str) -> None:
    with pytest.raises(InputError, match=r"Linux 4\.19 has the variant out-of-tree, and it alone"):
        kernel.build(source.source, variant=variant, quiet=True)


def test_upstreams_has_not_its_variant(repository: Repository) -> None:
    with pytest.raises(InputError, match=r"Linux 4\.19 has the variant out-of-tree"):
        kernel.build(repository.source, variant="out-of-tree", quiet=True)


@pytest.mark.parametrize("packed", [False, True])
def test_a_plain_4_19_is_refused(source: Repository, packed: bool) -> None:
    (source.source / "net/mptcp/mptcp_ctrl.c").unlink()
    path = source.packed() if packed else source.source
    with pytest.raises(InputError, match=r"4\.19 without MPTCP: there is no net/mptcp/mptcp_ctrl"):
        kernel.build(path, quiet=True)


def test_packets_are_not_compared_with_upstreams(source: Repository) -> None:
    kernel_names.keep(Named("v0.95", source.source))
    refused = "only --kernel of runs takes this kernel: every packet differs"
    with pytest.raises(InputError, match=refused):
        kernel_names.build_any("v0.95")
    assert not kernel.built(), "a build takes minutes"
    built = kernel.build(source.source, quiet=True, remember=False)
    with pytest.raises(InputError, match=refused):
        kernel_names.build_any(built.id)


def test_its_plan_differs_in_mptcp_alone() -> None:
    (scenario,) = request(scheduler="minrtt", cc="olia").runs()
    ours = plan.render(scenario).splitlines()
    its_own = out_of_tree.plan_text(scenario).splitlines()
    settings = "net.mptcp.mptcp_enabled=1 net.mptcp.mptcp_path_manager=fullmesh"
    settings += " net.mptcp.mptcp_scheduler=default net.mptcp.mptcp_checksum=0"
    (new,) = (line for line in its_own if "mptcp_scheduler" in line)
    assert new == f"sysctl -qw {settings}"
    changed = [line for line in ours if line not in its_own]
    assert changed
    assert all(" mptcp " in line or " net.mptcp." in line for line in changed)
    assert sum("tcp_congestion_control=olia" in line for line in its_own) == 2


@pytest.mark.parametrize(
    ("scheduler", "settings"),
    [
        ("minrtt:rp=off", "default net.mptcp.mptcp_rp=0"),
        ("minrtt:v089=on:rp=off", "default net.mptcp.mptcp_rp=0 net.mptcp.mptcp_v089=1"),
        ("blest", "blest"),
    ],
)
def test_its_plan_has_the_parameters_of_minrtt(scheduler: str, settings: str) -> None:
    (scenario,) = request(scheduler=scheduler).runs()
    assert f"mptcp_scheduler={settings} net.mptcp.mptcp_checksum" in out_of_tree.plan_text(scenario)


def test_several_connections_share_the_scheduler_that_it_has(tmp_path: Path) -> None:
    shared = """
        scheduler = "blest"
        link = [{ name = "cable", rate = "20mbit", delay = "10ms" }]
        path = [{ name = "one", link = "cable" }, { name = "other", link = "cable" }]
        connection = [{ name = "first", paths = ["one"] }, { name = "second", paths = ["other"]%s }]
    """

    def able(of_second: str) -> str:
        table = tomllib.loads(shared % of_second)
        wanted = resolve.from_table(table, "two.toml", folder=tmp_path)
        experiment.require_able(wanted, THERE)
        return out_of_tree.plan_text(wanted.base)

    assert able("").count("net.mptcp.mptcp_scheduler=blest ") == 1
    able(', cc = "olia"')
    for other in (', scheduler = "minrtt"', ', transport = "tcp"'):
        with pytest.raises(InputError, match="whose scheduler holds for all connections"):
            able(other)
    with pytest.raises(InputError, match=r"lia:exact=on: .* lacks it"):
        able(', cc = "lia:exact=on"')


def test_the_plan_of_each_kernel_is_shown_without_a_build(source: Repository) -> None:
    kernel_names.keep(Named("v0.95", source.source))
    words = [word for path in PATHS for word in ("--path", path)]
    words += ["--repeat", "1", "--scheduler", "default,minrtt", "--plan", "--kernel"]
    both = CliRunner().invoke(cli, ["compare", *words, "6.12,v0.95"])
    alone = CliRunner().invoke(cli, ["compare", *words, "v0.95"])
    titles = [line for line in both.stdout.splitlines() if line.startswith("###")]
    assert titles == ["### default, seed 1", "### minrtt, seed 1", "### minrtt, v0.95, seed 1"]
    assert both.stdout.endswith(alone.stdout)
    assert alone.stdout.count("net.mptcp.mptcp_scheduler=default ") == 1


@pytest.mark.parametrize("kernel_name", ["v0.95", "mine", "stock:linux.deb"])
def test_options_without_effect_are_refused(source: Repository, kernel_name: str) -> None:
    kernel_names.keep(Named("v0.95", source.source, kernel.OUT_OF_TREE))
    kernel_names.keep(Named("mine", source.source, kernel.ENGINE_ONLY))
    words = ["--path", PATHS[0], "--kernel", kernel_name]
    made = CliRunner().invoke(cli, ["run", *words, "--kernel-like", "cloud"])
    assert str(made.exception) == (
        "1 mistake in --kernel-like\n"
        f"  cloud: {kernel_name} is one kernel, which has no flavours; leave it out"
    )
    is_stock = kernel_name.startswith("stock:")
    made = CliRunner().invoke(cli, ["exec", *words, "--plan", "--", "true"])
    assert ("runs on this kernel have no programs" in str(made.exception)) == is_stock
    made = CliRunner().invoke(cli, ["run", *words, "--plan"])
    assert ("leave out --plan" in str(made.exception)) == is_stock


@pytest.mark.parametrize(
    ("event", "ip", "lines"),
    [
        ("before:lte:backup", "4", ["ip -n client link set c2 multipath backup"]),
        (
            "3s:lte:backup,lasts=1s",
            "6",
            [f"at {at} ip -n client link set c2 multipath {how}"
             for at, how in (("3s", "backup"), ("4s", "on"))],
        ),
        (
            "2s:wifi:close,lasts=500ms",
            "4",
            [f"at {at} ip -n server link set s1 multipath {how}"
             for at, how in (("2s", "off"), ("2500ms", "on"))],
        ),
        (
            "2s:lte:remove,lasts=2s",
            "both",
            [f"at {at} ip -n client link set c2 multipath {how}"
             for at, how in (("2s", "off"), ("4s", "on"))],
        ),
    ],
)  # fmt: skip
def test_an_event_of_an_endpoint_is_one_of_its_device(
    event: str, ip: str, lines: list[str]
) -> None:
    mesh = {"endpoints": "fullmesh"} if "remove" in event else {}
    paths = tuple(f"{path},ip={ip}" for path in PATHS)
    wanted = request(path=paths, scheduler="minrtt", event=[event], **mesh)
    experiment.require_able(wanted, THERE)
    text = out_of_tree.plan_text(wanted.base)
    assert [line for line in text.splitlines() if " multipath " in line] == lines
    assert " mptcp endpoint " not in text


def test_the_plan_of_programs_asks_for_nothing_that_it_lacks(source: Repository) -> None:
    kernel_names.keep(Named("v0.95", source.source))
    words = ["exec", *(word for path in PATHS for word in ("--path", path))]
    words += ["--scheduler", "minrtt", "--plan"]
    shown = [
        CliRunner().invoke(cli, [*words, *kernel, "--", "echo", "net.mptcp.own"]).stdout
        for kernel in ((), ("--kernel", "v0.95"))
    ]
    for upstreams in ("net.mptcp.mptcpize=1", " tx-udp-segmentation off"):
        assert [upstreams in plan for plan in shown] == [True, False]
    assert "net.mptcp.mptcp_enabled=1 " in shown[1]
    # a subflow per path
    assert ["route add 10.1.2.0/24 via 10.1.1.1\n" in each for each in shown] == [True, False]
    # not words of programs
    assert all(re.search(r"client program .* net\.mptcp\.own$", each, re.M) for each in shown)


def test_plain_tcp_is_without_mptcp() -> None:
    (scenario,) = request(path=PATHS[:1], transport="tcp").runs()
    assert "sysctl -qw net.mptcp.mptcp_enabled=0\n" in out_of_tree.plan_text(scenario)


@pytest.mark.parametrize(
    "flags",
    [
        {"scheduler": "minrtt,blest,ecf,roundrobin,redundant", "cc": "cubic,lia,olia,balia,wvegas"},
        {"transport": "tcp", "path": PATHS[:1]},
        {"scheduler": "minrtt", "workload": "requests", "event": ["1s:lte:down,lasts=1s"]},
        {"scheduler": "minrtt", "endpoints": "fullmesh"},
        {"scheduler": "minrtt:v089=on:rp=off"},
        {"scheduler": "minrtt", "decisions": True, "states": True},
        {"scheduler": "minrtt", "program": PROGRAM},
        {"scheduler": "minrtt", "path": ("a:1mbit,1ms,nat_timeout=30s,middlebox=strip",)},
        {"scheduler": "minrtt", "path": ("a:1mbit,1ms,ip=6,drop=5,drop_acks=7",)},
    ],
)
def test_it_runs(flags: dict[str, Any]) -> None:
    experiment.require_able(request(**flags), THERE)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"scheduler": "default,minrtt"}, "default: .* is upstream's; accepted is .*minrtt"),
        ({"scheduler": "earliest"}, "earliest: .* accepted is .*minrtt"),
        ({"scheduler": "minrtt:bm=on"}, "minrtt:bm=on: .* without these"),
        ({"scheduler": "blest:paper=on"}, "blest:paper=on: .* without these"),
        ({"scheduler": "minrtt", "workload": "bulk:connections=2"}, "leave out connections"),
        ({"scheduler": "minrtt", "cc": "lia:exact=on"}, "lia:exact=on: .* lacks it; accepted"),
        ({"scheduler": "minrtt", "endpoints": "subflow"}, "meshes all addresses"),
        ({"scheduler": "minrtt", "blackhole_timeout": "5s"}, "keeps no time of blackholes"),
        ({"scheduler": "minrtt", "workload": "tunnel"}, "whose runs have no tunnel"),
    ],
)
def test_the_rest_is_refused(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        experiment.require_able(request(**flags), THERE)


def test_beside_another_kernel_it_leaves_out_the_schedulers_that_it_lacks(tmp_path: Path) -> None:
    wanted = request(scheduler="default,minrtt", kernel="6.12,v0.95")
    rigs = [Rig(each, GUEST) for each in (NEW, THERE)]
    made = experiment.tasks(wanted, rigs, Runner(tmp_path), baseline=True)
    of = [
        (task.rig.kernel.id, task.scenario.transport, task.scenario.scheduler.name) for task in made
    ]
    assert [each for each in of if each[1] == "mptcp"] == [
        *((NEW.id, "mptcp", name) for name in ("default", "minrtt")),
        ("f1", "mptcp", "minrtt"),
    ]
    # alone, it says that it lacks it
    with pytest.raises(InputError, match="is upstream's"):
        experiment.require_able(replace(wanted, kernels=("v0.95",)), THERE)


def test_a_sweep_beside_another_kernel_leaves_them_out_too(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        'scenario.scheduler = ["default", "minrtt"]\n'
        'scenario.path = [{ name = "a", rate = "{rate}mbit", delay = "1ms" }]\n'
        "[grid]\nrate = [1, 2]\n"
    )

    def planned(*kernels: str) -> sweep.Plan:
        given = sweep.load(file, kernels=kernels)
        return sweep.plan(
            given, scheduler.known(), GUEST, {"6.12": NEW, "v0.95": THERE}.__getitem__
        )

    both = planned("6.12", "v0.95")
    made = [(run.kernel.id, run.scenario.scheduler.name) for run in both.runs.values()]
    assert made == 2 * [(NEW.id, "default"), (NEW.id, "minrtt"), ("f1", "minrtt")]
    assert {name: list(each) for name, each in both.left_out.items() if each} == {
        "v0.95": ["default"]
    }
    with pytest.raises(InputError, match="is upstream's"):
        planned("v0.95")
