"""The HTTP service of live studies, run by `driftpeak serve`. It needs the extra `serve`."""
