"""Fleets: thousands of drifting optimisers of one space, advanced in batches."""

from driftpeak.fleet._fleet import Fleet
from driftpeak.fleet._log import verify
from driftpeak.fleet._population import Population
from driftpeak.fleet._sharded import ShardedFleet
from driftpeak.fleet._suggestions import Suggestions

__all__ = ["Fleet", "Population", "ShardedFleet", "Suggestions", "verify"]
