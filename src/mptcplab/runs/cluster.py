# SPDX-License-Identifier: GPL-2.0-only
"""Many machines: the workers of a Dask cluster perform the tasks.

A worker needs the Python package and what a run needs of a machine, but no compiler: builds,
modules and traces are sent to it once, and kept in its cache by their hash. Before its first run it
is compared with the client's machine, since different versions could give different figures. A
worker that dies or is taken away costs only time: Dask gives its tasks to others, and a run is the
same wherever it is made.

All workers present when the client connects must be fit. An unfit one that joins later is left
out, and reported.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import hashlib
import importlib.metadata
import ipaddress
import platform
import re
import shutil
import socket
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import dask
from distributed import Client, KilledWorker, Reschedule, Security, WorkerPlugin, get_worker
from distributed import Future as DaskFuture
from distributed.client import ClosedClientError
from distributed.comm.core import CommClosedError
from distributed.core import Server
from distributed.worker import Worker

from mptcplab import files
from mptcplab.errors import InputError, MachineError, MptcplabError, Problem, RunCancelledError
from mptcplab.lab import doctor
from mptcplab.lab.engine import Watch
from mptcplab.runs import archive, documents, tls
from mptcplab.runs.store import Store
from mptcplab.runs.tasks import Done, Task, failed, given_up
from mptcplab.runs.workers import Perform, Workers

T = TypeVar("T")

# Client, scheduler and workers all import this.
tls.mend_streams()

#: Packages that affect figures, or what is sent, besides this one.
PACKAGES = ("dask", "distributed", "numpy", "polars", "pydantic", "scipy")

_OF_SCHEDULER = ("mptcplab", "Python", "dask", "distributed")
_CONNECT_S = 10.0
_PAUSE_S = 0.2
_AHEAD = 1000
_FULL_BYTES = 1 << 20
# How long the number of threads is cached: asking for each run would cost too much.
_KNOWN_S = 1.0
_ACCEPTED = "accepted is tcp://HOST:PORT, tls://HOST:PORT or the scheduler's file, FILE.json"
_FLAG = "--cluster"
#: Instead of a key file: the user asserts that nobody else can reach the cluster.
NO_KEY = "none"


def environment() -> dict[str, str]:
    """What must match on all machines for figures to match: versions by name."""
    python = ".".join(platform.python_version_tuple()[:2])
    found = {"mptcplab": _own_version(), "Python": python}
    for name in PACKAGES:
        found[name] = "missing"
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _own_version() -> str:
    """The version of this package, with a hash of its code, which may have been edited."""
    digest = hashlib.sha256()
    place = Path(__file__).parents[1]
    for file in sorted(place.rglob("*.py")):
        digest.update(str(file.relative_to(place)).encode() + b"\0" + file.read_bytes() + b"\0")
    return f"{importlib.metadata.version('mptcplab')} (code {digest.hexdigest()[:12]})"


def require_fit(wanted: Mapping[str, str]) -> None:
    """Raises MachineError if this machine differs from `wanted`, or lacks what a run needs."""
    if wrong := _differences(environment(), wanted):
        raise MachineError(wrong)
    doctor.require(*doctor.RUN_CHECKS)


def _differences(found: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    return "; ".join(
        f"{name} is {found[name]}, not {version}"
        for name, version in wanted.items()
        if found[name] != version
    )


def open_addresses(dask_scheduler: Server) -> list[str]:
    """The addresses of a scheduler or worker that are open to anybody who can reach them."""
    listening = [listener.listen_address for listener in dask_scheduler.listeners]
    return [each for each in listening if not _is_closed(each)]


def _open(addresses: Sequence[str]) -> str:
    return (
        f"whoever can reach {addresses[0]} can run code there and see what is sent; accepted "
        f"beyond one machine is tls://HOST:PORT with {tls.FLAG} FILE, or {tls.FLAG} {NO_KEY} in a "
        "network without others: docs/cluster.md"
    )


def _is_closed(address: str) -> bool:
    """Whether an address needs a key, or only users of this machine can reach it."""
    scheme, _, place = address.partition("://")
    if scheme in ("tls", "wss", "inproc"):
        return True
    host = place.rpartition(":")[0].strip("[]")
    try:  # a name may have many addresses
        found = {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(each).is_loopback for each in found)


# On a worker


class _Presence(WorkerPlugin):
    """A client's state on each worker: whether the worker is fit, and the running runs."""

    def __init__(self, name: str, wanted: Mapping[str, str], *, closed: bool) -> None:
        self.name = name
        self.unfit = ""
        self._wanted = dict(wanted)
        self._closed = closed
        self._cancels: dict[Any, threading.Event] = {}

    async def setup(self, worker: Worker) -> None:
        self._worker = worker
        try:
            await asyncio.to_thread(require_fit, self._wanted)
            found = open_addresses(worker)
            if self._closed and found:
                raise MachineError(_open(found))
        except MptcplabError as error:
            self.tell(error)

    def teardown(self, worker: Worker) -> None:
        """The worker ends or the client has left: end all runs, since nobody waits for them."""
        del worker
        for cancel in list(self._cancels.values()):
            cancel.set()

    def transition(self, key: Any, start: str, finish: str, **_kwargs: Any) -> None:
        if start == "executing" and finish == "released" and key in self._cancels:
            self._cancels[key].set()

    def tell(self, error: MptcplabError) -> None:
        """Tell the client that this worker is unfit."""
        self.unfit = str(error)
        self.send()

    def send(self) -> None:
        message = {"worker": self._worker.address, "why": self.unfit}
        self._worker.loop.add_callback(self._worker.log_event, self.name, message)

    @contextlib.contextmanager
    def cancelled(self) -> Iterator[threading.Event]:
        """An event that is set when the task of this thread is no longer wanted."""
        key = self._worker.get_current_task()
        self._cancels[key] = threading.Event()
        try:
            yield self._cancels[key]
        finally:
            del self._cancels[key]


