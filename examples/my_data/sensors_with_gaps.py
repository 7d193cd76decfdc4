"""
Choose a sensor from a file with gaps
=====================================

A heating engineer has a file of four room sensors. It has semicolons, decimal commas, days before
months, a blank hour, and a failed sensor with a reading of 122 degrees. From now on, only one
sensor can be read at a time.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np

from driftpeak.offline.data import read_table
from driftpeak.offline.replay import advise, arms_over_time, follow_figure, replay
from driftpeak.simulation import verdict

# %%
# A typical file of a control system
# ----------------------------------

hours = np.arange(14 * 24)
generator = np.random.default_rng(0)
warmest = {"kitchen": 12, "office": 15, "hall": 18, "store": 3}
temperature = {
    room: 20
    + 2 * np.cos(2 * np.pi * (hours - hour) / 24)
    + np.cumsum(generator.normal(0, 0.1, len(hours)))
    for room, hour in warmest.items()
}
lines = ["date;" + ";".join(f"{room} [degrees C]" for room in warmest)]
for hour in hours:
    cells = [f"{temperature[room][hour]:.1f}".replace(".", ",") for room in warmest]
    if hour == 50:
        cells[0] = ""  # a missing value
    if hour == 90:
        cells[2] = "122,0"  # a failed sensor
    lines.append(f"{hour // 24 + 1:02}.06.2026 {hour % 24:02}:00;{';'.join(cells)}")
file = Path(tempfile.mkdtemp()) / "rooms.csv"
file.write_text("\n".join(lines))

# %%
# Read the file
# -------------
# Unusual values are reported with their position. Here they are treated as missing, and missing
# values are interpolated.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    table = read_table(file, outliers="blank", missing="interpolate")
for text in (*table.notes, *(warning.message for warning in caught)):
    print("-", text)
assert table.unit == "degrees C"
assert table.values.max() < 40

# %%
# Replay the table
# ----------------
# The policies learn from the first 60 % of the rows and run on the rest, with one sensor an hour.

runs = replay(table, ["auto", "tv-gp-ucb", "best-of-history", "random"], trials=5, progress=False)
judged = verdict(runs, independent_trials=False)
advice = advise(runs, judged)
print(judged.in_words(unit=table.unit))
print(advice.in_words())
print("at", advice.when)
assert isinstance(advice.arms[0].arm, str)

# %%
# Print the share of time of each sensor, and draw the choices over time.

shares = arms_over_time(runs, advice.policy)["share"]
print({room: f"{share:.0%}" for room, share in shares.items()})

figure = follow_figure(runs, advice.policy, advice, title="Four rooms: tracking the warmest")
figure.set_size_inches(7.5, 3.6)

# %%
# The equivalent command is ``driftpeak replay rooms.csv --outliers blank --missing interpolate
# --output results``. A file without gaps needs no options.
