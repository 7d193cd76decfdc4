"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from ._cluster import cluster_workers as cluster_workers, taken as taken
from ._compatibility import MADE_WITH as MADE_WITH, likeness as likeness, versions as versions
from ._dispatch import spread as spread
from ._local import local_workers as local_workers
