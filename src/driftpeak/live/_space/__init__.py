"""The search space: parameters, constraints, encoding, movement limits."""
