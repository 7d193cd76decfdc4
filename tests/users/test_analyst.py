"""An analyst's files: a European export with marks and header rows, a log of choices, and noise."""

import json
import re

import numpy as np
import pytest

DAYS = np.arange(60)


def european(number):
    return f"{number:.2f}".replace(".", ",")


@pytest.mark.slow
def test_a_european_export_with_two_header_rows(run, tmp_path):
    """Semicolons, decimal commas, days first, two header rows, and "-" for a missing value."""
    file = tmp_path / "export.csv"
    values = np.random.default_rng(0).normal([10, 10, 13], 1, (60, 3))
    lines = ["Datum;Kiosk;;Shop", ";A;B;C"]
    for day, row in zip(DAYS, values, strict=True):
        cells = ["-" if day == 7 and place == 1 else european(one) for place, one in enumerate(row)]
        lines.append(";".join((f"{1 + day % 28:02d}.{1 + day // 28:02d}.2026", *cells)))
    file.write_text("\n".join(lines) + "\n")
    code, _, err = run("replay", file, "--policy", "gp-ucb")
    assert code != 0
    assert "--header-rows" in err or "--blank" in err  # in the syntax of the command line
    options = ("--header-rows", "2", "--blank", "-", "--missing", "interpolate")
    words = ("--policy", "gp-ucb", "--trials", "2")
    code, out, err = run("replay", file, *options, *words)
    assert code == 0, err
    assert re.search("(now follow|recommended|follow).*Shop C", out), out


@pytest.mark.slow
def test_a_log_of_prices(run, tmp_path):
    """What was chosen, what it yielded, and when: what to set next, and what was never tried."""
    file = tmp_path / "log.csv"
    generator = np.random.default_rng(1)
    lines = ["when,price,revenue"]
    for day in DAYS:
        price = generator.uniform(2, 6)
        revenue = 20 - (price - 4.5) ** 2 + 0.3 * generator.normal()
        lines.append(f"2026-{1 + day // 28:02d}-{1 + day % 28:02d},{price:.3f},{revenue:.3f}")
    file.write_text("\n".join(lines) + "\n")
    words = ("--choice", "price", "--reward", "revenue", "--time", "when", "--json")
    code, out, err = run("follow", file, *words)
    assert code == 0, err
    found = json.loads(out)
    assert abs(found["now"]["choice"] - 4.5) < 0.5
    assert found["now"]["low"] < found["now"]["mean"] < found["now"]["high"]


@pytest.mark.slow
def test_noise_has_nothing_to_follow(run, tmp_path):
    file = tmp_path / "noise.csv"
    values = np.random.default_rng(2).normal(size=(60, 4))
    np.savetxt(file, values, "%.4f", delimiter=",", header="a,b,c,d", comments="")
    code, out, err = run("replay", file, "--policy", "auto", "--trials", "2")
    assert code == 0, err
    assert "othing to follow" in out
