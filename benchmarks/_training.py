"""Training tasks of seconds: an optimum of the hyperparameters that is constant, moves, or decays.

A task trains a state for one interval with a setting, and returns its metric, which is maximised.
"""

from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.datasets import load_digits

State = dict[str, np.ndarray]
Ranges = dict[str, tuple[float, float, bool]]
"""Lowest and highest value of each hyperparameter, and whether its scale is logarithmic."""
Choices = dict[str, tuple[str, ...]]
"""The values of each category."""


class Task(Protocol):
    """A task: its hyperparameters, number of intervals, and training."""

    ranges: ClassVar[Ranges]
    choices: ClassVar[Choices]
    intervals: ClassVar[int]

    def start(self, random: np.random.Generator) -> State: ...
    def train(
        self, state: State, setting: dict[str, Any], step: int, random: np.random.Generator
    ) -> State: ...
    def metric(self, state: State) -> float: ...


class Constant:
    """Progress per interval with a constant optimum at (0.7, 0.3), and noise 0.1."""

    ranges: ClassVar[Ranges] = {"a": (0.0, 1.0, False), "b": (0.0, 1.0, False)}
    choices: ClassVar[Choices] = {}
    intervals: ClassVar[int] = 20

    def start(self, random: np.random.Generator) -> State:
        return {"progress": np.zeros(())}

    def optimum(self, step: int) -> tuple[float, float]:
        return 0.7, 0.3

    def train(
        self, state: State, setting: dict[str, Any], step: int, random: np.random.Generator
    ) -> State:
        a, b = self.optimum(step)
        distance = (setting["a"] - a) ** 2 + (setting["b"] - b) ** 2
        return {"progress": state["progress"] + 1 - 4 * distance + 0.1 * random.normal()}

    def metric(self, state: State) -> float:
        return float(state["progress"])


class Moving(Constant):
    """Progress per interval with an optimum that moves from (0.15, 0.8) to (0.85, 0.2)."""

    def optimum(self, step: int) -> tuple[float, float]:
        share = step / self.intervals
        return 0.15 + 0.7 * share, 0.8 - 0.6 * share


class Changing:
    """Progress per interval of five kinds, each with its own moving optimum, and noise 0.1.

    The best kind changes from "b" to "d" after half of the intervals. The others have 0.6 less.
    """

    ranges: ClassVar[Ranges] = {"a": (0.0, 1.0, False)}
    choices: ClassVar[Choices] = {"kind": ("a", "b", "c", "d", "e")}
    intervals: ClassVar[int] = 40

    def start(self, random: np.random.Generator) -> State:
        return {"progress": np.zeros(())}

    def train(
        self, state: State, setting: dict[str, Any], step: int, random: np.random.Generator
    ) -> State:
        share = step / self.intervals
        best, number = "b" if share < 0.5 else "d", self.choices["kind"].index(setting["kind"])
        optimum = 0.05 + 0.15 * number + 0.3 * share
        gain = 1 - 0.6 * (setting["kind"] != best) - 4 * (setting["a"] - optimum) ** 2
        return {"progress": state["progress"] + gain + 0.1 * random.normal()}

    def metric(self, state: State) -> float:
        return float(state["progress"])


class Quadratic:
    """Stochastic gradient descent on a quadratic function: the best step size decreases.

    The gradient has noise 0.3. Far from the minimum large steps are best; near it they are limited
    by the noise. The metric is minus the logarithm of the loss.
    """

    ranges: ClassVar[Ranges] = {"rate": (1e-3, 1.0, True), "momentum": (0.0, 0.95, False)}
    choices: ClassVar[Choices] = {}
    intervals: ClassVar[int] = 20
    curvature = np.logspace(-1.5, 0, 20)

    def start(self, random: np.random.Generator) -> State:
        return {"weights": 3 * random.normal(size=20), "velocity": np.zeros(20)}

    def train(
        self, state: State, setting: dict[str, Any], step: int, random: np.random.Generator
    ) -> State:
        weights, velocity = state["weights"], state["velocity"]
        for _ in range(10):
            gradient = self.curvature * weights + 0.3 * random.normal(size=20)
            velocity = setting["momentum"] * velocity - setting["rate"] * gradient
            weights = np.clip(weights + velocity, -100, 100)
        return {"weights": weights, "velocity": velocity}

    def metric(self, state: State) -> float:
        return -float(np.log(self.curvature @ state["weights"] ** 2 / 2 + 1e-4))


