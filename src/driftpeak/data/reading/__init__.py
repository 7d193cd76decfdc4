"""How a file becomes a table of rewards, step by step; `driftpeak.data.read_table` joins them."""
