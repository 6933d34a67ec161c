# SPDX-License-Identifier: GPL-2.0-only
"""Do two versions of mptcplab answer the same command lines in the same way?

    python -m checks.same_commands OLD [NEW]             (make same-commands OLD=REV)

OLD and NEW are git revisions, or directories of checkouts with whatever is not committed there;
NEW is this one by default. Each version runs the command lines of checks/commands.txt with the
packages of this environment. Its answers are kept by its git tree, so that they are recorded once.

Exit statuses, JSON, CSV, figures and records have to be equal. Texts (standard output, standard
error, pages, templates) may change as checks/renamed.txt lists. The exit status is 1 if anything
else differs.
"""

from __future__ import annotations

import asyncio
import difflib
import gzip
import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path

from checks.command_line import parser_of
from mptcplab.errors import status_of

CHECKS = Path(__file__).parent
ROOT = CHECKS.parent

#: What differs from call to call: a pattern, its replacement, and why it differs.
NORMALISED = (
    (r"/tmp/same-[a-z0-9_]{8}", "/tmp/same-XXXXXXXX", "the scratch directory"),
    (r"^Traceback .*\n(?: .*\n)+", "Traceback\n", "lines of the source, in Python"),
    (r'"(wall|start|user|system)_s": ?[0-9.e-]+', r'"\1_s": 0', "how long a run took here"),
    (r'"memory_bytes": ?\d+', '"memory_bytes": 0', "what a run took of this machine's memory"),
    (r" +[0-9.]+e-0\d +$", " 0", "CPU hours, the last column of results list"),
    (r"\d+ MiB (available|free)", r"0 MiB \1", "what this machine has, as doctor says"),
    (r"\(/\S+/python\S*\) *$", "(python)", "the Python of the environment, as doctor says"),
    (r"/[\w./-]+/bin/python[\d.]*", "python", "the Python of the environment, as programs have it"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", "DATE TIME", "when the kernel was built, in kernel list"),
    (r"\b\d+(\.\d+)? (s|min|h) CPU", "0 s CPU", "what a run is expected to cost here"),
)
_PATTERNS = tuple((re.compile(pattern, re.MULTILINE), by) for pattern, by, _ in NORMALISED)
#: An id of a kernel or a guest, or the key of a run, which is a hash of both.
_ID = re.compile(r"\b(?:[0-9a-f]{12}|[0-9a-f]{16})\b")
#: A longer line, such as a library within a page, is kept as its hash.
_LONGEST_LINE = 4000
#: Of a command line, also on a machine that does much else; of one without an end nothing is kept.
_LIMIT_S = 2 * 3600
#: Of parts that --list leaves out, since they are no wording: encoded data, a row of a terminal's
#: progress, a page in another order; and numbers, which may be all that differs.
_DATA = re.compile(rf"\S{{200}}|\x1b|.{{{_LONGEST_LINE}}}")
_NUMBER = re.compile(r"\d[\d.e-]*")
_SHOWN_LINES = 14
_STDOUT, _STDERR = "standard output", "standard error"
_TEXTS = (_STDERR, ".html", ".md", ".c", ".py")

#: Of lines that have something under its old name: the line, and the new name.
Refused = Sequence[tuple[str, str]]
#: The lines of a group, and those that it has to refuse.
Asked = tuple[Sequence[str], Refused]
#: Lines that differ: what was there, what is now.
Pair = tuple[str, str]


@dataclass(frozen=True)
class Answer:
    """What a command line did: its exit status, its output, and the files that it changed.

    Of a file there is the text, or a hash of its bytes; None if it is gone. `refuses` is the new
    name of something that the line has under its old one.
    """

    line: str
    status: int
    stdout: str
    stderr: str
    files: Sequence[tuple[str, str | None]] = ()
    refuses: str | None = None


@dataclass(frozen=True)
class Difference:
    """What differs in two answers; `pairs` are its parts, of which a text's could be listed."""

    what: str
    old: str
    new: str
    is_text: bool = False
    pairs: Sequence[Pair] = ()

    def __str__(self) -> str:
        old, new = self.old.splitlines(), self.new.splitlines()
        lines = [line[:200] for line in difflib.unified_diff(old, new, n=0, lineterm="")][2:]
        more = len(lines) - _SHOWN_LINES
        lines[_SHOWN_LINES:] = [f"... {more} more lines"] if more > 0 else []
        return "\n    ".join([f"  {self.what}:", *lines])


def read_groups(text: str) -> dict[str, list[str]]:
    """The groups of command lines by name; each begins with a line "== NAME"."""
    groups: dict[str, list[str]] = {}
    for line in map(str.strip, text.splitlines()):
        if line.startswith("== "):
            lines = groups.setdefault(line[3:], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return groups


def read_renamed(text: str) -> dict[str, list[Pair]]:
    """The list by section, [words], [texts] or [data]: lines "- OLD", each before its "+ NEW"."""
    found: dict[str, list[Pair]] = {"words": [], "texts": [], "data": []}
    section, old = "", ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            section = line.strip("[]")
        elif line.startswith("-"):
            old = line[1:].strip()
        elif line.startswith("+"):
            found[section].append((old, line[1:].strip()))
    return found


def spelled(lines: Sequence[str], words: Sequence[Pair]) -> tuple[list[str], Refused]:
    """The lines with old words for new ones; and, of each word's first line, what is refused."""
    old_lines, refused = list(lines), []
    for old, new in words:
        word = re.compile(rf"(?<![\w-]){re.escape(new)}(?![\w-])")
        having = [number for number, line in enumerate(lines) if word.search(line)]
        refused += [(word.sub(old, lines[number]), new) for number in having[:1]]
        for number in having:
            old_lines[number] = word.sub(old, old_lines[number])
    return old_lines, refused


def normalised(text: str) -> str:
    """A text without what differs from call to call, and with long lines as hashes."""
    for pattern, by in _PATTERNS:
        text = pattern.sub(by, text)
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if len(line) > _LONGEST_LINE:
            lines[number] = f"<{hashlib.sha256(line.encode()).hexdigest()}>"
    return "\n".join(lines)


def content(file: Path) -> str:
    """The normalised text of a file; the rows of a table as JSON; or its size and hash."""
    found = file.read_bytes()
    if file.suffix == ".parquet":
        import polars as pl

        return normalised(pl.read_parquet(io.BytesIO(found)).write_ndjson())
    with suppress(UnicodeDecodeError):
        if b"\0" not in found:
            return normalised(found.decode())
    return f"<{len(found)} bytes, {hashlib.sha256(found).hexdigest()}>"


def git(repository: Path, *arguments: str, **environment: str) -> bytes:
    """What git prints. Raises SystemExit, with what git said, if it fails."""
    settings = {**os.environ, **environment}
    done = subprocess.run(["git", *arguments], cwd=repository, env=settings, capture_output=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.decode()}")
    return done.stdout


def tree_of(version: str) -> tuple[Path, str]:
    """The git tree of a version, and the repository that has it; nothing there changes."""
    if not Path(version).is_dir():
        return ROOT, git(ROOT, "rev-parse", f"{version}^{{tree}}").decode().strip()
    with tempfile.TemporaryDirectory() as directory:
        index = {"GIT_INDEX_FILE": f"{directory}/index"}
        git(Path(version), "read-tree", "HEAD", **index)
        git(Path(version), "add", "--all", **index)
        return Path(version), git(Path(version), "write-tree", **index).decode().strip()


class Version:
    """A version of the project, unpacked into a scratch directory, and its answers."""

    def __init__(self, repository: Path, tree: str, directory: Path) -> None:
        self._directory, self._source = directory, directory / "tree"
        self._cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self._cpus: asyncio.Queue[int] = asyncio.Queue()
        for cpu in os.sched_getaffinity(0):
            self._cpus.put_nowait(cpu)
        self._source.mkdir()
        archive = git(repository, "archive", tree)
        subprocess.run(["tar", "-x"], cwd=self._source, input=archive, check=True)
        program = directory / "bin" / "mptcplab"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\nfrom mptcplab.cli import main\n\nmain()\n")
        program.chmod(0o755)

    async def kernel(self) -> str:
        """The id of its kernel, which is built if it is not in the user's cache."""
        place = self._directory / "build"
        place.mkdir()
        (place / "cache").symlink_to(self._cache)
        about = await self._call("mptcplab kernel build", place, min(os.sched_getaffinity(0)))
        found = _ID.search(about.stdout + about.stderr)
        if about.status or not found:
            raise SystemExit(f"mptcplab kernel build: {about.stdout}{about.stderr}")
        return found.group()

    async def answers(
        self, group: str, lines: Sequence[str], refused: Refused, kernel: str
    ) -> list[Answer]:
        """What the lines of a group did, one after the other, and then those to be refused.

        They have one CPU, so that runs end, and are reported, in one order.
        """
        place, cpu = self._directory / group, await self._cpus.get()
        self._share_cache(place / "cache" / "mptcplab", kernel)
        (place / "work").mkdir()
        (place / "work" / "examples").symlink_to(self._source / "examples")
        found = [await self._call(line, place, cpu) for line in lines]
        found += [await self._call(line, place, cpu, new) for line, new in refused]
        shutil.rmtree(place)
        self._cpus.put_nowait(cpu)
        return found

    def _share_cache(self, cache: Path, kernel: str) -> None:
        """A cache with this version's kernel alone, whatever else is in the user's."""
        own = self._cache / "mptcplab"
        shared = ["guest", "matplotlib", f"kernel/{kernel}", "kernel/digests.json"]
        with suppress(OSError):
            # schedulers of users are compiled there, while nobody else does
            source = json.loads((own / "kernel" / kernel / "about.json").read_bytes())["source"]
            tree = hashlib.sha256(source.encode()).hexdigest()[:12]
            shared += [f"kernel/trees/{tree}", "kernel/lock", "kernel/locks"]
        for each in shared:
            (cache / each).parent.mkdir(parents=True, exist_ok=True)
            if (own / each).exists():
                (cache / each).symlink_to(own / each)

    async def _call(self, line: str, place: Path, cpu: int, refuses: str | None = None) -> Answer:
        for each in ("work", "home", "tmp"):
            (place / each).mkdir(exist_ok=True)
        work, pipe = place / "work", asyncio.subprocess.PIPE
        environment = {
            "PATH": f"{self._directory / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(self._source / "src"),
            "ROOT": str(self._source),
            "HOME": str(place / "home"),
            "TMPDIR": str(place / "tmp"),
            "XDG_CACHE_HOME": str(place / "cache"),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "COLUMNS": "100",
        }
        before = _stamps(work)
        process = await asyncio.create_subprocess_exec(
            *("taskset", "-c", str(cpu), "bash", "-c", line),
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
        try:
            output = await asyncio.wait_for(process.communicate(), _LIMIT_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        after = _stamps(work)
        files = [(name, None) for name in before if name not in after] + [
            (name, content(work / name))
            for name, stamp in after.items()
            if before.get(name) != stamp
        ]
        stdout, stderr = (normalised(each.decode(errors="backslashreplace")) for each in output)
        assert process.returncode is not None
        return Answer(line, process.returncode, stdout, stderr, sorted(files), refuses)


def _stamps(work: Path) -> Mapping[str, tuple[int, int, int]]:
    """Of each file there, what changes when it is written."""
    return {
        str(file.relative_to(work)): (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        for file in work.rglob("*")
        if file.is_file() and not file.is_symlink() and (stat := file.stat())
    }


async def record(
    repository: Path, tree: str, groups: Mapping[str, Asked], kept: Path, again: bool
) -> dict[str, list[Answer]]:
    """The answers of a version to groups of lines: those that are kept, and else recorded ones."""
    digests = {name: hashlib.sha256(json.dumps(asked).encode()) for name, asked in groups.items()}
    files = {
        name: kept / tree / f"{name}-{by.hexdigest()[:12]}.json.gz" for name, by in digests.items()
    }
    missing = [name for name, file in files.items() if again or not file.exists()]

    async def answered(version: Version, name: str, kernel: str) -> None:
        found = [asdict(each) for each in await version.answers(name, *groups[name], kernel)]
        partial = files[name].with_suffix(".partial")
        partial.write_bytes(gzip.compress(json.dumps(found).encode()))
        partial.replace(files[name])
        missing.remove(name)
        print(f"{tree[:12]}: {name}, {len(missing)} groups left", file=sys.stderr)

    if missing:
        (kept / tree).mkdir(parents=True, exist_ok=True)
        # its name has the same length everywhere, as tables are as wide as names
        scratch = tempfile.TemporaryDirectory("", "same-", "/tmp", ignore_cleanup_errors=True)
        with scratch as directory:
            version = Version(repository, tree, Path(directory))
            kernel = await version.kernel()
            async with asyncio.TaskGroup() as tasks:
                for name in tuple(missing):
                    tasks.create_task(answered(version, name, kernel))
    return {
        name: [Answer(**each) for each in json.loads(gzip.decompress(file.read_bytes()))]
        for name, file in files.items()
    }


def changes(old: str, new: str, words: bool) -> list[Pair]:
    """The parts of two texts that differ, line by line; by their words alone, lines are joined, and
    other spaces between words do not count beside other words: columns move then.
    """

    def joined(lines: Sequence[str]) -> str:
        return " ".join(" ".join(lines).split()) if words else "\\n".join(lines)

    if old == new:
        return []
    before, after = ([joined([line]) for line in text.splitlines()] for text in (old, new))
    parts = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    pairs = [(joined(before[a:b]), joined(after[c:d])) for _, a, b, c, d in parts]
    return [(a.strip(), b.strip()) for a, b in pairs if a != b] or [(old, new)]


def is_wording(pair: Pair) -> bool:
    """Whether two parts differ in words: not in numbers alone, and neither of them in data."""
    old, new = (_NUMBER.sub("0", part) for part in pair)
    return old != new and not any(map(_DATA.search, pair))


def compared(
    old: Answer, new: Answer, renamed: Mapping[str, Sequence[Pair]], same_ids: bool
) -> Iterator[Difference]:
    """What differs and is not listed. If the kernels differ, ids and keys of runs do not count."""

    def plain(text: str | None) -> str:
        # again: a pattern may be newer than what is kept
        found = normalised(str(text))
        return found if same_ids else _ID.sub("<id>", found)

    if old.status != new.status:
        yield Difference("exit status", str(old.status), str(new.status))
    files = [sorted((plain(name), plain(text)) for name, text in each.files) for each in (old, new)]
    old_names, new_names = ("\n".join(name for name, _ in each) for each in files)
    streams = [(_STDOUT, old.stdout, new.stdout), (_STDERR, old.stderr, new.stderr)]
    if old_names != new_names:
        yield Difference("files", old_names, new_names)
    else:
        streams += [(name, text, by) for (name, text), (_, by) in zip(*files, strict=True)]
    for what, before, after in streams:
        is_text = what.endswith(_TEXTS) or (what == _STDOUT and not _is_data(old))
        listed = renamed["texts" if is_text else "data"]
        pairs = [
            pair for pair in changes(plain(before), plain(after), is_text) if pair not in listed
        ]
        if pairs:
            yield Difference(what, before, after, is_text, pairs)


def _is_data(answer: Answer) -> bool:
    with suppress(ValueError):
        json.loads(answer.stdout)
        return True
    return "--csv" in answer.line or "--plan" in answer.line


def refusal(answer: Answer) -> Iterator[Difference]:
    """What differs from the refusal of an old name, which has the new one."""
    if not answer.status:
        yield Difference("exit status", "not 0, because of an old name", "0")
    if str(answer.refuses) not in answer.stderr:
        yield Difference(_STDERR, f"has {answer.refuses}", answer.stderr)


def main(arguments: Sequence[str], checks: Path = CHECKS) -> int:
    """Records both versions, and prints what differs; the exit status."""
    parser = parser_of("same_commands", __doc__)
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW", nargs="?", default=str(ROOT))
    parser.add_argument("--kept", type=Path, default=ROOT / "same-commands-out", metavar="DIR")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only groups whose names contain TEXT"
    )
    parser.add_argument("--again", action="store_true", help="record NEW again")
    parser.add_argument("--list", action="store_true", help="add the texts that differ to the list")
    options = parser.parse_args(arguments)
    list_file = checks / "renamed.txt"
    renamed = read_renamed(list_file.read_text())
    groups = read_groups((checks / "commands.txt").read_text())
    groups = {name: lines for name, lines in groups.items() if options.only in name}
    by_old = {name: spelled(lines, renamed["words"]) for name, lines in groups.items()}
    asked_old: dict[str, Asked] = {name: (lines, []) for name, (lines, _) in by_old.items()}
    asked_new: dict[str, Asked] = {name: (groups[name], by_old[name][1]) for name in groups}
    trees = tree_of(options.old), tree_of(options.new)
    kernels = [git(*tree[:1], "ls-tree", tree[1], "kernel", "guest") for tree in trees]
    old = asyncio.run(record(*trees[0], asked_old, options.kept, False))
    new = asyncio.run(record(*trees[1], asked_new, options.kept, options.again))
    same_ids = kernels[0] == kernels[1]
    found = [
        (
            group,
            line,
            list(refusal(line) if line.refuses else compared(before, line, renamed, same_ids)),
        )
        for group in groups
        for before, line in zip_longest(old[group], new[group], fillvalue=Answer("", 0, "", ""))
    ]
    unlisted: dict[Pair, None] = {}
    for group, answer, differences in found:
        if differences:
            print("\n".join([f"{group}: {answer.line}", *map(str, differences)]))
        pairs = [p for each in differences if each.is_text for p in each.pairs]
        unlisted |= dict.fromkeys(filter(is_wording, pairs))
    if options.list and unlisted:
        added = "".join(f"- {before}\n+ {after}\n" for before, after in unlisted)
        list_file.write_text(f"{list_file.read_text()}\n[texts]\n{added}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    differing = sum(bool(differences) for _, _, differences in found)
    print(
        f"{len(found)} command lines, {differing} differ; {used.ru_utime + used.ru_stime:.0f} s CPU"
    )
    if not same_ids:
        print("the kernels differ: their ids and the keys of runs were not compared")
    return 1 if differing else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(status_of(lambda: main(sys.argv[1:])))
