"""The public names. `__init__.py` reads them here, and loads each when it is first used."""

from ._evaluation import Alternative as Alternative
from ._learn import learn_from_log as learn_from_log
from ._log import ChoiceLog as ChoiceLog
from ._plots import log_figure as log_figure
from ._read import read_log as read_log
from ._report import Curve as Curve, LogReport as LogReport, Recommendation as Recommendation
