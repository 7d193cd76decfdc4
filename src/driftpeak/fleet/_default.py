"""The default policy of a fleet: `Auto` with a prior whose scale and noise it estimates."""

import numpy as np

from driftpeak.gp.domains import Domain
from driftpeak.gp.kernels import SE, Kernel, Table
from driftpeak.gp.priors import Prior
from driftpeak.policies import Auto, Policy

LENGTHSCALE = 0.2
"""Default lengthscale, as a share of the range of each coordinate."""
NOISE = 0.1
"""Noise variance as a share of the function's; `Auto` estimates both."""


def default_policy(space: Domain) -> Policy:
    """Return `Auto` with an SE kernel; arms without coordinates are independent."""
    return Auto(Prior(space, _kernel(space), NOISE))


def _kernel(space: Domain) -> Kernel:
    if not space.has_coordinates:
        return Table(np.eye(len(space)))
    spans = np.ptp(space.points, axis=0)
    return SE(lengthscale=LENGTHSCALE * np.where(spans > 0, spans, 1.0))
