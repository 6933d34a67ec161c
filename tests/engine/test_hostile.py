# SPDX-License-Identifier: GPL-2.0-only
"""What runs inside means harm: it writes nothing of the host, and keeps to the limits of a run.

Programs are those of `mptcplab exec`. What a program cannot do, since it does not come as far as
the directory in which the guest writes, a guest does whose first process is the attack.
"""

from __future__ import annotations

import io
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.errors import RunError
from mptcplab.lab import engine, run_directory
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig, RunOutcome, Watch
from mptcplab.metrics import run_files
from mptcplab.runs.program import Outputs
from mptcplab.runs.store import Store
from tests.vocabulary import RigOf, kernel_processes, scenario_of, until

SCENARIO = scenario_of("a:10mbit,10ms", "b:10mbit,10ms", duration="1s")
# no attack may hang the tests, should it succeed
PATIENCE = Limits(wall_s=60.0)
EXEC = [sys.executable, "-m", "mptcplab", "exec", "--path", "a:10mbit,10ms", "--wall-limit", "60"]
# This very Python, not what stands for it in PATH: some have a shell script there.
PYTHON = os.path.realpath(sys.executable)


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path: Path) -> Iterator[None]:
    yield
    until(lambda: not kernel_processes(tmp_path))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory of the host that no run has anything to do with."""
    made = tmp_path / "outside"
    (made / "run").mkdir(parents=True)
    for name in ("file", "run/file"):
        (made / name).write_text("as it was\n")
        (made / name).chmod(0o640)
    return made


def is_as_it_was(outside: Path) -> bool:
    found = {str(file.relative_to(outside)) for file in outside.rglob("*")}
    return found == {"file", "run", "run/file"} and all(
        (outside / name).read_text() == "as it was\n"
        and stat.S_IMODE((outside / name).stat().st_mode) == 0o640
        and (outside / name).stat().st_nlink == 1
        for name in ("file", "run/file")
    )


def mptcplab_exec(
    cwd: Path, *command: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*EXEC, *options, "--", *command],
        capture_output=True,
        check=False,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE.wall_s * 5,  # where that is not held
    )


def failed_for(done: subprocess.CompletedProcess[bytes], reason: str, cwd: Path) -> None:
    """It failed for that reason, and nothing of it is left."""
    said = done.stderr.decode()
    assert (done.returncode, bool(re.search(reason, said))) == (1, True), said
    assert "Traceback" not in said
    assert list((cwd / "mptcplab-out" / "runs").iterdir()) == []


# Limits

#: Stops the first process that it sees, that of the programs, which holds their time limit.
STOP = """
import ctypes, os, sys, time
ptrace = ctypes.CDLL(None).ptrace
ptrace.argtypes = [ctypes.c_long] * 4
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
assert ptrace(PTRACE_SEIZE, 1, 0, 0) == ptrace(PTRACE_INTERRUPT, 1, 0, 0) == 0
os.waitpid(1, 0x40000000)
assert "(tracing stop)" in open("/proc/1/status").read()
"""


@pytest.mark.usefixtures("builds")
@pytest.mark.parametrize(
    ("command", "limit"),
    [
        pytest.param(("dd", "if=/dev/zero", "bs=1M", "count=50"), "10MB", id="its output"),
        # it is its own only as far as its name goes
        pytest.param(
            (PYTHON, "-c", f"{STOP}time.sleep(10**9)"), "500KB", id="what is recorded, without end"
        ),
        pytest.param(
            ("dd", "if=/dev/zero", "bs=64k", "count=800", "of=/proc/1/fd/1"), "10MB", id="console"
        ),
    ],
)
def test_no_run_writes_more_than_it_may(
    tmp_path: Path, command: tuple[str, ...], limit: str
) -> None:
    options = ("--time-limit", "80000s", "--disk-limit", limit)
    done = mptcplab_exec(tmp_path, *command, options=options)
    failed_for(done, f"it wrote more than the disk limit of {limit}; --disk-limit sets", tmp_path)


@pytest.mark.usefixtures("builds")
def test_limits_hold_while_nobody_reads_what_a_program_writes(tmp_path: Path) -> None:
    program = f"{STOP}print('x' * 300_000, flush=True); time.sleep(10**9)"
    command = [*EXEC, "--wall-limit", "5", "--", PYTHON, "-c", program]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, bufsize=0
    )
    assert process.stdout
    assert process.stdout.read(1) == b"x"
    until(lambda: not kernel_processes(tmp_path))
    # all that is said after the first 64 KiB, which a pipe holds, waits for this
    output, said = process.communicate()
    assert (process.returncode, len(output)) == (1, 300_000)  # with a line's end, without the first
    assert b"it took more than the wall-clock limit of 5 s" in said


# What a program comes to

#: All directories that it finds open in any process.
DIRECTORIES = """
import glob, os
for file in glob.glob("/proc/[0-9]*/fd/*") + glob.glob("/proc/[0-9]*/cwd"):
    if os.path.isdir(file) and "plan.txt" in os.listdir(file):
        os.symlink("OUTSIDE/file", file + "/.partial-result.json")
        os.symlink("OUTSIDE/file", file + "/result.json")
        print("made links in", file)