class Digits:
    """A network with 32 hidden units on scikit-learn's digits, trained for 20 batches an interval.

    The metric is minus the logarithm of the validation loss.
    """

    ranges: ClassVar[Ranges] = {
        "rate": (1e-3, 3.0, True), "decay": (1e-6, 0.1, True), "dropout": (0.0, 0.8, False),
    }  # fmt: skip
    choices: ClassVar[Choices] = {}
    intervals: ClassVar[int] = 20

    def __init__(self) -> None:
        images, labels = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(images))
        images, labels = images[order] / 16, labels[order]
        self.images, self.labels = images[:1200], np.eye(10)[labels[:1200]]
        self.held_out, self.answers = images[1200:], labels[1200:]

    def start(self, random: np.random.Generator) -> State:
        return {
            "first": 0.1 * random.normal(size=(64, 32)), "offset": np.zeros(32),
            "second": 0.1 * random.normal(size=(32, 10)), "bias": np.zeros(10),
        }  # fmt: skip

    def train(
        self, state: State, setting: dict[str, Any], step: int, random: np.random.Generator
    ) -> State:
        state = dict(state)
        for _ in range(20):
            batch = random.integers(0, len(self.images), 32)
            inputs, kept = self.images[batch], 1 - setting["dropout"]
            mask = (random.random((32, 32)) < kept) / kept
            hidden = np.maximum(inputs @ state["first"] + state["offset"], 0) * mask
            error = (_softmax(hidden @ state["second"] + state["bias"]) - self.labels[batch]) / 32
            back = (error @ state["second"].T) * mask * (hidden > 0)
            gradients = {
                "first": inputs.T @ back + setting["decay"] * state["first"],
                "offset": back.sum(axis=0),
                "second": hidden.T @ error + setting["decay"] * state["second"],
                "bias": error.sum(axis=0),
            }
            for name, gradient in gradients.items():
                step = setting["rate"] * self.direction(state, setting, name, gradient)
                state[name] = np.clip(state[name] - step, -50, 50)
        return state

    def direction(
        self, state: State, setting: dict[str, Any], name: str, gradient: np.ndarray
    ) -> np.ndarray:
        return gradient

    def metric(self, state: State) -> float:
        hidden = np.maximum(self.held_out @ state["first"] + state["offset"], 0)
        chances = _softmax(hidden @ state["second"] + state["bias"])
        loss = -np.log(np.maximum(chances[np.arange(len(self.answers)), self.answers], 1e-20))
        return -float(np.log(loss.mean()))


class Optimizers(Digits):
    """The network of `Digits` with three optimisers: all keep their averages of the gradient."""

    ranges: ClassVar[Ranges] = Digits.ranges | {"rate": (1e-4, 3.0, True)}
    choices: ClassVar[Choices] = {"optimizer": ("sgd", "momentum", "adam")}

    def direction(
        self, state: State, setting: dict[str, Any], name: str, gradient: np.ndarray
    ) -> np.ndarray:
        zero = np.zeros(gradient.shape)
        mean = 0.9 * state.get(f"mean of {name}", zero) + 0.1 * gradient
        square = 0.99 * state.get(f"square of {name}", zero) + 0.01 * gradient**2
        state[f"mean of {name}"], state[f"square of {name}"] = mean, square
        if setting["optimizer"] == "sgd":
            return gradient
        return 10 * mean if setting["optimizer"] == "momentum" else mean / (square**0.5 + 1e-6)


def _softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


TASKS: dict[str, type[Task]] = {
    "constant optimum": Constant,
    "moving optimum": Moving,
    "noisy quadratic": Quadratic,
    "digits": Digits,
    "changing category": Changing,
    "digits, optimiser": Optimizers,
}
