"""A PostgreSQL server for tests: a temporary cluster behind a socket in a folder of its own."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEEDED = "DRIFTPEAK_NEEDS_POSTGRESQL"  # in the environment: not to have a server is a failure


def find_program(name: str) -> Path | None:
    """A program of the server: Debian keeps them out of the PATH."""
    places = [shutil.which(name), *Path("/usr/lib/postgresql").glob(f"*/bin/{name}")]
    return next((Path(place) for place in reversed(places) if place), None)


@contextmanager
def server() -> Iterator[str]:
    """Run a server, and give its address for SQLAlchemy."""
    folder = Path(tempfile.mkdtemp(prefix="driftpeak-pg-", dir="/tmp"))  # a socket's path is short
    user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    shutil.chown(folder, user)

    def run(program: str, *words: str) -> None:
        # the server refuses to be run by root
        command = ["runuser", "-u", user, "--"] if os.geteuid() == 0 else []
        command += [str(find_program(program)), "-D", str(folder / "data"), *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        run("initdb", "--auth=trust", "--username=tester", "--encoding=UTF8", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
        run("pg_ctl", "start", "-w", "-l", str(folder / "log"), "-o", options)
        try:
            yield f"postgresql://tester@/postgres?host={folder}"
        finally:
            run("pg_ctl", "stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
