"""Code that runs experiments, judges their claims and writes reports."""
