# SPDX-License-Identifier: GPL-2.0-only
"""Gymnasium environments whose steps are questions of the scheduler `agent`: docs/gym.md.

An episode is a run with a seed of its own. `VectorEnv` serves many runs in one thread: it answers
all of them, and then reads the next question of each into a row of one array. So NumPy computes
observations and rewards for all runs at once, while the guests compute beside each other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mptcplab import agent, extras
from mptcplab.agent import CONNECTION, SUBFLOW, Answer, Session
from mptcplab.errors import InputError, Problem, RunError
from mptcplab.formulas.formula import BASICS, Formula, FormulaError, Functions
from mptcplab.lab import choices
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.runs import experiment
from mptcplab.runs.tasks import Task
from mptcplab.scenario.resolve import Request

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError:
    # with the remedy
    raise ModuleNotFoundError(str(extras.lacking("gym", "mptcplab.gym", "gymnasium"))) from None

#: What an observation is without others: a row of numbers near 1 for each path.
OBSERVATION = (
    "srtt_us / 1e5",
    "cwnd_pkts / 100",
    "in_flight_pkts / 100",
    "unsent_bytes / 1e5",
    "available",
)
#: The reward of a step without another: what the peer has acknowledged since the step before, in
#: units of 100 kB.
REWARD = "(connection.una_seq - before.una_seq) / 1e5"

_FUNCTIONS: Functions = {**BASICS, "log": np.log1p, "least": np.minimum, "most": np.maximum}
# Observations are within this. A reward is not.
_MOST = 1e6
_POLL_S = 0.5
# A seed of a scenario.
_SEEDS = 2**31

# Flags of subflows, by their names in formulas.
_FLAGS = {each.name.lower(): int(each) for each in agent.SubflowFlag if each.name}
# Of a question: where its flags are, and the flag of a server's, as a number, which is faster.
_AT = int(CONNECTION.fields["flags"][1]) if CONNECTION.fields else 0
_SERVER = int(agent.Flag.SERVER)

_Info = dict[str, Any]
_Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class _Place:
    """A place for episodes, one after the other; the next one has started already."""

    seeds: np.random.Generator
    now: Session | None = None
    coming: Session | None = None
    ended: bool = False

    @property
    def sessions(self) -> list[Session]:
        return [each for each in (self.now, self.coming) if each is not None]


@dataclass
class _Asked:
    """The latest questions, a row for each place, and the connections of the questions before."""

    places: int
    paths: int
    messages: _Array = field(init=False)
    before: _Array = field(init=False)

    def __post_init__(self) -> None:
        length = CONNECTION.itemsize + self.paths * SUBFLOW.itemsize
        self.messages = np.zeros((self.places, length), np.uint8)
        self.connection = self.messages[:, : CONNECTION.itemsize].view(CONNECTION)
        self.subflows = self.messages[:, CONNECTION.itemsize :].view(SUBFLOW)
        self.before = self.connection.copy()

    def put(self, place: int, message: bytes, *, first: bool) -> None:
        row = self.messages[place]
        length = min(len(message), len(row))
        row[:length] = np.frombuffer(message, np.uint8, length)
        row[length:] = 0
        if first:
            self.before[place] = self.connection[place]

    def names(self, wanted: Collection[str]) -> Mapping[str, Any]:
        """What formulas see, of the names that they use: fields and flags of subflows, each an
        array of places x paths, and tables of the connections' fields, of places x 1.
        """
        found: dict[str, Any] = {
            "connection": _Fields(self.connection),
            "before": _Fields(self.before),
        }
        for name in wanted:
            if name in _FLAGS:
                found[name] = (self.subflows["flags"] & _FLAGS[name] != 0).astype(np.float64)
            elif name in SUBFLOW.fields:  # type: ignore[operator]
                found[name] = self.subflows[name].astype(np.float64)
        return found


class _Fields(Mapping[str, Any]):
    """The fields of records as arrays of numbers, computed when a formula asks for them."""

    def __init__(self, records: _Array) -> None:
        self._records = records

    def __getitem__(self, name: str) -> Any:
        return self._records[name].astype(np.float64)

    def __contains__(self, name: object) -> bool:
        return name in (CONNECTION.names or ())

    def __iter__(self) -> Any:
        return iter(CONNECTION.names or ())

    def __len__(self) -> int:
        return len(CONNECTION.names or ())


class VectorEnv(gymnasium.vector.VectorEnv[_Array, _Array, _Array]):
    """Runs of scenarios as environments; place i takes the scenario i modulo their number.

    An observation is a row of the formulas `observation` for each path, `reward` and
    `final_reward` are formulas; the last one, of the run's figures, is added at its end. An action
    is the number of an answer in `actions`: each path in the scenario's order, and waiting, unless
    others are given. An episode ends with its run. Then the next step begins another one, with the
    next seed of its place.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        wanted: Request | Sequence[Request],
        num_envs: int = 16,
        *,
        observation: Sequence[str] = OBSERVATION,
        reward: str = REWARD,
        final_reward: str | None = None,
        actions: Sequence[Answer] | None = None,
        kernel_like: str = choices.DEFAULT_FLAVOUR,
        wall_limit: float = 10 * Limits.wall_s,
    ) -> None:
        """Raises InputError for a formula, or a request that asks no agent or has several kernels
        or connections.
        """
        given = [wanted] if isinstance(wanted, Request) else list(wanted)
        requests = [agent.asking(each, "gym") for each in given]
        bases = [each.base for each in requests]
        paths = max(len(each.paths) for each in bases)
        if any(each.connections for each in bases):
            message = "an environment has one connection"
            raise InputError([Problem("gym", "connection", "", message)])
        self._rigs = [
            experiment.rigs(each, Limits(wall_s=wall_limit), kernel_like)[0] for each in requests
        ]
        self._bases = bases
        self._observation = [_formula("observation", each) for each in observation]
        self._names = {name for each in self._observation for name in each.names}
        self._reward = _formula("reward", reward)
        self._final = _formula("final_reward", final_reward) if final_reward else None
        self._actions = (
            [*actions] if actions else [*map(agent.send, range(1, paths + 1)), agent.WAIT]
        )
        self._needs = [_subflow_of(each) for each in self._actions]
        self._asked = _Asked(num_envs, paths)
        self._places = [_Place(np.random.default_rng(i)) for i in range(num_envs)]
        self._runs = 0

        self.num_envs = num_envs
        shape = (paths, len(self._observation))
        self.single_observation_space = gymnasium.spaces.Box(-_MOST, _MOST, shape, np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(len(self._actions))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        # a wrong name is found before the first run
        self._observed()
        self._rewarded()
        self._kept = ExitStack()
        self._out = Path(
            self._kept.enter_context(tempfile.TemporaryDirectory(prefix="mptcplab-gym-"))
        )

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: _Info | None = None
    ) -> tuple[_Array, _Info]:
        """Begin all episodes anew. With a seed, they are those of every reset with this seed."""
        super().reset(seed=seed if isinstance(seed, int) else None, options=options)
        self._end()
        for i, place in enumerate(self._places):
            own = seed[i] if isinstance(seed, list) else seed
            if own is not None:
                place.seeds = np.random.default_rng([own, i])
            place.coming = self._start(i)
        for i in range(self.num_envs):
            self._begin(i)
        return self._observed(), {}

    def step(self, actions: _Array) -> tuple[_Array, _Array, _Array, _Array, _Info]:
        """A step of each episode; one that has ended begins anew, without a reward."""
        again = np.zeros(self.num_envs, bool)
        for i, action in enumerate(np.asarray(actions).tolist()):
            place = self._places[i]
            if place.ended:
                self._begin(i)
                again[i] = True
            else:
                self._answer(i, action)
        asked = self._asked
        asked.before[:] = asked.connection
        ended = np.zeros(self.num_envs, bool)
        final = np.zeros(self.num_envs)
        figures: _Array = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(~again).tolist():
            if not self._read(i, first=False):
                figures[i] = self._ended(i)
                ended[i] = True
                if self._final:
                    final[i] = _value(self._final, figures[i])
        rewards = np.where(again, 0.0, self._rewarded() + final)
        infos = {"metrics": figures, "_metrics": ended} if ended.any() else {}
        return self._observed(), rewards, ended, np.zeros(self.num_envs, bool), infos

    def close_extras(self, **_kwargs: Any) -> None:
        self._end()
        self._kept.close()

    def _start(self, i: int) -> Session:
        place, number = self._places[i], i % len(self._bases)
        base = self._bases[number].with_(seed=int(place.seeds.integers(1, _SEEDS)))
        self._runs += 1
        # a step may take less time than a look at a run, and Python runs one thread at a time
        return Session(
            Task.of(base, self._rigs[number], self._out / str(self._runs)), Watch(poll_s=_POLL_S)
        )

    def _begin(self, i: int) -> None:
        """The episode that has started becomes the present one, and the next one starts."""
        place = self._places[i]
        place.now, place.ended = place.coming, False
        place.coming = self._start(i)
        if not self._read(i, first=True):
            self._ended(i)
            raise RunError("a run of the environment ended without a question to its agent")

    def _read(self, i: int, *, first: bool) -> bool:
        """Read the next question of the client; False: the run has ended."""
        session = self._places[i].now
        assert session is not None
        while message := session.message():
            if not message[_AT] & _SERVER:
                self._asked.put(i, message, first=first)
                return True
            session.answer(agent.KEEP)
        return False

    def _answer(self, i: int, action: int) -> None:
        needs, session = self._needs[action], self._places[i].now
        assert session is not None
        # a subflow that is not there (yet): as before, or as minrtt
        there = not needs or needs in self._asked.subflows["id"][i]
        session.answer(self._actions[action] if there else agent.KEEP)

    def _ended(self, i: int) -> Mapping[str, float | None]:
        """The figures of a run that has ended. Raises RunError if it failed."""
        place = self._places[i]
        assert place.now is not None
        entry = place.now.finish().entry
        place.now, place.ended = None, True
        if entry.status != "ok":
            raise RunError(str(entry.reason).removeprefix("the run failed: "))
        return dict(entry.metrics)

    def _end(self) -> None:
        sessions = [each for place in self._places for each in place.sessions]
        # all at once, before the wait for each
        for session in sessions:
            session.end()
        for session in sessions:
            session.cancel()
        for place in self._places:
            place.now = place.coming = None

    def _observed(self) -> _Array:
        names = self._asked.names(self._names)
        shape = self._asked.subflows.shape
        columns = [np.broadcast_to(_value(each, names), shape) for each in self._observation]
        observed: _Array = np.stack(columns, axis=-1).clip(-_MOST, _MOST).astype(np.float32)
        return observed

    def _rewarded(self) -> _Array:
        value = np.asarray(_value(self._reward, self._asked.names(self._reward.names)), np.float64)
        # of a formula over subflows, the sum of the paths
        whole = np.broadcast_to(value, (self.num_envs, *value.shape[1:]))
        summed: _Array = whole.reshape(self.num_envs, -1).sum(axis=1)
        return summed


