# SPDX-License-Identifier: GPL-2.0-only
"""Calls of the program, as a person makes them, each in a process of its own.

Python's start and imports take most of a short call. So a process imports everything once, and
forks for each call: it has a single thread, whatever the tests have. tests/cli/test_start.py tests
the start itself. Runs are made one at a time, unless a call says --jobs.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

PROGRAM = [sys.executable, "-m", "mptcplab"]
_MOST = 1 << 20  # bytes of a call's words and environment
_SERVER = threading.Lock()


def mptcplab(*arguments: object, status: int = 0, **how: Any) -> subprocess.CompletedProcess[str]:
    """A call that has to end with this status; see `call`."""
    done = call(*arguments, **how)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def call(
    *arguments: object,
    cwd: Path | None = None,
    text: str | None = None,
    fork: bool = True,
    through: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """What a call prints, with `text` as its input; it never ends with a traceback.

    Without `fork`, or with a text, it is a new Python, which orders the members of sets anew.
    This, or what forks, is started by the command `through`; `environment` is added to ours.
    """
    words = [str(each) for each in arguments]
    own = {**os.environ, **(environment or {})}
    if fork and text is None:
        done = _forked(words, cwd, own, through)
    else:
        done = subprocess.run(
            [*through, *PROGRAM, *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env=own,
            **({"stdin": subprocess.DEVNULL} if text is None else {"input": text}),
        )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _forked(
    words: list[str], cwd: Path | None, environment: dict[str, str], through: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    about = {"words": words, "cwd": os.fspath(cwd or Path.cwd()), "environment": environment}
    message = json.dumps(about).encode()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, _SERVER:
        socket.send_fds(_server(through), [message], [out.fileno(), errors.fileno()])
        status = int(_server(through).recv(_MOST))
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess([*PROGRAM, *words], status, *texts)


@functools.cache
def _server(through: tuple[str, ...]) -> socket.socket:
    """The process that forks; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [*through, sys.executable, __file__]
        server = subprocess.Popen(command, stdin=theirs.fileno())

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _serve() -> None:
    """Forks for each call that comes; returns in the child, with the call's files and words."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own = socket.socket(fileno=os.dup(0))
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    _import()
    gc.freeze()
    assert len(os.listdir("/proc/self/task")) == 1, "a fork would have none of the other threads"
    while True:
        message, files, _, _ = socket.recv_fds(own, _MOST, 2)
        if not message:
            sys.exit()
        if not (child := os.fork()):
            break
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        own.send(str(os.waitstatus_to_exitcode(status)).encode())
    own.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), *files)):
        os.dup2(file, number)
        os.close(file)
    about = json.loads(message)
    os.chdir(about["cwd"])
    os.environ.clear()
    os.environ.update(about["environment"])
    sys.argv[1:] = about["words"]


def _import() -> None:
    """All of the package, and what it imports when it needs it, but for what starts threads.

    What lacks a package is left out: a call that needs it says so.
    """
    import mptcplab
    from mptcplab.cli import cli, options
    from mptcplab.report import draw

    modules = [each.name for each in pkgutil.walk_packages(mptcplab.__path__, "mptcplab.")]
    for name in (*modules, "scipy.optimize", "scipy.stats"):
        if not name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                import_module(name)
    with draw.drawing():
        import_module("matplotlib.backends.backend_svg")
    # other tests have the other CPUs, and the start of a worker takes longer than most runs
    cpus = mock.Mock(wraps=os, **{"sched_getaffinity.return_value": {0}})
    mock.patch.object(options, "os", cpus).start()
    # models are complete once they were used
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(["run", "--path", "dsl", "--path", "lte", "--plan"], standalone_mode=False)


if __name__ == "__main__":
    _serve()
    try:
        runpy.run_module("mptcplab", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        # Python would take apart all that was imported, which takes longer than most calls
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))
