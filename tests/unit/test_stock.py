# SPDX-License-Identifier: GPL-2.0-only
"""Settings, packages, virtual machines and figures of `make stock-check`; QEMU only pretends."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checks.stock import __main__ as command
from checks.stock import early, rows, runs
from checks.stock.compare import Compared, Spread, State, compared
from checks.stock.early import Equal, Sender, equal
from checks.stock.markdown_tables import markdown
from checks.stock.rows import Row, Table
from checks.stock.runs import Bench, Seeds
from checks.stock.settings import (
    CLOSE_UP_NS,
    CLOSE_UP_STEP_NS,
    CPU_TIMES_NS,
    STEP_NS,
    StockSetting,
    settings,
)
from mptcplab.errors import InputError, MachineError, MptcplabError, RunCancelledError, RunError
from mptcplab.lab import doctor, engine
from mptcplab.lab import guest as guest_module
from mptcplab.lab import kernel as kernel_module
from mptcplab.lab import stock_machine as machine
from mptcplab.lab import stock_package as package
from mptcplab.lab.engine import Rig, RunOutcome, Watch
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild, Stock
from mptcplab.metrics import records
from mptcplab.plan import plan
from mptcplab.runs import single, store
from mptcplab.runs.store import Store
from mptcplab.scenario.model import Scenario
from tests.read_only import called, read_only
from tests.unit import synthetic
from tests.unit.synthetic import FAST, SECOND, SLOW, T0, Flow
from tests.vocabulary import scenario_of

PATHS = ("a:10mbit,10ms", "b:10mbit,10ms")
RELEASE = "6.12.117+deb12-amd64"
NAME = f"linux-image-{RELEASE}-unsigned_6.12.117-1~deb12u1_amd64.deb"


# --- settings


def test_the_settings_cover_what_is_wanted() -> None:
    found = settings()
    names = [each.name for each in found]
    assert len(set(names)) == len(names) >= 24
    paths = [path for each in found for path in each.scenario.paths]
    rates = {path.up.rate_bps for path in paths}
    assert (min(rates), max(rates)) == (5_000_000, 200_000_000)
    # both ways
    assert {2 * path.up.delay_ns for path in paths} >= {5_000_000, 200_000_000}
    assert {each.scenario.cc for each in found} == {"cubic", "reno", "bbr"}
    assert {each.scenario.transport for each in found} == {"tcp", "mptcp"}
    assert {each.scenario.workload.direction for each in found} == {"up", "down"}
    assert any(each.is_transfer for each in found)
    assert any(each.scenario.receive_buffer_bytes for each in found)
    assert any(path.up.loss for path in paths)


def test_every_plan_can_be_carried_out_by_a_stock_kernel() -> None:
    for each in settings():
        lines = plan.render(each.scenario).splitlines()
        assert each.scenario.scheduler.name == "default"
        assert not [line for line in lines if "insmod" in line or "mptcp_probe" in line]
        queues = [line.split()[line.split().index("root") + 1] for line in lines if "qdisc" in line]
        assert set(queues) == {"netem"}


def test_seeds_are_told_apart_and_steps_are_sampled() -> None:
    (setting,) = settings(["send buffer"])
    assert [each.seed for each in setting.with_seeds(3)] == [1, 2, 3]
    assert setting.scenario.sample_interval_ns == STEP_NS


def test_cpu_time_is_more_delay_and_nothing_else() -> None:
    (setting,) = settings(["100,10 + 5,50"])
    (plain,), (longer,) = (setting.close_ups(1, further_ns) for further_ns in (0, 20_000))
    assert (plain.workload.duration_ns, plain.sample_interval_ns) == (16 * STEP_NS, 100_000)
    delays = [
        (way.delay_ns, way.queue_packets)
        for each in (plain, longer)
        for path in each.paths
        for way in (path.up, path.down)
    ]
    assert delays[4:] == [(delay_ns + 20_000, queue) for delay_ns, queue in delays[:4]]
    assert longer.model_copy(update={"paths": plain.paths}) == plain


def test_only_some_settings() -> None:
    assert [each.name for each in settings(["BBR", "Reno"])] == [
        "50,10 + 20,40; Reno",
        "50,10 + 20,40; BBR",
    ]
    with pytest.raises(InputError, match="vegas: accepted is a part of: 100,10"):
        settings(["BBR", "vegas"])


# --- packages


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    package.packages_dir().mkdir(parents=True)
    return package.packages_dir()


def test_the_newest_package_of_each_flavour_is_taken(cache: Path) -> None:
    for release in ("6.12.9+deb12-amd64", RELEASE, "6.12.20-cloud-amd64", "6.13.1-amd64"):
        (cache / f"linux-image-{release}-unsigned_1_amd64.deb").touch()
    # the sources of neither
    (cache / "linux-image-6.12.300+deb12-rt-amd64-unsigned_1_amd64.deb").touch()
    assert [file.name.split("_")[0] for file in package.newest()] == [
        f"linux-image-{RELEASE}-unsigned",
        "linux-image-6.12.20-cloud-amd64-unsigned",
    ]


def test_a_missing_package_says_how_it_is_had(cache: Path) -> None:
    (cache / NAME).touch()
    with pytest.raises(MachineError) as raised:
        package.newest()
    assert str(raised.value) == (
        f"kernel package: no linux-image-6.12.*-cloud-amd64 in {cache}\n"
        "  to fix it: make setup-stock"
    )
    assert package.newest(["amd64"]) == [cache / NAME]


needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not installed")
needs_zstd = pytest.mark.skipif(not shutil.which("zstd"), reason="zstd is not installed")

CONFIG = b"CONFIG_WLAN=y\nCONFIG_NET_IPIP=m\n"
SCHED = f"lib/modules/{RELEASE}/kernel/net/sched"
#: What a package of Debian has in it, as far as it matters.
DEBIAN = {
    f"boot/vmlinuz-{RELEASE}": b"image",
    f"boot/config-{RELEASE}": CONFIG,
    f"lib/modules/{RELEASE}/modules.builtin": b"kernel/net/ipv4/tcp_cubic.ko\n",
    f"lib/modules/{RELEASE}/kernel/drivers/net/veth.ko.xz": lzma.compress(b"veth"),
    f"{SCHED}/sch_netem.ko.xz": lzma.compress(b"netem"),
    f"{SCHED}/sch_cake.ko.xz": lzma.compress(b"cake"),
}


def make_package(
    directory: Path,
    contents: Mapping[str, bytes],
    *,
    name: str = f"linux-image-{RELEASE}-unsigned",
    version: str = "6.12.117-1~deb12u1",
    architecture: str = "amd64",
) -> Path:
    """A package with these files."""
    root = directory / "root" / name
    for path, content in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n"
        "Maintainer: x\nDescription: x\n"
    )
    made = directory / f"{name}_{version.replace(':', '%3a')}_{architecture}.deb"
    subprocess.run(["dpkg-deb", "--build", root, made], check=True, capture_output=True)
    return made


@needs_dpkg
@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("below", ["", "usr/"])
def test_what_a_run_needs_is_taken_out_of_a_package(tmp_path: Path, below: str) -> None:
    moved = {path.replace("lib/", f"{below}lib/", 1): content for path, content in DEBIAN.items()}
    made = make_package(tmp_path, moved)
    found = package.unpacked([made])
    assert found.name == made.stem == package.name_of(f"stock:{made}")
    assert (found.variant, found.flavour, found.has_framework) == ("stock", "amd64", False)
    assert found.image.read_bytes() == b"image"
    assert found.config.read_bytes() == CONFIG
    stock = found.stock
    assert stock is not None
    assert (stock.version, stock.release) == ("6.12.117-1~deb12u1", RELEASE)
    assert {file.name: file.read_bytes() for file in stock.modules} == {
        "veth.ko": b"veth",
        "sch_netem.ko": b"netem",
    }
    assert stock.ccs == ("reno", "cubic")
    assert package.series(stock) == (6, 12)
    before = found.image.stat().st_ino
    assert package.unpacked([made]) == found
    assert found.image.stat().st_ino == before
    # the content counts, wherever it is
    assert package.unpacked([made.rename(tmp_path / "a.deb")]) == found


@needs_dpkg
def test_an_unwritable_cache_is_reported_with_a_remedy(tmp_path: Path) -> None:
    made = make_package(tmp_path, DEBIAN)
    cache = tmp_path / "cache" / "mptcplab"
    cache.mkdir(parents=True)
    with read_only(cache.parent):
        options = ("--path", "a:5mbit,5ms", "--kernel", f"stock:{made}")
        done = called(tmp_path, "run", *options, XDG_CACHE_HOME=str(cache.parent))
    assert (done.returncode, done.stderr.splitlines()) == (
        1,
        [
            f"mptcplab: cannot write to {cache}/stock: Permission denied; you can use the "
            "kernels there, but extract none",
            "  to fix it: export XDG_CACHE_HOME=/a/directory/that/you/can/write/to",
        ],
    )


@needs_dpkg
@needs_zstd
@pytest.mark.usefixtures("cache")
def test_modules_may_be_in_packages_of_their_own(tmp_path: Path) -> None:
    release = "6.14.0-27-generic"
    kernel = f"lib/modules/{release}/kernel"

    def zst(content: bytes) -> bytes:
        done = subprocess.run(["zstd", "-c"], input=content, capture_output=True, check=True)
        return done.stdout

    parts = {
        "linux-image": {f"boot/vmlinuz-{release}": b"image"},
        "linux-modules": {
            f"boot/config-{release}": b"",
            f"{kernel}/drivers/net/veth.ko.zst": zst(b"veth"),
            f"{kernel}/net/ipv4/tcp_bbr.ko.gz": gzip.compress(b"bbr"),
        },
        "linux-modules-extra": {f"{kernel}/net/sched/sch_netem.ko": b"netem"},
    }
    debs = [
        make_package(tmp_path, contents, name=f"{name}-{release}", version="1:6.14.0-27.27")
        for name, contents in parts.items()
    ]
    with pytest.raises(InputError, match=r"without /boot/config-\*; accepted is a kernel package"):
        package.unpacked(debs[:1])
    with pytest.raises(
        InputError, match="without the module sch_netem, which another package may have"
    ):
        package.unpacked(debs[:2])
    found = package.unpacked(package.packages_of(f"stock:{':'.join(map(str, debs))}"))
    assert found.name == f"linux-image-{release}_6.14.0-27.27_amd64"
    assert found.flavour == "neither"
    stock = found.stock
    assert stock is not None
    assert (stock.release, stock.ccs) == (release, ("reno", "bbr"))
    assert [file.read_bytes() for file in stock.modules] == [b"veth", b"netem", b"bbr"]
    # another package beside it is another kernel
    other = make_package(tmp_path / "other", {"etc/x": b""}, name="other")
    assert package.unpacked([*debs, other]).id != found.id


@needs_dpkg
def test_our_package_brings_modules_built_with_the_headers(cache: Path, tmp_path: Path) -> None:
    headers = f"usr/src/linux-headers-{RELEASE}/Makefile"
    # it includes a file of another package, by its place on a machine
    contents = {
        f"linux-image-{RELEASE}": DEBIAN,
        f"linux-headers-{RELEASE}": {headers: b"include /usr/src/linux-headers-common/Makefile\n"},
        "linux-headers-common": {"usr/src/linux-headers-common/Makefile": b"ELF := /bin/true\n"},
        "mptcplab-schedulers-dkms": {
            "usr/src/mptcplab-schedulers-1/Makefile": b"include $(KDIR)/Makefile\nall:\n"
            b"\ttest $(KVER) = %s\n\tcp $(ELF) mptcp_adapter.ko\n\tcp $(ELF) mptcp_first.ko\n"
            % RELEASE.encode()
        },
    }
    image, of_kernel, common, ours = (
        make_package(tmp_path, each, name=name, architecture="amd64" if "image" in name else "all")
        for name, each in contents.items()
    )
    with pytest.raises(InputError, match=re.escape(f"packages with /{headers[:-9]}")):
        package.unpacked([image, ours])
    with pytest.raises(MptcplabError, match=r"cannot be built .*(?s:.*)headers-common/Makefile"):
        package.unpacked([image, of_kernel, ours])
    assert list(cache.iterdir()) == []
    found = package.unpacked([image, of_kernel, common, ours])
    assert found.stock is not None
    assert (found.stock.schedulers, found.has_adapter) == (("first",), True)
    assert package.unpacked([image]).has_adapter is False
    loaded = {
        name: re.findall(r"(?m)^insmod (.*)\.ko$", machine.plan_text(each, found))
        for name in ("default", "first")
        for each in [scenario_of(*PATHS, scheduler=name)]
    }
    assert loaded["first"] == [*loaded["default"], "mptcp_adapter", "mptcp_first"]
    for module in loaded["first"]:
        assert found.image.with_name(f"{module}.ko").is_file()


@pytest.mark.parametrize("name", ["stock:", "stock:a.deb:", "stock:a.deb:a.deb"])
def test_packages_without_a_name_or_twice_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"a name is missing|is named twice"):
        package.packages_of(name)


@needs_dpkg
def test_a_package_without_a_kernel_leaves_nothing(cache: Path, tmp_path: Path) -> None:
    without = {path: each for path, each in DEBIAN.items() if "vmlinuz" not in path}
    with pytest.raises(InputError, match=r"without /boot/vmlinuz-\*"):
        package.unpacked([make_package(tmp_path, without)])
    (tmp_path / NAME).write_bytes(b"no package")
    with pytest.raises(InputError, match=r"not a package of Debian \(dpkg-deb: error"):
        package.unpacked([tmp_path / NAME])
    with pytest.raises(InputError, match="there is no such file; accepted is"):
        package.unpacked([tmp_path / "none.deb"])
    arm = make_package(tmp_path / "arm", DEBIAN, architecture="armhf")
    with pytest.raises(InputError, match="a package for armhf; accepted is"):
        package.unpacked([arm])
    assert list(cache.iterdir()) == []


@needs_dpkg
def test_a_module_that_cannot_be_unpacked_leaves_nothing(cache: Path, tmp_path: Path) -> None:
    broken = DEBIAN | {f"{SCHED}/sch_netem.ko.xz": b"broken"}
    with pytest.raises(MptcplabError, match=r"sch_netem\.ko\.xz: cannot be unpacked"):
        package.unpacked([make_package(tmp_path, broken)])
    assert list(cache.iterdir()) == []


@needs_dpkg
def test_what_was_extracted_is_known_and_can_be_removed(cache: Path, tmp_path: Path) -> None:
    made = make_package(tmp_path, DEBIAN)
    found = package.unpacked([made])
    (cache / "0123456789ab").mkdir()  # not whole
    assert [(each, each.stock.packages) for each in package.kept() if each.stock] == [
        (found, (made,))
    ]
    assert set(package.directories()) == {found.image.parent, cache / "0123456789ab"}
    # one that is not whole is made again
    (found.image.parent / "about.json").unlink()
    assert package.kept() == []
    assert package.unpacked([made]) == found


# --- the virtual machine

# Finds the file of its second serial port as QEMU would, and does what the test wants with it.
QEMU = """#!/bin/sh
for word; do
	case $word in
	file,id=line,path=line) line=${{word#*path=}} ;;
	file:line) line=${{word#file:}} ;;
	file:console.txt) console=${{word#file:}} ;;
	esac
done
echo "booting" >"$console"
{do}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> KernelBuild:
    (tmp_path / "vmlinuz").write_bytes(b"image")
    (tmp_path / "veth.ko").write_bytes(b"veth")
    (tmp_path / "config").write_text("CONFIG_WLAN=y\nCONFIG_NET_IPIP=m\n")
    return KernelBuild(
        "a1",
        "stock",
        tmp_path / "vmlinuz",
        tmp_path / "config",
        "linux-image_6.12.117-1_amd64",
        Stock("linux-image", "6.12.117-1", RELEASE, (tmp_path / "veth.ko",), ("cubic",)),
    )


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    (tmp_path / "program").write_bytes(b"program")
    return Guest("b2", tmp_path / "program")


Pretend = Callable[[str], Path]


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """Puts a QEMU that does this into the PATH; gives the directory of a run."""

    def pretend(do: str) -> Path:
        for name in ("qemu-system-x86_64", "qemu-system-aarch64"):
            program = tmp_path / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(QEMU.format(do=do))
            program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        directory = tmp_path / "run"
        directory.mkdir()
        return directory

    return pretend


def line(files: dict[str, bytes]) -> bytes:
    """What a guest sends over the serial line."""
    return b"\n" + b"".join(
        f"{name} {len(content)}\n".encode() + content for name, content in files.items()
    )


def test_files_come_over_the_line() -> None:
    files = {"guest.json": b"{}\n", "client.samples": bytes(range(256)), "empty": b""}
    assert machine.received(line(files)) == files
    assert machine.received(b"what somebody else says" + line(files)) == files
    assert machine.received(b"") == {}


@pytest.mark.parametrize("cut", [1, 100, 258])
def test_files_that_are_not_whole_are_refused(cut: int) -> None:
    content = line({"guest.json": b"{}\n", "client.samples": bytes(range(256))})
    with pytest.raises(RunError, match="over the serial line are incomplete"):
        machine.received(content[:-cut])


def unpack(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Mode and content of each entry of a newc archive, after the format's description."""
    found, at = {}, 0
    while True:
        fields = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        assert archive[at : at + 6] == b"070701"
        name = archive[at + 110 : at + 110 + fields[11] - 1].decode()
        begin = at + (110 + fields[11] + 3) // 4 * 4
        found[name] = (fields[1], archive[begin : begin + fields[6]])
        at = begin + (fields[6] + 3) // 4 * 4
        if name == "TRAILER!!!":
            assert at == len(archive)
            return found


def test_the_initramfs_has_process_1_and_what_is_given() -> None:
    found = unpack(machine.initramfs(b"program", {"lab/plan.txt": b"# plan", "lab/veth.ko": b"v"}))
    assert found["init"] == (0o100755, b"program")
    # what cannot be written to is not sent back
    assert found["lab/plan.txt"] == (0o100444, b"# plan")
    assert found["lab/veth.ko"] == (0o100444, b"v")
    assert {name for name, (mode, _) in found.items() if mode == 0o040755} == {
        *("dev", "proc", "sys", "run", "tmp", "lab")
    }


def made_up(seed: int = 1) -> StockSetting:
    made = [
        synthetic.scenario(
            duration_ns=duration_ns, warmup_ns=0, sample_interval_ns=interval_ns, seed=seed
        )
        for duration_ns, interval_ns in ((2 * SECOND, STEP_NS), (CLOSE_UP_NS, CLOSE_UP_STEP_NS))
    ]
    return StockSetting("made up", *made)


def test_a_run_leaves_its_files(
    qemu: Pretend, kernel: KernelBuild, guest: Guest, tmp_path: Path
) -> None:
    files = dict.fromkeys(("client.samples", "server.samples"), b"samples")
    reported = b'{"status": "ok", "start_ns": 7, "complete_ns": 9}'
    files |= {"messages.records": b"", "guest.json": reported}
    (tmp_path / "sent").write_bytes(line(files))
    directory = qemu(f'cp {tmp_path}/sent "$line"; echo "$@" >{tmp_path}/arguments')
    outcome = machine.run(made_up(5).scenario, Rig(kernel, guest), directory)
    assert outcome.guest["start_ns"] == 7
    assert {file.name for file in directory.iterdir()} == {*files, "plan.txt", "console.txt"}
    assert (directory / "plan.txt").read_text().startswith("insmod veth.ko\n")
    arguments = (tmp_path / "arguments").read_text()
    assert "-seed 5 " in arguments
    assert "-icount shift=0," in arguments
    assert "LAB_SEED=5" in arguments
    # QEMU takes a power of two
    assert kernel.stock is not None
    slower = replace(kernel, stock=replace(kernel.stock, instruction_ns=2))
    machine.run(made_up(5).scenario, Rig(slower, guest), directory)
    assert "-icount shift=1," in (tmp_path / "arguments").read_text()


def test_a_run_may_be_below_the_current_directory(
    qemu: Pretend,
    kernel: KernelBuild,
    guest: Guest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # QEMU works in the directory of the run, and the default of --out is a relative one
    directory = qemu('while [ "$1" != -initrd ]; do shift; done; test -e "$2" || exit 3')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunError, match="ended without an outcome"):
        machine.run(made_up().scenario, Rig(kernel, guest), directory.relative_to(tmp_path))
    assert (directory / "console.txt").read_text() == "booting\n"


@pytest.mark.parametrize(
    ("do", "reason"),
    [
        ("exit 0", "the virtual machine ended without an outcome"),
        ("echo broken >&2; exit 3", "QEMU ended with status 3: broken"),
        (
            """printf '\\nguest.json 39\\n{"status":"failed","reason":"no qdisc"}' >"$line" """,
            "no qdisc",
        ),
        (
            """printf '\\nguest.json 15\\n{"status":"ok"}' >"$line" """,
            "the guest did not send client.samples, server.samples, messages.records",
        ),
    ],
)
def test_a_run_that_fails_says_why(
    qemu: Pretend, kernel: KernelBuild, guest: Guest, do: str, reason: str
) -> None:
    directory = qemu(do)
    with pytest.raises(RunError) as raised:
        machine.run(made_up().scenario, Rig(kernel, guest), directory)
    assert raised.value.reason == reason
    assert raised.value.console_tail == "booting"


def test_no_memory_is_reported_in_a_line(
    qemu: Pretend, kernel: KernelBuild, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = qemu(
        "echo \"cannot set up guest memory 'ram': Cannot allocate memory\" >&2; exit 1"
    )
    with pytest.raises(MachineError, match="QEMU cannot have 1024 MiB for a virtual machine"):
        machine.run(made_up().scenario, Rig(kernel, guest), directory)
    monkeypatch.setattr(doctor, "available_memory_bytes", lambda: 600 << 20)
    with pytest.raises(MachineError) as raised:
        machine.require()
    assert raised.value.what == "memory: 600 MiB available, 1424 MiB needed for 1 virtual machine"
    monkeypatch.setattr(doctor, "available_memory_bytes", lambda: 2848 << 20)
    machine.require(2)
    with pytest.raises(MachineError, match="2848 MiB available, 4272 MiB needed for 3 virtual"):
        machine.require(3)


def test_no_qemu_is_reported_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "_install", lambda packages: " ".join(["mend", *packages]))
    assert command.main(["--out", str(tmp_path / "out")]) == 3
    assert capsys.readouterr().err == (
        "mptcplab: util-linux: missing: setpriv, prlimit, taskset, setarch;"
        " qemu-system-x86_64: missing\n"
        "  to fix it: mend qemu-system-x86 util-linux\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_cancelled_is_ended(
    qemu: Pretend, kernel: KernelBuild, guest: Guest, tmp_path: Path
) -> None:
    directory = qemu(f"echo $$ >{tmp_path}/pid; mkfifo {tmp_path}/fifo; read x <{tmp_path}/fifo")
    cancel = threading.Event()

    def when_it_runs() -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            cancel.wait(0.01)
        cancel.set()

    thread = threading.Thread(target=when_it_runs)
    thread.start()
    with pytest.raises(RunCancelledError):
        machine.run(made_up().scenario, Rig(kernel, guest), directory, watch=Watch(cancel=cancel))
    thread.join()
    assert not Path(f"/proc/{int((tmp_path / 'pid').read_text())}").exists()
    assert {file.name for file in directory.iterdir()} == {"plan.txt", "console.txt"}


# --- many runs


def leave(
    of: Scenario, given: Sequence[object], duration_ns: int, interval_ns: int, *flows: Flow
) -> RunOutcome:
    """Puts there what a run leaves, of subflows that do what the flows say."""
    rig, directory = given[-2:]
    assert isinstance(directory, Path)
    assert isinstance(rig, Rig)
    kernel = rig.kernel
    if kernel.stock:
        (directory / "plan.txt").write_text(machine.plan_text(of, kernel))
    else:
        if not (directory / "plan.txt").exists():
            (directory / "plan.txt").write_text(plan.render(of))
        (directory / "links.samples").touch()
    client, server = synthetic.run(*flows, duration_ns=duration_ns, interval_ns=interval_ns)
    synthetic.write(client, directory / "client.samples")
    synthetic.write(server, directory / "server.samples")
    (directory / "messages.records").touch()
    reported = synthetic.guest(duration_ns)
    (directory / "guest.json").write_text(json.dumps(reported))
    return outcome(reported, directory, of_sockets=kernel.stock is not None)


def outcome(reported: dict[str, Any], directory: Path, *, of_sockets: bool) -> RunOutcome:
    virtual_s = reported["complete_ns"] / 1e9
    return RunOutcome(directory, reported, virtual_s, 1.0, 0.0, 1.0, 0.0, 1 << 20, of_sockets)


def pretend_runs(monkeypatch: pytest.MonkeyPatch, *flows: Flow, fails: Sequence[int] = ()) -> None:
    """Runs on a distribution kernel that do what the flows say; those of some seeds fail."""

    def run(of: Scenario, *given: object, **_more: object) -> RunOutcome:
        if of.seed in fails:
            raise RunError("it was made to")
        return leave(of, given, 2 * SECOND, STEP_NS, *flows)

    monkeypatch.setattr(machine, "run", run)
    monkeypatch.setattr(engine, "run", run)


def make_all(jobs: Sequence[runs.Job], bench: Bench) -> None:
    list(runs.make(jobs, bench))


@pytest.mark.usefixtures("cache")
def test_runs_are_made_once_and_a_failure_does_not_end_others(
    monkeypatch: pytest.MonkeyPatch, kernel: KernelBuild, guest: Guest, tmp_path: Path
) -> None:
    out, setting = Store(tmp_path / "out"), made_up()
    jobs = runs.jobs([setting], [kernel], guest, Seeds(3, 0, 0))
    pretend_runs(monkeypatch, FAST, SLOW, fails=[2])
    ended = runs.make(jobs, Bench(guest, out, 2))
    assert sorted((job.scenario.seed, entry.reason) for job, entry in ended) == [
        (1, None),
        (2, "the run failed: it was made to"),
        (3, None),
    ]
    (again,) = runs.missing(jobs, out)
    assert again.scenario.seed == 2
    assert out.failed() == [again.key]
    # with another plan it would be another run
    kept = out.directory(jobs[0].key) / "plan.txt"
    text = kept.read_text()
    kept.write_text(text.replace("tcp_mem", "tcp_other"))
    assert len(runs.missing(jobs, out)) == 2
    kept.write_text(text)
    pretend_runs(monkeypatch, FAST, SLOW)
    make_all([again], Bench(guest, out))
    assert not runs.missing(jobs, out)
    assert out.failed() == []


@pytest.mark.usefixtures("cache")
def test_what_is_left_early_is_ended_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, kernel: KernelBuild, guest: Guest, tmp_path: Path
) -> None:
    out = Store(tmp_path / "out")
    jobs = runs.jobs([made_up()], [kernel], guest, Seeds(9, 0, 0))
    begun = threading.Event()

    def run(of: Scenario, *_given: object, **more: object) -> RunOutcome:
        if of.seed == 1:
            begun.wait()
            raise RunError("the first one")
        begun.set()
        watch = more["watch"]
        assert isinstance(watch, Watch)
        watch.cancel.wait()
        raise RunCancelledError

    monkeypatch.setattr(machine, "run", run)
    made = runs.make(jobs, Bench(guest, out, 2))
    assert next(made)[1].status == "failed"
    with pytest.raises(KeyboardInterrupt):
        made.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert out.keys() == []
    assert list((tmp_path / "out/runs").iterdir()) == []


@pytest.mark.usefixtures("cache")
def test_both_sides_are_compared_as_far_as_they_are_stored(
    monkeypatch: pytest.MonkeyPatch, kernel: KernelBuild, guest: Guest, tmp_path: Path
) -> None:
    out, setting = Store(tmp_path / "out"), made_up()
    lab = KernelBuild("c3", "lab", tmp_path / "linux", tmp_path / "config")

    def make(of: KernelBuild, *flows: Flow, slower: int = 0) -> None:
        pretend_runs(monkeypatch, *flows)
        jobs = runs.missing(runs.jobs([setting], [of], guest, Seeds(2, slower, 0)), out)
        make_all(jobs, Bench(guest, out))

    make(kernel, FAST, SLOW)
    table = rows.table([setting], kernel, lab, Bench(guest, out), Seeds(2, 2, 2))
    assert table.rows == []
    # the lab loads no modules
    make(lab, FAST, replace(SLOW, retransmitted_packets=1))
    # without close-ups nothing can be said of the beginning
    assert rows.table([setting], kernel, lab, Bench(guest, out), Seeds(2, 2, 2)).rows == []

    def run(of: Scenario, *given: object, **_more: object) -> None:
        changed = replace(SLOW, retransmitted_packets=1)
        leave(of, given, 2 * STEP_NS, CLOSE_UP_STEP_NS, FAST, changed)

    monkeypatch.setattr(single, "run", run)
    runs.make_close_ups([setting], 1, lab, Bench(guest, out))
    table = rows.table([setting], kernel, lab, Bench(guest, out), Seeds(2, 2, 2))
    (row,) = table.rows
    assert (row.value.difference, row.share and row.share.difference) == (0.0, 0.0)
    assert (row.value.stock.median, row.value.stock.n) == (40.0, 2)
    assert (row.retransmitted.stock.median, row.retransmitted.lab.median) == (0, 1)
    # the retransmitted packet is there from the first step on
    assert row.early == [Equal(0.0, False, "bytes sent of path 2: 100000 / 101000")] * 2
    # what is left of the beginning is the same, to within 2 ms
    assert row.close == [Equal(0.0, False, "retransmissions of path 2: 0 / 1")] * 2
    assert (row.value.slower, row.itself) == (None, [])
    # on another CPU path 2 carries twice as much
    make(kernel, FAST, replace(SLOW, bytes_per_ms=2 * SLOW.bytes_per_ms), slower=1)
    (row,) = rows.table([setting], kernel, lab, Bench(guest, out), Seeds(2, 2, 2)).rows
    assert row.value.slower == Spread(1, 48.0, 48.0, 48.0)
    assert row.itself == [Equal(0.0, False, "bytes sent of path 2: 200000 / 100000")]


@pytest.mark.usefixtures("cache")
def test_what_is_sent_after_the_end_does_not_count(
    monkeypatch: pytest.MonkeyPatch, kernel: KernelBuild, guest: Guest, tmp_path: Path
) -> None:
    def packets_if_sampled_for(sampled_ns: int) -> float | None:
        def run(of: Scenario, *given: object, **_more: object) -> RunOutcome:
            left = leave(of, given, sampled_ns, STEP_NS, FAST, SLOW)
            return outcome(synthetic.guest(2 * SECOND), left.directory, of_sockets=True)

        monkeypatch.setattr(machine, "run", run)
        out = Store(tmp_path / str(sampled_ns))
        jobs = runs.jobs([made_up()], [kernel], guest, Seeds(1, 0, 0))
        ((_job, entry),) = runs.make(jobs, Bench(guest, out))
        return entry.data_packets

    # 5000 bytes in each of 2000 ms; the connection is closed a second later
    assert [packets_if_sampled_for(s * SECOND) for s in (2, 3)] == [10_000, 10_000]


def read_first(out: Store, key: str, at_ns: int) -> None:
    """Has the first byte of a stored run be read so long after the start."""
    message = np.zeros(1, records.MESSAGE_DTYPE)
    message["due_ns"] = message["begin_ns"] = T0
    message["first_ns"] = message["complete_ns"] = T0 + at_ns
    (out.directory(key) / "messages.records").write_bytes(message.tobytes())


@pytest.mark.usefixtures("cache")
def test_data_is_as_late_in_the_lab_as_on_a_distribution_kernel(
    monkeypatch: pytest.MonkeyPatch, kernel: KernelBuild, guest: Guest, tmp_path: Path
) -> None:
    out, setting = Store(tmp_path / "out"), made_up()
    lab = KernelBuild("c3", "lab", tmp_path / "linux", tmp_path / "config")
    pretend_runs(monkeypatch, FAST, SLOW)
    stock, ours = (runs.jobs([setting], [of], guest, Seeds(3, 0, 0)) for of in (kernel, lab))
    for jobs in (stock, ours):
        make_all(jobs, Bench(guest, out))
    # nothing arrived in the third run of the lab
    assert runs.late(setting, Seeds(3, 0, 4), kernel, lab, Bench(guest, out)) == {}
    for jobs, each_ns in ((stock, (900, 640, 700)), (ours, (200, 250, 0))):
        for job, at_ns in zip(jobs, each_ns, strict=True):
            if at_ns:
                read_first(out, job.key, at_ns)
    late = runs.late(setting, Seeds(3, 0, 4), kernel, lab, Bench(guest, out))
    assert [(each.seed, ns) for each, ns in late.items()] == [
        (1, 700),
        (2, 390),
        (3, 700),
        (4, 390),
    ]

    plans = []

    def run(of: Scenario, text: str, *given: object, **_more: object) -> RunOutcome:
        plans.append(text)
        assert isinstance(given[-1], Path)
        (given[-1] / "plan.txt").write_text(text)
        return leave(of, given, 2 * SECOND, STEP_NS, FAST)

    monkeypatch.setattr(engine, "run", run)
    for _ in range(2):
        runs.make_late(late, lab, Bench(guest, out))
    usual = [plan.render(each).splitlines() for each in late]
    changed = [
        {*zip(before, text.splitlines(), strict=True)} - {*zip(before, before, strict=True)}
        for before, text in zip(usual, plans, strict=True)
    ]
    message = "message 1 up * at"
    assert changed == [{(f"{message} 0ns", f"{message} {ns}ns")} for ns in late.values()]
    # they are none of the usual runs
    figures = [runs.late_entry(each, ns, lab, Bench(guest, out)) for each, ns in late.items()]
    assert [each and each.data_packets for each in figures] == [8000] * 4
    assert [each.entry(out) for each in ours].count(figures[0]) == 0
    assert runs.late_entry(setting.scenario, 701, lab, Bench(guest, out)) is None


def test_data_of_every_setting_can_be_late() -> None:
    for each in settings():
        late = runs.late_plan(each.scenario, 1234).splitlines()
        found = [line for line in late if line not in plan.render(each.scenario).splitlines()]
        assert [line.split(" at ")[1] for line in found] == ["1234ns"]


# --- figures


@pytest.mark.parametrize(
    ("slower", "is_of_cpu_time"),
    [
        # in the lab computing takes no time: what it adds, twice of it adds again
        ([54.0], True),
        ([46.0], True),
        # the bound is 1 %, 0.5
        ([53.6], True),
        ([53.4], False),
        ([50.0], False),
        ([], False),
    ],
)
def test_what_cpu_time_moves_as_far_does_not_differ(
    slower: Sequence[float], is_of_cpu_time: bool
) -> None:
    found = compared([50.0] * 4, [46.0] * 8, slower)
    assert (found.is_told_apart, found.is_of_cpu_time) == (True, is_of_cpu_time)
    assert found.differs is not is_of_cpu_time


@pytest.mark.parametrize(
    ("late", "is_of_start"),
    [
        ([310] * 8, True),
        # two states, and the median is in the other one
        ([66, 66, 310, 310, 320, 320, 330, 330], True),
        ([66, 66, 66, 66, 66, 310, 320, 330], False),
        # as far, and beyond
        ([400] * 8, False),
        ([10] * 8, False),
        # one run does not say
        ([310], False),
        ([], False),
    ],
)
def test_what_data_as_late_brings_does_not_differ(late: Sequence[float], is_of_start: bool) -> None:
    found = compared([300, 310, 310, 310, 310, 320], [66] * 8, (), late)
    assert (found.is_told_apart, found.is_of_start) == (True, is_of_start)
    assert found.differs is not is_of_start


def test_medians_are_compared_within_a_bound_that_depends_on_the_spread() -> None:
    found = compared([50.0, 50.1, 50.2, 50.1], [50.5] * 8)
    assert found.stock == Spread(4, 50.1, 50.0, 50.2)
    assert found.difference == pytest.approx(0.4 / 50.1)
    assert (found.bound, found.holds, found.differs) == (0.01, True, False)
    assert found.p == pytest.approx(2 / 495)
    spread = compared([50.0, 50.1, 50.2, 51.0], [51.4] * 8)
    assert (spread.bound, spread.holds) == (0.03, True)


def test_what_is_beyond_the_bound_differs_if_it_is_not_by_chance() -> None:
    assert compared([50.0] * 4, [48.0] * 8).differs
    chance = compared([50.0, 60.0, 70.0, 80.0], [55.0, 56.0, 57.0, 62.0, 71.0, 75.0, 50.0, 81.0])
    assert not chance.holds
    assert chance.p is not None
    assert chance.p > 0.5
    assert not chance.differs
    few = compared([50.0], [48.0] * 8)
    assert (few.p, few.holds, few.differs) == (None, False, False)


def test_a_share_is_compared_as_it_is_and_nothing_by_itself() -> None:
    found = compared([0.1, 0.1], [0.109, 0.109], share=True)
    assert found.difference == pytest.approx(0.009)
    assert found.holds
    assert compared([0, 0], [0, 0]).holds
    assert compared([0, 0], [2, 2]).difference == 2


def test_states_are_counted_where_there_are_some_few() -> None:
    stock, lab = [0.555, 1.01, 1.012, 0.557], [0.556] * 6 + [1.009] * 2
    assert compared(stock, lab).states == [
        State(pytest.approx(0.556, rel=1e-3), 2, 6),  # type: ignore[arg-type]
        State(pytest.approx(1.01, rel=1e-3), 2, 2),  # type: ignore[arg-type]
    ]
    # What is compared is how often each is, though in both all of the package take longer. Of the
    # C(12, 4) = 495 ways to have 8 of 12 in the first, 8 * 4 + 1 leave the package one or none;
    # twice of that, for either side.
    stock, lab = [0.0807, 0.0922, 0.0923, 0.0924], [0.0803] * 7 + [0.0918]
    assert compared(stock, lab).p == pytest.approx(66 / 495)
    assert not compared(stock, lab).is_told_apart
    assert compared([1.0, 1.01], [1.0] * 4).states == ()
    # a spread that happens to have a gap has no states
    assert compared([68.5, 70.0, 71.9, 73.9], [98.0, 100.0, 102.0, 104.5]).states == ()


# --- the beginning


def states(*cwnds: int, path: int = 1) -> list[early.State]:
    return [{f"path {path}": (1000 * cwnd, cwnd, 99, 0)} for cwnd in cwnds]


def around(*steps: Sequence[int]) -> list[early.States]:
    """Of each step, cwnds in the order of time."""
    return [{"path 1": np.array([state["path 1"] for state in states(*cwnds)])} for cwnds in steps]


def test_steps_are_compared_to_the_first_that_differs() -> None:
    stock = states(10, 11, 12, 13, 14, 15, 16, 17)
    lab = around(*([cwnd] for cwnd in range(10, 18)))
    assert equal(stock, lab) == Equal(0.8, True, "")
    # samples may end one step later
    assert equal(stock, lab[:7]) == Equal(0.7, True, "")
    other = [*lab[:6], *around([3], [17])]
    assert equal(stock, other) == Equal(0.6, False, "bytes sent of path 1: 16000 / 3000")
    assert equal(stock, [*lab[:2], {}]) == Equal(0.2, False, "path 1: only in the package")
    assert equal(states(3, path=2), lab) == Equal(0.0, False, "path 1: only in the lab")
    assert early.best([equal(stock, lab[1:]), equal(stock, other)]) == equal(stock, other)
    assert [equal(stock, other).holds, equal(stock, lab[1:]).holds] == [True, False]


def test_the_same_state_may_be_a_little_earlier_or_later() -> None:
    stock = states(10)
    assert equal(stock, around([8, 9, 10])).whole
    assert equal(stock, around([10, 12])).whole
    # it may have been there between two samples
    assert equal(stock, around([8, 9, 11, 12])).whole
    assert equal(stock, around([8, 9])) == Equal(0.0, False, "bytes sent of path 1: 10000 / 8000")
    # all counts together: here the first is there when the others are not
    rows = np.array([[10_000, 9, 99, 0], [10_001, 9, 99, 0], [10_002, 10, 99, 0]])
    assert equal(stock, [{"path 1": rows}]).first == "cwnd of path 1: 10 / 9"


def test_states_are_those_of_the_sender_at_the_steps(tmp_path: Path) -> None:
    of = made_up().scenario
    client, server = synthetic.run(FAST, SLOW, duration_ns=SECOND, interval_ns=STEP_NS // 100)
    synthetic.write(client, tmp_path / "client.samples")
    synthetic.write(server, tmp_path / "server.samples")
    (tmp_path / "guest.json").write_text(json.dumps(synthetic.guest()))
    sender = early.read(of, tmp_path)
    found = list(sender.steps(1))
    assert len(found) == 10
    assert found[0] == {
        "connection": (0,),
        "path 1": (400_000, 10, 0, 0),
        "path 2": (100_000, 10, 0, 0),
    }
    # a sample each ms, from 2 ms before to 2 ms after
    near = sender.states(1, 1, early.TOLERANCE_NS)
    assert near["path 2"][:, 0].tolist() == [98_000, 99_000, 100_000, 101_000, 102_000]
    kept = sender.around_steps()
    assert len(kept.connection) == 5 * 9 + 2 * 3
    assert kept.states(1, 1, early.TOLERANCE_NS)["path 2"].tolist() == near["path 2"].tolist()
    assert not sender.states(11, 1)


@pytest.mark.usefixtures("cache")
def test_close_ups_are_kept_as_they_are_near_the_steps(
    monkeypatch: pytest.MonkeyPatch, kernel: KernelBuild, guest: Guest, tmp_path: Path
) -> None:
    out, setting = Store(tmp_path / "out"), made_up()
    made: list[int] = []

    def run(of: Scenario, *given: object, **_more: object) -> None:
        made.append(of.seed)
        assert of.sample_interval_ns == CLOSE_UP_STEP_NS
        leave(of, given, STEP_NS, CLOSE_UP_STEP_NS, FAST)

    monkeypatch.setattr(single, "run", run)
    assert runs.close_ups(setting.close_ups(2, 0), kernel, Bench(guest, out)) == []
    for _ in range(2):
        runs.make_close_ups([setting], 2, kernel, Bench(guest, out))
    assert made == [1, 2] * len(CPU_TIMES_NS)
    found = runs.close_ups(setting.close_ups(3, 0), kernel, Bench(guest, out))
    assert len(found) == 2
    assert isinstance(found[0], Sender)
    # T0 and 2 ms, 2 ms before the step and the step
    assert len(found[0].connection) == 2 * 21
    assert found[0].states(1, 1)["path 1"].tolist() == [[400_000, 10, 0, 0]]


# --- the page


def same(value: float, slower: int = 0) -> Compared:
    return compared([value] * 4, [value] * 8, [value] * slower)


def row(
    value: Compared,
    close: Sequence[Equal],
    name: str = "50,10 + 20,40",
    itself: Sequence[Equal] = (),
) -> Row:
    (setting,) = (each for each in settings() if each.name == name)
    at_once = [Equal(0.1, False, "y"), *close[1:]]
    n = len(itself)
    return Row(setting, value, same(0.7, n), same(85, n), at_once, close, itself)


def test_the_page_says_what_differs(kernel: KernelBuild, tmp_path: Path) -> None:
    until = Equal(0.6, False, "cwnd of path 1: 3 / 4")
    short = Equal(0.1, False, "cwnd of path 1: 3 / 4")
    table = Table(
        kernel,
        KernelBuild("c3", "lab", tmp_path, tmp_path),
        [
            row(same(65.9), [until, Equal(0.2, False, "x")]),
            row(compared([65.0] * 4, [60.0] * 8), [until]),
            row(compared([65.0], [60.0] * 8), [until]),
            row(same(0.5), [Equal(0.7, True, "")], "50,10 + 20,40; 2 MB"),
            row(same(65.9), [short]),
            row(
                compared([65.0] * 4, [60.0] * 8, [70.0, 71.0]),
                [short],
                itself=[Equal(0.1, False, "z"), Equal(0.0, False, "z")],
            ),
            row(compared([65.0] * 4, [60.0] * 8, (), [65.0] * 7 + [66.0]), [until]),
        ],
    )
    assert [each.holds for each in table.rows] == [True, False, False, True, True, False, False]
    assert [each.differs for each in table.rows] == [False, True, False, False, False, False, False]
    assert [each.is_of_cpu_time for each in table.rows] == [False] * 5 + [True, False]
    assert [each.is_of_start for each in table.rows] == [False] * 6 + [True]
    assert [each.begins_equal for each in table.rows] == [
        True,
        True,
        True,
        True,
        False,
        False,
        True,
    ]
    assert [each.begins_as_itself for each in table.rows] == [True] * 4 + [False, True, True]
    usual, rest = "| 50,10 + 20,40 |", "0.700; 85"
    assert markdown([table]).splitlines() == [
        "### amd64",
        "",
        "Debian's `amd64` kernel, package 6.12.117-1, beside the lab's kernel `lab`. Of 7 settings "
        "3 are within the bounds, 1 are beyond one by what may be chance, 1 by what CPU time "
        "makes, 1 by when data begins, and 1 differ; 2 are equal for less than 0.5 s at first, 1 "
        "of them for less than the package to itself on the slower CPU.",
        "",
        "| Mbit/s, ms one way | package | on a CPU half as fast | lab | the lab is off by "
        "| equal to the byte for / but for CPU time; the package to itself on that CPU |",
        "|---|---|---|---|---|---|",
        f"{usual} 65.9; {rest}; n 4 | - | 65.9; {rest}; n 8 | goodput +0.0 %; share +0.000; "
        "retransmitted +0.0 % | 0.1 to 0.2 s / 0.2 to 0.6 s, then cwnd of path 1: 3 / 4 |",
        f"{usual} 65.0; {rest}; n 4 | - | 60.0; {rest}; n 8 | **goodput -7.7 %**; share +0.000; "
        "retransmitted +0.0 %<br>60: 0 of 4, 8 of 8<br>65: 4 of 4, 0 of 8 | 0.1 s / 0.6 s, then "
        "cwnd of path 1: 3 / 4 |",
        f"{usual} 65.0; {rest}; n 1 | - | 60.0; {rest}; n 8 | goodput -7.7 % (too few runs); share "
        "+0.000; retransmitted +0.0 %<br>60: 0 of 1, 8 of 8<br>65: 1 of 1, 0 of 8 | 0.1 s / 0.6 s, "
        "then cwnd of path 1: 3 / 4 |",
        f"| 50,10 + 20,40; 2 MB | 0.500; {rest}; n 4 | - | 0.500; {rest}; n 8 | time +0.0 %; share "
        "+0.000; retransmitted +0.0 % | 0.1 s / all |",
        f"{usual} 65.9; {rest}; n 4 | - | 65.9; {rest}; n 8 | goodput +0.0 %; share +0.000; "
        "retransmitted +0.0 % | **0.1 s / 0.1 s, then cwnd of path 1: 3 / 4** |",
        f"{usual} 65.0; {rest}; n 4 | 70.5 [70.0..71.0]; {rest}; n 2 | 60.0; {rest}; n 8 | "
        "goodput -7.7 % (CPU time); share +0.000; retransmitted +0.0 %<br>60: 0 of 4, 8 of 8<br>"
        "65: 4 of 4, 0 of 8 | 0.1 s / 0.1 s, then cwnd of path 1: 3 / 4; 0.0 to 0.1 s |",
        f"{usual} 65.0; {rest}; n 4 | - | 60.0; {rest}; n 8 | goodput -7.7 % (start: 65.0 "
        "[65.0..66.0] with data as late); share +0.000; retransmitted +0.0 %<br>60: 0 of 4, 8 of 8"
        "<br>65: 4 of 4, 0 of 8 | 0.1 s / 0.6 s, then cwnd of path 1: 3 / 4 |",
    ]


# --- the command


@pytest.fixture
def pretended(
    monkeypatch: pytest.MonkeyPatch, kernel: KernelBuild, guest: Guest, tmp_path: Path
) -> KernelBuild:
    """Both kernels do the same, at once; a virtual machine carries what `FAST` does."""
    lab = KernelBuild("c3", "lab", tmp_path / "linux", tmp_path / "config")

    def run(of: Scenario, *given: object, **_more: object) -> RunOutcome:
        assert of.workload.duration_ns is not None
        return leave(of, given, of.workload.duration_ns, of.sample_interval_ns, FAST)

    def in_lab(scenarios: Sequence[Scenario], *_more: object) -> None:
        jobs = [
            runs.Job(store.run_key(each, lab, guest), made_up(), each, lab) for each in scenarios
        ]
        out = Store(tmp_path / "out")
        make_all(jobs, Bench(guest, out))

    monkeypatch.setattr(machine, "run", run)
    monkeypatch.setattr(engine, "run", run)
    monkeypatch.setattr(machine, "require", lambda _at_a_time: None)
    monkeypatch.setattr(runs, "make_in_lab", in_lab)
    monkeypatch.setattr(package, "newest", lambda _flavours: [tmp_path / NAME])
    monkeypatch.setattr(package, "unpacked", lambda _files, _option: kernel)
    monkeypatch.setattr(guest_module, "build", lambda: guest)
    monkeypatch.setattr(kernel_module, "build", lambda variant: replace(lab, variant=variant))
    return kernel


@pytest.mark.usefixtures("cache", "pretended")
def test_the_command_says_what_it_costs_and_runs_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- begin: make stock-check -->\n<!-- end: make stock-check -->\n")
    arguments = [
        *("--out", str(tmp_path / "out"), "--docs", str(page), "--only", "50,10; TCP"),
        *("--seeds", "2", "--slower-seeds", "1", "--lab-seeds", "1"),
    ]
    assert command.main(arguments) == 0
    said = capsys.readouterr()
    assert f"3 of 3 runs in virtual machines are missing in {tmp_path / 'out'}\n" in said.err
    assert "1/3 amd64, 50,10; TCP, seed 1: 32.000 Mbit/s, took " in said.err
    assert "2/3 amd64, 50,10; TCP, slower CPU, seed 1: 32.000 Mbit/s, took " in said.err
    assert "| 50,10; TCP | 32.0; 0; n 2 | 32.0; 0; n 1 | 32.0; 0; n 1 |" in said.out
    # a part of the table is not for the page
    assert "page.md stays as it is" in said.err
    assert "n 2" not in page.read_text()
    assert command.main(arguments) == 0
    again = capsys.readouterr()
    assert "0 of 3 runs in virtual machines are missing" in again.err
    assert "took" not in again.err
    assert again.out == said.out
    # all of the table is, also of what there is
    assert command.main([*arguments[:4], "--no-runs", "--lab-seeds", "1"]) == 0
    assert "| 50,10; TCP | 32.0; 0; n 2 | 32.0; 0; n 1 | 32.0; 0; n 1 |" in page.read_text()


@pytest.mark.usefixtures("cache", "pretended")
def test_what_fails_is_reported_and_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = machine.run

    def fails(of: Scenario, *given: object, **more: object) -> RunOutcome:
        if of.seed == 2:
            raise RunError("it was made to")
        return run(of, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(machine, "run", fails)
    arguments = ["--out", str(tmp_path / "out"), "--only", "50,10; TCP", "--lab-seeds", "1"]
    assert command.main([*arguments, "--seeds", "2"]) == 1
    said = capsys.readouterr()
    assert "amd64, 50,10; TCP, seed 2: failed: the run failed: it was made to" in said.err
    assert "| 32.0; 0; n 1 | 32.0; 0; n 1 | 32.0; 0; n 1 |" in said.out
