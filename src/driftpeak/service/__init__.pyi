"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from ._app import make_app as make_app
from ._limits import Limits as Limits
from ._study_directory import Place as Place, open_place as open_place
from .client import Client as Client