def kept(digest: str) -> Path:
    """Where a machine keeps a file that was sent to it, by the SHA-256 of its content."""
    return doctor.cache_dir() / "artefacts" / digest


def keep(digest: str, packed: bytes) -> None:
    """Keep a file that was sent, whole or not at all. Raises OSError."""
    kept(digest).parent.mkdir(parents=True, exist_ok=True)
    with files.new_file(kept(digest)) as partial:
        partial.write_bytes(zlib.decompress(packed))
        # builds are programs: the group and others may run them where a cache is shared
        partial.chmod(0o755)


class _Delivery(WorkerPlugin):
    """Files on their way to every worker; `presence` names the client's state there."""

    def __init__(self, name: str, presence: str, packed: Mapping[str, bytes]) -> None:
        self.name = name
        self._presence = presence
        self._packed = dict(packed)

    async def setup(self, worker: Worker) -> None:
        try:
            for digest, packed in self._packed.items():
                await asyncio.to_thread(keep, digest, packed)
        except (OSError, zlib.error) as error:
            message = f"a file that was sent cannot be kept: {error}"
            cast(_Presence, worker.plugins[self._presence]).tell(MptcplabError(message))


def why_unfit(name: str, dask_worker: Worker) -> str:
    """Why the worker that runs this cannot make runs for a client; "" if it can."""
    return cast(_Presence, dask_worker.plugins[name]).unfit


