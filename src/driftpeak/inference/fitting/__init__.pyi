"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from .cross_validation import Choice as Choice, cross_validate as cross_validate
from .maximum_likelihood import (
    Estimate as Estimate,
    Fit as Fit,
    fit as fit,
    log_marginal_likelihood as log_marginal_likelihood,
)
from .observations import Observations as Observations
