"""Throughput of two service processes on one PostgreSQL database, relative to one process.

`DRIFTPEAK_POSTGRESQL` holds the address of a PostgreSQL server, with a database and a user who may
create others. There are twenty studies of four parameters with 100 to 195 rewards each. A hundred
clients ask and tell as fast as they are answered, as in `service`: from one process, from two
processes, each for half of the studies, as behind a proxy, and from one again, each time with new
studies in a new database. Each service process has one core, which it shares with the clients and
the server. The ratio is to the mean of the two runs with one process.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import sqlalchemy as sa

from benchmarks.service import prepare_all, served, together, warm_up

ADDRESS = "DRIFTPEAK_POSTGRESQL"
DATABASE = "driftpeak_benchmark"
TARGETS = {"two processes / one": ">= 1.7"}


def run() -> dict[str, Any]:
    """Return rounds per second and the ratio, or a note without a server."""
    address = os.environ.get(ADDRESS)
    if address is None:
        return {"skipped": f"set {ADDRESS} to the address of a PostgreSQL server"}
    rates = []
    for count in (1, 2, 1):
        with new_database(address) as storage, ExitStack() as stack:
            prepare_all(storage)
            urls = [stack.enter_context(served(storage, core=number)) for number in range(count)]
            warm_up(urls)
            rates.append(together(urls)[0])
    one = (rates[0] + rates[2]) / 2
    return {
        "one process: ask + tell (1/s)": one,
        "two processes: ask + tell (1/s)": rates[1],
        "two processes / one": rates[1] / one,
    }


@contextmanager
def new_database(address: str) -> Iterator[str]:
    """Create a database, return its address, and delete it in the end."""
    url = sa.make_url(address)
    driver = url.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(driver, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {DATABASE}"))
        try:
            yield url.set(database=DATABASE).render_as_string(hide_password=False)
        finally:
            connection.execute(sa.text(f"DROP DATABASE {DATABASE} WITH (FORCE)"))
    engine.dispose()
