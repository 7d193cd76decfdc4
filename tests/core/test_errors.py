"""Errors have one class per case that programs catch, with a stable code and an exit code."""

import pickle

import driftpeak as dp
from driftpeak._core import errors

CLASSES = [
    one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, dp.DriftpeakError)
]


def test_codes_and_exit_codes_are_unique():
    assert len({one.code for one in CLASSES}) == len(CLASSES)
    assert len({one.exit_code for one in CLASSES}) == len(CLASSES)
    assert dp.DriftpeakError.exit_code == 2  # as for a wrong option


def test_every_error_class_is_public():
    assert {one.__name__ for one in CLASSES} <= set(dp.__all__)


def test_errors_survive_a_process_boundary():
    for one in CLASSES:
        assert type(pickle.loads(pickle.dumps(one("words")))) is one
