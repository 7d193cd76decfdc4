"""Population based training with hyperparameters that a drifting Gaussian process chooses."""

from driftpeak.population._bandit import Exploit, PopulationBasedBandit

__all__ = ["Exploit", "PopulationBasedBandit"]
