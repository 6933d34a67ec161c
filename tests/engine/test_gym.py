# SPDX-License-Identifier: GPL-2.0-only
"""The Gymnasium environment: Gymnasium's own checks, determinism, and what steps mean."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from mptcplab import agent, gym
from mptcplab.errors import InputError
from mptcplab.scenario.resolve import Request
from tests.vocabulary import request_of

PATHS = ("a:20mbit,10ms", "b:10mbit,40ms")
Steps = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]

pytestmark = pytest.mark.usefixtures("builds")


def wanted(scheduler: str = "agent:every_us=10000", duration: str = "300ms") -> Request:
    return request_of(*PATHS, scheduler=scheduler, duration=duration)


def played(places: int, count: int, seed: int = 1, **how: Any) -> Steps:
    """What a random agent sees and gets."""
    with_seed = np.random.default_rng(seed)
    env = gym.VectorEnv(wanted(**how), places)
    observed = [env.reset(seed=seed)[0]]
    rewards, ended = [], []
    for _ in range(count):
        row, reward, end, truncated, _ = env.step(with_seed.integers(0, 3, places))
        observed.append(row)
        rewards.append(reward)
        ended.append(end)
        assert not truncated.any()
    env.close()
    return np.array(observed), np.array(rewards), np.array(ended)


def test_gymnasium_has_nothing_to_say() -> None:
    env = gym.Env(wanted())
    with warnings.catch_warnings(action="error"):
        check_env(env, skip_render_check=True)
    env.close()


def test_the_same_seed_is_the_same_episode() -> None:
    # with one place and with several, over two episodes
    first, again = played(2, 100), played(2, 100)
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one, other)
    assert first[2].any()
    others = played(2, 100, seed=2)
    assert not np.array_equal(first[0], others[0])
    # places have seeds of their own
    assert not np.array_equal(first[0][:, 0], first[0][:, 1])


def test_steps_are_questions_and_rewards_are_formulas() -> None:
    env = gym.VectorEnv(
        wanted(),
        1,
        observation=("id", "available"),
        reward="(connection.time_ns - before.time_ns) / 1e6",
        final_reward="goodput_bps",
        actions=[agent.delegate("minrtt"), agent.WAIT],
    )
    assert env.single_action_space == gymnasium.spaces.Discrete(2)
    observed, _ = env.reset(seed=3)
    assert observed.shape == (1, 2, 2)
    rewards: list[float] = []
    ended = np.array([False])
    infos: dict[str, Any] = {}
    while not ended[0]:
        observed, reward, ended, _, infos = env.step(np.array([0]))
        rewards.append(float(reward[0]))
    # while there is data, 10 ms pass in each step
    assert set(rewards[10:25]) == {10.0}
    assert observed[0, :, 0].tolist() == [1, 2]
    # the last step has no question: nothing has passed
    metrics = infos["metrics"][0]
    assert rewards[-1] == metrics["goodput_bps"]
    # the next step begins another run, without a reward
    _, reward, ended, _, infos = env.step(np.array([0]))
    assert (reward[0], ended[0], infos) == (0, False, {})
    env.close()


def test_a_table_agent_at_each_decision_is_minrtt() -> None:
    # it sends on the path with the lower round-trip time that is available
    env = gym.VectorEnv(
        wanted("agent", "500ms"),
        1,
        observation=("srtt_us / 1e6 + 1000 * (1 - available)",),
        final_reward="goodput_bps",
    )
    observed, _ = env.reset(seed=1)
    ended = np.array([False])
    while not ended[0]:
        observed, reward, ended, _, _ = env.step(observed[:, :, 0].argmin(axis=1))
    ours = reward[0] - 0
    env.close()
    same = gym.VectorEnv(
        wanted("agent:events=on", "500ms"),
        1,
        final_reward="goodput_bps",
        reward="0 * connection.una_seq",
        actions=[agent.delegate("minrtt")],
    )
    same.reset(seed=1)
    ended = np.array([False])
    while not ended[0]:
        _, reward, ended, _, _ = same.step(np.array([0]))
    same.close()
    assert ours == reward[0]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"reward": "1 +"}, "reward = 1 +: not a formula"),
        ({"observation": ("cwnd",)}, "unknown name cwnd"),
        ({"reward": "connection.nothing"}, "connection.nothing: unknown"),
        ({"scheduler": "ecf"}, "nobody asks an agent"),
    ],
)
def test_mistakes(how: dict[str, Any], message: str) -> None:
    scheduler = how.pop("scheduler", "agent")
    with pytest.raises(InputError) as raised:
        gym.VectorEnv(wanted(scheduler), 1, **how)
    assert message in str(raised.value)
