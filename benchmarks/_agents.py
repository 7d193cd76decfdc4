"""Policy-gradient agents on two control tasks of gymnasium: `pip install 'gymnasium[jax]'`.

The agent is proximal policy optimisation (Schulman and others 2017) with 16 environments. Policy
and value are networks with 32 hidden units. An interval has four updates; each collects 64 steps
per environment and takes four steps of Adam. The metric is the mean return of 16 episodes.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.envs.phys2d.cartpole import CartPoleFunctional
from gymnasium.envs.phys2d.pendulum import PendulumFunctional

from benchmarks._training import Choices, Ranges, State

ENVIRONMENTS, STEPS, UPDATES, EPOCHS, HIDDEN = 16, 64, 4, 4, 32
SCALE = 0.1
"""Factor of the rewards, so that values have the size of one."""


class CartPole:
    """Balance a pole on a cart for 500 steps: `CartPole-v1`."""

    ranges: ClassVar[Ranges] = {
        "rate": (1e-5, 1e-1, True), "clip": (0.02, 0.8, True), "trace": (0.5, 1.0, False),
    }  # fmt: skip
    choices: ClassVar[Choices] = {}
    intervals: ClassVar[int] = 20
    length: ClassVar[int] = 500
    discount: ClassVar[float] = 0.99
    world: Any = CartPoleFunctional()
    outputs: ClassVar[int] = 2

    def __init__(self) -> None:
        self._train = jax.jit(self.interval)
        self._metric = jax.jit(self.evaluate)

    def start(self, random: np.random.Generator) -> State:
        inputs, outputs = self.world.observation_space.shape[0], self.outputs
        shapes = {
            "p1": (inputs, HIDDEN), "p2": (HIDDEN, outputs),
            "v1": (inputs, HIDDEN), "v2": (HIDDEN, 1),
        }  # fmt: skip
        state: State = {"deviation": np.zeros(1), "age": np.zeros(ENVIRONMENTS)}
        for name, shape in shapes.items():
            small = 0.01 if name == "p2" else shape[0] ** -0.5
            state[name] = small * random.normal(size=shape)
            state["b" + name] = np.zeros(shape[1])
        weights = [name for name in state if name != "age"]
        for name in weights:
            state["first " + name] = state["second " + name] = np.zeros_like(state[name])
        state = {name: np.float32(value) for name, value in state.items()}
        keys = jax.random.split(_key(random), ENVIRONMENTS)
        state["world"] = np.asarray(jax.vmap(self.world.initial)(keys))
        state["count"] = np.float32(0)
        return state | {"metric": np.asarray(self._metric(state, _key(random)))}

    def train(
        self, state: State, setting: dict[str, Any], step: int, random: np.random.Generator
    ) -> State:
        numbers = {name: np.float32(value) for name, value in setting.items()}
        state = {name: value for name, value in state.items() if name != "metric"}
        state = self._train(state, numbers, _key(random))
        return state | {"metric": self._metric(state, _key(random))}

    def metric(self, state: State) -> float:
        return float(state["metric"])

    # the policy

    def sample(self, output: Any, weights: Any, key: Any) -> Any:
        return jax.random.categorical(key, output)

    def log_density(self, output: Any, weights: Any, action: Any) -> Any:
        return jax.nn.log_softmax(output)[action]

    # training

    def interval(self, state: Any, setting: Any, key: Any) -> Any:
        """Train for some updates."""

        def update(state: Any, key: Any) -> tuple[Any, None]:
            weights = {name: state[name] for name in _weights(state)}
            place = state["world"], state["age"]
            keys = jax.random.split(key, STEPS)
            (world, age), seen = jax.lax.scan(partial(self.act, weights), place, keys)
            value = jax.vmap(lambda w: _value(weights, self.world.observation(w, None)))(world)
            targets = self.targets(seen, value, setting["trace"])
            for _ in range(EPOCHS):
                slope = jax.grad(self.loss)(weights, seen, targets, setting["clip"])
                state = _adam(state, slope, setting["rate"])
                weights = {name: state[name] for name in weights}
            return state | {"world": world, "age": age}, None

        return jax.lax.scan(update, state, jax.random.split(key, UPDATES))[0]

    def act(self, weights: Any, place: Any, key: Any) -> Any:
        """Take one step in each environment, and restart those that ended."""

        def one(world: Any, age: Any, key: Any) -> Any:
            keys = jax.random.split(key)
            sees = self.world.observation(world, None)
            output = _policy(weights, sees)
            action = self.sample(output, weights, keys[0])
            after = self.world.transition(world, action)
            reward = SCALE * self.world.reward(world, action, after, None)
            failed = jnp.asarray(self.world.terminal(after, None))
            age = age + 1
            over = failed | (age >= self.length)
            later = _value(weights, self.world.observation(after, None))
            seen = {
                "sees": sees, "action": action, "reward": reward, "over": over,
                "density": self.log_density(output, weights, action),
                "value": _value(weights, sees),
                # a time limit does not end the future: its value is part of the reward
                "limit": jnp.where(over & ~failed, later, 0.0),
            }  # fmt: skip
            world = jnp.where(over, self.world.initial(keys[1]), after)
            return (world, jnp.where(over, 0.0, age)), seen

        world, age = place
        return jax.vmap(one)(world, age, jax.random.split(key, ENVIRONMENTS))

    def targets(self, seen: Any, last: Any, trace: Any) -> Any:
        """Return generalised advantages (Schulman and others 2016) and returns."""

        def back(carry: Any, now: Any) -> Any:
            after, ahead = carry
            goes_on = self.discount * (1.0 - now["over"])
            error = now["reward"] + self.discount * now["limit"] + goes_on * after - now["value"]
            advantage = error + goes_on * trace * ahead
            return (now["value"], advantage), advantage

        start = last, jnp.zeros_like(last)
        advantage = jax.lax.scan(back, start, seen, reverse=True)[1]
        returns = advantage + seen["value"]
        return (advantage - advantage.mean()) / (advantage.std() + 1e-6), returns

    def loss(self, weights: Any, seen: Any, targets: Any, clip: Any) -> Any:
        """Compute the clipped objective and the squared error of the value."""
        advantage, returns = targets

        def density(sees: Any, action: Any) -> Any:
            return self.log_density(_policy(weights, sees), weights, action)

        ratio = jnp.exp(jax.vmap(jax.vmap(density))(seen["sees"], seen["action"]) - seen["density"])
        least = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)
        value = jax.vmap(jax.vmap(partial(_value, weights)))(seen["sees"])
        return -least.mean() + 0.5 * ((value - returns) ** 2).mean()

    def evaluate(self, state: Any, key: Any) -> Any:
        """Compute the mean return of an episode in each environment."""
        weights = {name: state[name] for name in _weights(state)}
        keys = jax.random.split(key, self.length + 1)
        world = jax.vmap(self.world.initial)(jax.random.split(keys[0], ENVIRONMENTS))

        def step(carry: Any, key: Any) -> Any:
            (world, age), alive, total = carry
            place, seen = self.act(weights, (world, age), key)
            total = total + alive * seen["reward"] / SCALE
            return (place, alive * (1.0 - seen["over"]), total), None

        ones = jnp.ones(ENVIRONMENTS)
        start = (world, 0 * ones), ones, 0 * ones
        return jax.lax.scan(step, start, keys[1:])[0][2].mean()


class Pendulum(CartPole):
    """Swing up a pendulum in 200 steps: `Pendulum-v1`."""

    length: ClassVar[int] = 200
    discount: ClassVar[float] = 0.95
    world: Any = PendulumFunctional()
    outputs: ClassVar[int] = 1

    def sample(self, output: Any, weights: Any, key: Any) -> Any:
        return output + jnp.exp(weights["deviation"]) * jax.random.normal(key, output.shape)

    def log_density(self, output: Any, weights: Any, action: Any) -> Any:
        deviation = weights["deviation"]
        distance = (action - output) / jnp.exp(deviation)
        return -(0.5 * distance**2 + deviation).sum()


def _weights(state: Any) -> list[str]:
    return [name.removeprefix("first ") for name in state if name.startswith("first ")]


def _policy(weights: Any, sees: Any) -> Any:
    return jnp.tanh(sees @ weights["p1"] + weights["bp1"]) @ weights["p2"] + weights["bp2"]


def _value(weights: Any, sees: Any) -> Any:
    return (jnp.tanh(sees @ weights["v1"] + weights["bv1"]) @ weights["v2"] + weights["bv2"])[0]


def _adam(state: Any, slope: Any, rate: Any) -> Any:
    """Take one step of Adam (Kingma and Ba 2015)."""
    state = dict(state)
    state["count"] = state["count"] + 1
    for name, part in slope.items():
        first = 0.9 * state["first " + name] + 0.1 * part
        second = 0.999 * state["second " + name] + 0.001 * part**2
        step = first / (1 - 0.9 ** state["count"])
        step = step / (jnp.sqrt(second / (1 - 0.999 ** state["count"])) + 1e-8)
        state[name] = jnp.clip(state[name] - rate * step, -50, 50)
        state["first " + name], state["second " + name] = first, second
    return state


def _key(random: np.random.Generator) -> Any:
    return jax.random.key(int(random.integers(2**31)))


AGENTS: dict[str, Callable[[], Any]] = {"cart pole": CartPole, "pendulum": Pendulum}
