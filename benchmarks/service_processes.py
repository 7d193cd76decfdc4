"""Throughput of two service processes on one PostgreSQL database, relative to one process.

`DRIFTPEAK_POSTGRESQL` holds the address of an empty database. There are twenty studies of four
parameters with 100 to 195 rewards each. A hundred clients ask and tell as fast as they are
answered, as in `service`: from one process, from two processes, each for half of the studies, as
behind a proxy, and from one again. Each service process computes with one thread. The ratio is to
the mean of the two runs with one process.

The clients run on the same cores and take a part of their time, which is reported: without it, two
processes could double the throughput of two cores at most.
"""

import os
import resource
from contextlib import ExitStack
from typing import Any

from benchmarks.service import prepare_all, served, together, warm_up

ADDRESS = "DRIFTPEAK_POSTGRESQL"
TARGETS = {"two processes / one": ">= 1.7"}


def run() -> dict[str, Any]:
    """Return rounds per second and the ratio, or a note without a database."""
    address = os.environ.get(ADDRESS)
    if address is None:
        return {"skipped": f"set {ADDRESS} to the address of an empty PostgreSQL database"}
    prepare_all(lambda _: address)
    rates, shares = [], []
    for count in (1, 2, 1):
        with ExitStack() as stack:
            urls = [stack.enter_context(served(address, NPROC="1")) for _ in range(count)]
            warm_up(urls)
            before = resource.getrusage(resource.RUSAGE_SELF)
            rate, spent = together(urls)
            after = resource.getrusage(resource.RUSAGE_SELF)
            own = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            rates.append(rate)
            shares.append(own / (len(spent) / 2))
    one = (rates[0] + rates[2]) / 2
    return {
        "one process: ask + tell (1/s)": one,
        "two processes: ask + tell (1/s)": rates[1],
        "two processes / one": rates[1] / one,
        "processor time of the clients for a pair (ms)": 1e3 * sum(shares) / len(shares),
    }
