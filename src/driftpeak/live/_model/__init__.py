"""The drifting Gaussian process: posterior, likelihoods, hyperparameters, outliers."""
