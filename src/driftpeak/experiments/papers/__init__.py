"""The papers' figures as experiments, one file per paper and kind of data."""
