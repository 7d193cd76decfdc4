"""Steps that turn a file into a table of rewards, for `driftpeak.offline.data.read_table`."""
