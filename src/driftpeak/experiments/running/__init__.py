"""What plays experiments, judges their claims and reports."""