"""


@pytest.mark.usefixtures("builds")
def test_no_program_finds_the_directory_of_the_run(tmp_path: Path, outside: Path) -> None:
    program = DIRECTORIES.replace("OUTSIDE", str(outside))
    done = mptcplab_exec(
        tmp_path, PYTHON, "-c", program, options=("--server", f"{PYTHON} -m http.server")
    )
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert is_as_it_was(outside)


#: Would have the kernel run a script in the first namespaces, where the directory of the run is. It
#: is among the program's own files, does not know which number that has there, and so
#: tries; then it goes to the directory by a mount of its own.
WAYS = """
import os, socket, subprocess
with open("/run/script", "w") as script:
    script.write('''#!/bin/sh
    cd ${1:-/run/lab} && for name in result.json console.txt; do ln -sf OUTSIDE/file $name; done
    rm client.err
    mkfifo client.err
    ''')
os.chmod("/run/script", 0o755)
for number in range(2, 200):
    with open("/proc/sys/kernel/modprobe", "w") as modprobe:
        modprobe.write(f"/proc/{number}/root/run/script")
    try:
        socket.socket(31)  # a family that no module has been loaded for
    except OSError:
        pass
os.mkdir("/run/host")
subprocess.run(["mount", "-t", "hostfs", "none", "/run/host"], check=True)
directory = "/run/host" + os.readlink("/run/host/proc/self/cwd")
print(os.listdir(directory).count("client.err"))
print(subprocess.run(["/run/script", directory], stderr=subprocess.DEVNULL).returncode)
"""


@pytest.mark.usefixtures("builds")
def test_no_program_writes_to_the_directory_of_the_run(tmp_path: Path, outside: Path) -> None:
    done = mptcplab_exec(tmp_path, PYTHON, "-c", WAYS.replace("OUTSIDE", str(outside)))
    # it is there, but can only be read
    assert (done.returncode, done.stdout) == (0, b"1\n1\n"), done.stderr
    assert is_as_it_was(outside)
    (run,) = (tmp_path / "mptcplab-out" / "runs").iterdir()
    assert all(file.is_file() and not file.is_symlink() for file in run.iterdir())


@pytest.mark.usefixtures("builds")
def test_no_program_loads_a_module(tmp_path: Path) -> None:
    """A module would be code of the kernel's process, for which no rule holds."""
    program = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
assert libc.syscall(175, b"module", 6, b"") == -1  # init_module
print(os.strerror(ctypes.get_errno()), open("/proc/sys/kernel/modules_disabled").read())
try:
    os.write(os.open("/proc/sys/kernel/modules_disabled", os.O_WRONLY), b"0")