class Env(gymnasium.Env[_Array, np.int64]):
    """One environment, with the arguments of `VectorEnv`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, wanted: Request | Sequence[Request], **how: Any) -> None:
        self._all = VectorEnv(wanted, 1, **how)
        self.observation_space = self._all.single_observation_space
        self.action_space = self._all.single_action_space

    def reset(
        self, *, seed: int | None = None, options: _Info | None = None
    ) -> tuple[_Array, _Info]:
        super().reset(seed=seed, options=options)
        observed, _ = self._all.reset(seed=seed)
        return observed[0], {}

    def step(self, action: np.int64) -> tuple[_Array, float, bool, bool, _Info]:
        observed, reward, ended, _, infos = self._all.step(np.array([action]))
        about = {"metrics": infos["metrics"][0]} if infos else {}
        return observed[0], float(reward[0]), bool(ended[0]), False, about

    def close(self) -> None:
        self._all.close()


def _formula(key: str, text: str) -> Formula:
    try:
        return Formula(text)
    except FormulaError as error:
        raise InputError([Problem("gym", key, text, str(error))]) from None


def _value(formula: Formula, names: Mapping[str, Any]) -> Any:
    try:
        return formula.value(names, _FUNCTIONS)
    except FormulaError as error:
        raise InputError([Problem("gym", "", formula.text, str(error))]) from None


def _subflow_of(answer: Answer) -> int:
    """The id of the subflow that an answer names; 0: none."""
    return int.from_bytes(answer[4:8], "little")
