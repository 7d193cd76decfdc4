"""Checks of what the command line answers."""

import re

import driftpeak as dp
from driftpeak._core import errors

EXIT_CODES = {
    one.exit_code
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, dp.DriftpeakError)
}


def refused(result, *fragments):
    """An error's exit code and one line on the error output that contains every fragment."""
    code, out, err = result
    assert (code in EXIT_CODES, out) == (True, ""), result
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    for fragment in fragments:
        assert re.search(fragment, err), (fragment, err)
    return True