except OSError as error:
    print(error.strerror)
"""
    done = mptcplab_exec(tmp_path, PYTHON, "-c", program)
    assert done.stdout.decode().split("\n") == [
        *("Operation not permitted 1", "", "Invalid argument", "")
    ], done.stderr


# What a guest makes of its directory


def run(
    rig: Rig, directory: Path, limits: Limits = PATIENCE, watch: Watch | None = None
) -> RunOutcome:
    return engine.run(SCENARIO, "#\n", replace(rig, limits=limits), directory, watch=watch)


NOW_A_LINK = """
    int fd, other;
    make_file("x", "");
    link("x", "y");
    fd = open("x", O_PATH);
    other = open("y", O_PATH);
    unlink("x");
    symlink("OUTSIDE/file", "x");
    sprintf(path, "/proc/self/fd/%d", fd);
"""
ESCAPES = {
    "chmod of what is a link now": """
        int fd;
        make_file("x", "");
        mknod("y", S_IFREG | 0644, 0);
        fd = open("y", O_PATH);
        unlink("y");
        symlink("OUTSIDE/file", "y");
        sprintf(path, "/proc/self/fd/%d", fd);
        chmod(path, 06777);
    """,
    "truncate of what is a link now, and has another name": f"{NOW_A_LINK} truncate(path, 0);",
    "open of what is a link now, and has another name": f'{NOW_A_LINK} make_file(path, "owned");',
    "link of what is below a link now": """
        int fd, other;
        mkdir("d", 0755);
        make_file("d/file", "");
        link("d/file", "y");
        fd = open("d/file", O_PATH);
        other = open("y", O_PATH);
        unlink("d/file");
        rmdir("d");
        symlink("OUTSIDE", "d");
        sprintf(path, "/proc/self/fd/%d", fd);
        linkat(AT_FDCWD, path, AT_FDCWD, "z", AT_SYMLINK_FOLLOW);
        make_file("z", "owned");
    """,
    "the kernel's own directory is another one at the end": """
        rename("uml", "away");
        symlink("OUTSIDE", "uml");
    """,
    "times and owner of a link": """
        const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
        symlink("OUTSIDE/file", "x");
        utimensat(AT_FDCWD, "x", times, AT_SYMLINK_NOFOLLOW);
        fchownat(AT_FDCWD, "x", 1, 1, AT_SYMLINK_NOFOLLOW);
    """,
    "links where the host writes": """
        static const char *names[] = {
            "plan.txt", "console.txt", "clock", "guest", "../clock", "../plan.txt", "result.json",
            ".partial-result.json", "cost.json", "scenario.json", "build.json", "traces.json",
        };
        for (int i = 0; i < 12; i++) {
            unlink(names[i]);
            symlink("OUTSIDE/file", names[i]);
        }
    """,
    "a clock without a page": """
        truncate("clock", 0);
        unlink("clock");
        make_file("clock", "");
    """,
}


@pytest.mark.parametrize("attack", ESCAPES)
def test_no_guest_writes_to_what_is_not_its_own(
    rig_of: RigOf, directory: Path, outside: Path, attack: str
) -> None:
    body = ESCAPES[attack].replace("OUTSIDE", str(outside))
    before = (outside / "file").stat()
    rig = rig_of(f"char path[64]; enter_run_directory(); {body} end();")
    outcome = run(rig, directory)
    assert outcome.guest["start_ns"] == 1
    assert is_as_it_was(outside)
    after = (outside / "file").stat()
    assert (after.st_mtime_ns, after.st_uid) == (before.st_mtime_ns, before.st_uid)
    # what the host has of it is its own, and all of it
    kept = {run_files.PLAN, run_files.CONSOLE, run_files.GUEST_OUTCOME}
    assert {file.name for file in directory.iterdir()} == kept
    assert all(file.is_file() and not file.is_symlink() for file in directory.iterdir())
    assert (directory / run_files.PLAN).read_text() == "#\n"


@pytest.mark.parametrize(
    "make",
    [
        'symlink("OUTSIDE/file", "client.out");',
        'mkfifo("client.out", 0666);',
        'mkdir("client.out", 0755);',
        'mknod("client.out", S_IFSOCK | 0666, 0);',
        'make_file("x", ""); link("x", "client.out");',
    ],
)
def test_what_a_guest_leaves_for_a_file_is_not_taken(
    rig_of: RigOf, directory: Path, outside: Path, make: str
) -> None:
    body = make.replace("OUTSIDE", str(outside))
    # the host looks for output at the end, too
    rig = rig_of(f"enter_run_directory(); {body} end();")
    shown = io.BytesIO()
    watch = Watch(look=Outputs(shown, shown).look)
    with pytest.raises(RunError, match=r"that it left is refused: client\.out is not a plain file"):
        run(rig, directory, watch=watch)
    assert shown.getvalue() == b""
    assert is_as_it_was(outside)
    assert not (directory / run_directory.GUEST).exists()


def test_only_expected_files_are_kept_with_the_host_s_rights(rig_of: RigOf, tmp_path: Path) -> None:
    body = """
        make_file("client.out", "text");
        chmod("client.out", 06777);
        chmod("client.out", 06000);
        make_file("archive.json", "{}");
        make_file("series.parquet", "");
    """
    if os.geteuid() == 0:
        # which an ordinary user cannot read then: such a run is refused
        body += 'mkdir("traces", 0); chmod(".", 0);'
    store = Store(tmp_path / "out")
    with store.new_run("key") as directory:
        run(rig_of(f"enter_run_directory(); {body} end();"), directory)
    kept = store.directory("key").iterdir()
    names = (run_files.PLAN, run_files.CONSOLE, run_files.GUEST_OUTCOME, run_files.CLIENT_OUTPUT)
    assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in kept} == dict.fromkeys(
        names, 0o644
    )


@pytest.mark.parametrize(
    ("attack", "reason"),
    [
        pytest.param(
            'char name[32]; for (int i = 0; ; i++) { sprintf(name, "f%d", i);'
            "mknod(name, S_IFREG, 0); usleep(1); }",
            "a program made more than 4096 files and directories in the directory of the run",
            id="files without end",
        ),
        pytest.param(
            # 2 x 15 x 201 characters, which is more than a path has
            "char name[201] = {}; memset(name, 'x', 200);"
            "for (int i = 0; i < 15; i++) { mkdir(name, 0755); chdir(name); }"
            'chdir("/tmp/run"); rename(name, "first");'
            "for (int i = 0; i < 15; i++) { mkdir(name, 0755); chdir(name); }"
            'rename("/tmp/run/first", "second"); pause();',
            "a program made directories that cannot be read \\(File name too long\\) in",
            id="directories without end",
        ),
        pytest.param(
            'make_file("client.out", ""); truncate("client.out", 1ll << 40); end();',
            "it wrote more than the disk limit of 10MB",
            id="a large file that is empty",
        ),
        pytest.param(
            'static char zero[1 << 20]; int fd = open("x", O_CREAT | O_RDWR, 0600); unlink("x");'
            "for (;;) { write(fd, zero, sizeof(zero)); usleep(1); }",
            "it wrote more than the disk limit of 10MB",
            id="a file without a name",
        ),
    ],
)
def test_no_guest_fills_the_disk(rig_of: RigOf, directory: Path, attack: str, reason: str) -> None:
    limits = Limits(wall_s=60.0, disk_bytes=10_000_000)
    with pytest.raises(RunError, match=reason):
        run(rig_of(f"enter_run_directory(); {attack}"), directory, limits)
    assert not (directory / run_directory.GUEST).exists()