@dataclass(frozen=True)
class _Sent:
    """A task, and the hashes of its files by their places on the client."""

    task: Task
    files: Mapping[Path, str]

    def arrived(self, directory: Path) -> Task:
        """The task with the files of this machine. Traces get their names back in `directory`.

        Raises MptcplabError if a file is gone.
        """

        def here(file: Path) -> Path:
            found = kept(self.files[file])
            if not found.exists():
                raise MptcplabError(f"{found} is gone")
            return found

        traces = {}
        rig = self.task.rig
        for place, source in rig.traces.items():
            link = directory / source.digest / source.file.name
            if not link.is_symlink():
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(here(source.file))
            traces[place] = replace(source, file=link)
        rig = replace(
            rig,
            kernel=replace(rig.kernel, image=here(rig.kernel.image)),
            guest=replace(rig.guest, program=here(rig.guest.program)),
            modules={name: here(file) for name, file in rig.modules.items()},
            traces=traces,
        )
        return replace(self.task, rig=rig, out=None, scratch=directory)


def perform_here(name: str, fn: Callable[[Task, Watch], T], sent: _Sent) -> T:
    """Perform a task on a worker; an unfit one gives it back to the scheduler."""
    worker = get_worker()
    presence = cast(_Presence, worker.plugins[name])
    if presence.unfit:
        # the client will leave this worker out; until then tasks should not go round in circles
        presence.send()
        time.sleep(_PAUSE_S)
        raise Reschedule
    with tempfile.TemporaryDirectory(prefix="files-", dir=worker.local_directory) as directory:
        try:
            task = sent.arrived(Path(directory))
        except MptcplabError as error:
            presence.tell(error)
            raise Reschedule from None
        with presence.cancelled() as cancel:
            try:
                done = fn(task, Watch(cancel=cancel))
            except RunCancelledError:
                # an ending worker reports it; for an unwanted task it makes no difference
                raise Reschedule from None
        if isinstance(done, Done) and done.entry.status != "ok" and _is_full(directory):
            # every further run would fail here, but may succeed elsewhere
            presence.tell(MptcplabError(f"no space left on the disk of {worker.local_directory}"))
            raise Reschedule
        return done


def _is_full(directory: str) -> bool:
    return shutil.disk_usage(directory).free < _FULL_BYTES


# The client


