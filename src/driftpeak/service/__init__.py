"""A port to talk to live studies: what `driftpeak serve` runs. It needs the extra `serve`."""
