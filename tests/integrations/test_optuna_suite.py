"""Optuna's own public tests of samplers."""

import optuna
import pytest
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from driftpeak.integrations.optuna import DriftSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.long
class TestDriftSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: DriftSampler(seed=0, warn_independent_sampling=False)
