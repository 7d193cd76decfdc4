"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from ._arms import arms_over_time as arms_over_time
from ._following import Following as Following, following as following
from ._play import replay as replay
from ._plots import follow_figure as follow_figure
from ._prior import Mean as Mean, prior_from_history as prior_from_history
from ._recommendation import (
    Advice as Advice,
    Expected as Expected,
    advise as advise,
    chosen_policy as chosen_policy,
)
from ._stored import policy_for_live as policy_for_live