class OnCluster(Workers):
    """Performs tasks on the workers of a cluster, one at a time in each of their threads.

    Returned files are put into the task's store. `say` is called with each line of progress to
    show the user.
    """

    def __init__(
        self, address: str, say: Callable[[str], None], key: Path | str | None = None
    ) -> None:
        """`key` is the file of the cluster's key, or NO_KEY; the default are the certificates of
        Dask's configuration.

        Raises InputError for a bad address, or one where others could run code, too; MptcplabError
        if there is no cluster, and MachineError if one of its workers is unfit.
        """
        self.virtual_s = {}
        self._say = say
        self._lock = threading.Lock()
        self._sent: dict[Path, str] = {}
        self._under_way: dict[Any, tuple[DaskFuture[Any], Task, Future[Any]]] = {}
        self._unfit: dict[str, str] = {}
        self.jobs, self._jobs_known_s = -1, 0.0
        self._client = _connect(address, key)
        self._plugins = [f"mptcplab-{self._client.id}"]
        try:
            self._take_workers(address, key)
        except BaseException:
            self._leave()
            raise

    @property
    def ahead(self) -> int:
        """Enough tasks that a cluster that scales with its load grows."""
        if time.monotonic() - self._jobs_known_s > _KNOWN_S:
            with _lost():
                jobs = sum(self._client.nthreads().values())
            if jobs == 0 != self.jobs:
                self._say("the cluster has no worker; waiting for one")
            self.jobs, self._jobs_known_s = jobs, time.monotonic()
        return max(_AHEAD, 2 * self.jobs)

    def submit(self, fn: Perform, task: Task) -> Future[Done]:
        result: Future[Any] = Future()
        result.set_running_or_notify_cancel()
        try:
            sent = self._send_files(task)
        except OSError as error:  # a file cannot be read
            result.set_result(failed(task, str(error)))
            return result
        with _lost():
            future = self._client.submit(perform_here, self._plugins[0], fn, sent, pure=False)
        with self._lock:
            self._under_way[future.key] = future, task, result
        future.add_done_callback(self._ended)
        return result

    def shutdown(self, *, cancel: bool = False) -> None:
        if cancel and (ended := self._end(RunCancelledError())):
            with contextlib.suppress(*_LOST):
                self._client.cancel(ended)
        with self._lock:
            results = [result for _, _, result in self._under_way.values()]
        concurrent.futures.wait(results)
        self._leave()

    def _take_workers(self, address: str, key: Path | str | None) -> None:
        """Admit the present workers, and have later ones report themselves."""
        wanted = environment()
        closed = key != NO_KEY
        try:
            with _lost():
                scheduler = self._client.run_on_scheduler(environment)
                if wrong := _differences(scheduler, {name: wanted[name] for name in _OF_SCHEDULER}):
                    raise MachineError(f"the cluster's scheduler: {wrong}")
                # although reached over loopback, it may listen on other addresses
                found = self._client.run_on_scheduler(open_addresses)
                if closed and found:
                    raise _refused(address, _open(found))
                self._client.register_plugin(_Presence(self._plugins[0], wanted, closed=closed))
        except ModuleNotFoundError as error:
            place = "the cluster's scheduler, or one of its workers"
            raise MachineError(f"{place}, lacks a Python package: {error}") from None
        self._require_fit()
        # for later workers; one that came in between reports again when it gets a task
        self._client.subscribe_topic(self._plugins[0], self._heard)

    def _require_fit(self) -> None:
        with _lost():
            whys = self._client.run(why_unfit, self._plugins[0], on_error="ignore")
        unfit = {
            address: why for address, why in whys.items() if why and address not in self._unfit
        }
        if unfit:
            raise MachineError(
                f"{len(unfit)} of the {len(whys)} workers of the cluster cannot make runs\n"
                + "\n".join(f"  {address}: {why}" for address, why in sorted(unfit.items()))
            )

    def _send_files(self, task: Task) -> _Sent:
        """The task as it is sent; files that are new go to all workers first.

        Raises OSError if a file cannot be read.
        """
        rig = task.rig
        traces = (source.file for source in rig.traces.values())
        wanted = {rig.kernel.image, rig.guest.program, *rig.modules.values(), *traces}
        if new := {file: file.read_bytes() for file in wanted if file not in self._sent}:
            digests = {file: hashlib.sha256(content).hexdigest() for file, content in new.items()}
            # the kernel is 10 MB, and a third of that compressed
            packed = {digests[file]: zlib.compress(content) for file, content in new.items()}
            self._plugins.append(f"{self._plugins[0]}-{len(self._plugins)}")
            with _lost():
                self._client.register_plugin(_Delivery(self._plugins[-1], self._plugins[0], packed))
            self._require_fit()
            self._sent |= digests
        return _Sent(task, {file: self._sent[file] for file in wanted})

    def _ended(self, future: DaskFuture[Any]) -> None:
        with self._lock:
            found = self._under_way.get(future.key)
        if found is None:
            return  # it was cancelled
        _, task, result = found
        outcome: Done | BaseException
        try:
            outcome = _outcome(future, task)
        except BaseException as error:
            outcome = error
        with self._lock:
            if self._under_way.pop(future.key, None) is None:
                return  # it was cancelled meanwhile
        if isinstance(outcome, BaseException):
            result.set_exception(outcome)
        else:
            result.set_result(outcome)

    async def _heard(self, event: tuple[float, Mapping[str, str]]) -> None:
        """A later worker, or one whose files were changed, reports that it is unfit."""
        _, message = event
        address, why = message["worker"], message["why"]
        if address in self._unfit:
            return
        self._unfit[address] = why
        self._say(f"worker {address} is left out: {why}")
        scheduler: Any = self._client.scheduler
        await scheduler.retire_workers(workers=[address], close_workers=True, remove=True)
        if not await scheduler.ncores():
            whys = "".join(f"\n  {place}: {why}" for place, why in sorted(self._unfit.items()))
            reason = MachineError(f"the cluster has no worker left that can make runs{whys}")
            await self._client.cancel(self._end(reason), asynchronous=True)

    def _end(self, reason: MptcplabError) -> list[DaskFuture[Any]]:
        """Fail all pending results with a reason; returns what must be cancelled."""
        with self._lock:
            ending, self._under_way = list(self._under_way.values()), {}
        for _, _, result in ending:
            result.set_exception(reason)
        return [future for future, _, _ in ending]

    def _leave(self) -> None:
        if self._client.status == "closed":
            return
        for name in reversed(self._plugins):
            # ValueError: it was never registered
            with contextlib.suppress(*_LOST, ValueError):
                self._client.unregister_worker_plugin(name)
        self._client.close()


