"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from ._comparison import Compared as Compared, Verdict as Verdict, verdict as verdict
from ._folder import read_runs as read_runs
from ._frame import to_dataframe as to_dataframe
from ._plots import ranking_figure as ranking_figure, regret_figure as regret_figure
from ._results import PolicyResult as PolicyResult, summarise as summarise
from ._simulator import simulate as simulate, true_functions as true_functions
from ._table import RegretTable as RegretTable, table as table
