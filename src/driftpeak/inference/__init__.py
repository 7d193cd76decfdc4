"""Posteriors, interacting multiple models, hyperparameter fitting, information gain."""