def _outcome(future: DaskFuture[Any], task: Task) -> Done:
    """The outcome of a task whose future is done, with its run put into its store."""
    try:
        done: Done = future.result()
    except KilledWorker as killed:
        times = killed.allowed_failures + 1
        reason = f"the worker that made it died, {times} times, the last one {killed.last_worker}"
        return given_up(task, f"{reason}; its machine may be out of memory", times)
    except concurrent.futures.CancelledError:
        raise MptcplabError(f"{_GONE}") from None
    if done.files is not None and task.out is not None:
        try:
            with Store(task.out).new_run(task.key) as directory:
                archive.extract(done.files, directory, source=f"run {task.key}")
        except (MptcplabError, OSError) as error:
            return failed(task, str(error))
    return replace(done, files=None)


_LOST = (OSError, TimeoutError, CommClosedError, ClosedClientError)
_GONE = "the connection to the cluster's scheduler is lost; finished runs are kept"


@contextlib.contextmanager
def _lost() -> Iterator[None]:
    """Report it if the scheduler goes away."""
    try:
        yield
    except _LOST as error:
        raise MptcplabError(f"{_GONE}: {error}") from None


def _connect(given: str, key: Path | str | None) -> Client:
    """A client of the scheduler at an address, or in a file, as the user gave it."""
    address = _address_in(given) if given.endswith(".json") else given
    if not re.fullmatch(r"(tcp|tls)://[^/\s]+:\d+", address):
        raise _refused(given, f"not an address; {_ACCEPTED}")
    if key != NO_KEY and not _is_closed(address):
        raise _refused(given, _open([address]))
    with dask.config.set(tls.LEAN | _settings(given, address, key)):
        try:
            return Client(
                address=address,
                security=Security(),
                timeout=_CONNECT_S,
                set_as_default=False,
                name="mptcplab",
            )
        # RuntimeError: Dask's own configuration wants encryption
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            hint = "; does it have the same key?" if address.startswith("tls://") else ""
            raise MptcplabError(f"{_FLAG} {given}: {error}{hint}") from None


def _address_in(file: str) -> str:
    """The address in the file that a scheduler writes."""
    try:
        return str(documents.read(file, documents.ADDRESS).address)
    except MptcplabError as error:
        why = str(error).removeprefix(f"{file}: ")
        raise _refused(file, f"{why}; {_ACCEPTED}") from None


def _settings(given: str, address: str, key: Path | str | None) -> dict[str, Any]:
    """Dask's settings for connections to an address."""
    if not address.startswith("tls://"):
        if key is not None and key != NO_KEY:
            raise _refused(given, f"{tls.FLAG} is for tls://HOST:PORT, and this is {address}")
        return {}
    if key is not None and key != NO_KEY:
        return tls.settings(Path(key))
    shown = Security().get_tls_config_for_role("client")
    if key == NO_KEY or not (shown["ca_file"] and shown["cert"]):
        accepted = f"{tls.FLAG} FILE, or certificates in Dask's configuration"
        raise _refused(given, f"tls:// needs a key; accepted is {accepted}: docs/cluster.md")
    return {"distributed.comm.require-encryption": True}


def _refused(given: str, why: str) -> InputError:
    return InputError([Problem(_FLAG, "", given, why)])
