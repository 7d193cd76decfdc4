"""bayesian-optimization 3 with its defaults, UCB with kappa 2.576, without time."""

from collections.abc import Sequence

from bayes_opt import BayesianOptimization

PACKAGES = ("bayesian-optimization",)


class Rival:
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        self._names = [f"x{j}" for j in range(dimension)]
        self._optimizer = BayesianOptimization(
            f=None,
            pbounds=dict.fromkeys(self._names, (0.0, 1.0)),
            random_state=seed,
            verbose=0,
            allow_duplicate_points=True,
        )

    def ask(self, time: float) -> Sequence[float]:
        point = self._optimizer.suggest()
        return [float(point[name]) for name in self._names]

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        self._optimizer.register(params=dict(zip(self._names, point, strict=True)), target=reward)
