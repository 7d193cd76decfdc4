"""`driftpeak follow`: output, figure, and errors in the words of the command line."""

import json
import re

import numpy as np
import pytest
from commands import refused
from PIL import Image

from driftpeak.cli.follow import in_options


@pytest.fixture
def log(tmp_path):
    """40 days of two prices, drawn uniformly; the higher one yields more."""
    random = np.random.default_rng(3)
    prices = random.integers(2, size=40)
    days = np.datetime64("2026-02-01") + np.arange(40) * np.timedelta64(1, "D")
    lines = [
        f"{day},{10 + 5 * price},{20 + 3 * price + noise:.3f}\n"
        for day, price, noise in zip(days, prices, random.normal(size=40), strict=True)
    ]
    path = tmp_path / "log.csv"
    path.write_text("when,price,revenue\n" + "".join(lines))
    return path


COLUMNS = ("--choice", "price", "--reward", "revenue", "--time", "when")


@pytest.mark.slow
def test_text_json_and_figure(run, log, tmp_path):
    picture = tmp_path / "log.png"
    code, out, err = run("follow", log, *COLUMNS, "--plot", picture, "--unit", "EUR")
    assert code == 0, err
    assert "Recommended now, 2026-03-12: price 15, with mean revenue 2" in out
    assert re.search(r"always 15 .* better", out)
    assert f"Written to {picture}." in err
    with Image.open(picture) as image:
        assert min(image.size) > 300
        assert len(set(image.convert("L").resize((64, 64)).tobytes())) > 10  # not blank
    code, out, err = run("follow", log, *COLUMNS, "--json", "--minimize")
    data = json.loads(out)
    assert (data["command"], data["now"]["choice"], data["minimize"]) == ("follow", 10.0, True)
    names = [one["name"] for one in data["alternatives"]]
    assert names.index("always 10") < names.index("always 15")  # the lowest first
    code, out, err = run("follow", log, *COLUMNS, "--no-randomised")
    assert "cannot be estimated from this log" in out
    assert "name its column with --propensity" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (("--choice", "prcie"), "--choice must name a column .* Did you mean 'price'"),
        (("--propensity", "price"), "--propensity must name another column than choice"),
        (("--propensity", "revenue"), "--propensity must name another column than reward"),
        (("--context", "day"), "--context must name a column"),
        (("--next-context", "Mo"), "--next-context must be NAME=VALUE, such as weekday=Mo"),
        (
            ("--next-context", "a=1", "--next-context", "a=2"),
            "--next-context must name a column once",
        ),
        (("--low", "12"), "--low must be at most 10"),
        (("--arms", "x"), "--arms must be omitted .* with --low and --high, or"),
        (("--window", "0"), "--window must be an integer of at least 1"),
        (("--missing", "x"), "--missing must be one of error, drop"),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
def test_errors_name_the_option(run, log, words, fragment):
    assert refused(run("follow", log, *COLUMNS, *words), fragment)


def test_python_arguments_become_options():
    text = "omit those lines with missing=drop; omit time=, so give low= and high=; a time=b"
    assert in_options(text) == (
        "omit those lines with --missing drop; omit --time, so give --low and --high; a --time b"
    )
    assert in_options("next_context must be") == "--next-context must be"
    assert in_options("the choice must be") == "the choice must be"
