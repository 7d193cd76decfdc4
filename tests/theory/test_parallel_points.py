"""Deviations of points that are chosen in parallel, with the dense covariance of B16 (22).

For a static function, the first point of a step is at most as uncertain as all points of the step
before, if those have the largest deviations. Bounds for parallel points use this to divide the
information by their number. Under drift it does not hold.
"""

import numpy as np
import pytest

POINTS = np.linspace(0, 1, 30)
STEPS, BATCH, NOISE = 40, 4, 0.1


def variances(drift: float) -> np.ndarray:
    """Return the variance of each chosen point when it is chosen, shape (steps, batch)."""

    def covariance(x: np.ndarray, s: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
        space = np.exp(-((x[:, None] - y[None, :]) ** 2) / (2 * 0.2**2))
        return space * (1 - drift) ** (np.abs(s[:, None] - t[None, :]) / 2)

    chosen, times = np.zeros(0), np.zeros(0)
    found = np.zeros((STEPS, BATCH))
    for step in range(STEPS):
        now = np.full(len(POINTS), float(step))
        for number in range(BATCH):
            among = covariance(chosen, times, chosen, times) + NOISE * np.eye(len(chosen))
            across = covariance(chosen, times, POINTS, now)
            variance = 1 - np.sum(across * np.linalg.solve(among, across), axis=0)
            best = int(variance.argmax())
            found[step, number] = variance[best]
            chosen, times = np.append(chosen, POINTS[best]), np.append(times, step)
    return found


def test_static_variances_of_first_points_are_at_most_the_mean_of_all() -> None:
    found = variances(0.0)
    assert (found[1:, 0] <= found[:-1, -1] + 1e-9).all()
    assert found[1:, 0].sum() <= found.mean(axis=1).sum()


@pytest.mark.parametrize("drift", [0.02, 0.1])
def test_drift_makes_first_points_more_uncertain_than_the_points_before(drift: float) -> None:
    found = variances(drift)
    late = found[10:]
    assert (late[1:, 0] > late[:-1, -1]).all()
    assert late[:, 0].sum() > late.mean(axis=1).sum()


@pytest.mark.parametrize("drift", [0.02, 0.1])
def test_drift_adds_at_most_its_rate(drift: float) -> None:
    found = variances(drift)
    assert (found[1:, 0] <= (1 - drift) * found[:-1, -1] + drift + 1e-9).all()
