"""
Which sensor to follow, from a file with gaps
=============================================

An engineer of heating and ventilation has a file of four room sensors: semicolons, decimal
commas, days before months, an hour that is blank, and a sensor that failed and showed 122
degrees. Only one sensor can be read at a time from now on: which?
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np

from driftpeak.offline.data import read_table
from driftpeak.offline.replay import advise, arms_over_time, follow_figure, replay
from driftpeak.simulation.comparison import verdict

# %%
# The file, as it might come from a control system
# ------------------------------------------------

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
        cells[0] = ""  # nobody knows why
    if hour == 90:
        cells[2] = "122,0"  # the sensor failed
    lines.append(f"{hour // 24 + 1:02}.06.2026 {hour % 24:02}:00;{';'.join(cells)}")
file = Path(tempfile.mkdtemp()) / "rooms.csv"
file.write_text("\n".join(lines))

# %%
# Reading it
# ----------
# What is odd is said, with its place. Here it is treated as missing, and missing values are
# filled in.

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    table = read_table(file, outliers="blank", missing="interpolate")
for text in (*table.notes, *(one.message for one in said)):
    print("-", text)
assert table.unit == "degrees C"
assert table.values.max() < 40

# %%
# Playing it
# ----------
# The first 60 % of the rows are learned from, the rest is played: one sensor an hour.

runs = replay(table, ["auto", "tv-gp-ucb", "best-of-history", "random"], trials=5, progress=False)
judged = verdict(runs, independent_trials=False)
advice = advise(runs, judged)
print(judged.in_words(unit=table.unit))
print(advice.in_words())
print("at", advice.when)
assert isinstance(advice.arms[0].arm, str)

# %%
# Which sensor was followed, over time: the shares, and the picture.

shares = arms_over_time(runs, advice.policy)["share"]
print({room: f"{share:.0%}" for room, share in shares.items()})

figure = follow_figure(runs, advice.policy, advice, title="Four rooms: the warmest is followed")
figure.set_size_inches(7.5, 3.6)

# %%
# On the command line the same is ``driftpeak replay rooms.csv --outliers blank --missing
# interpolate --output results``. A file without gaps needs no options.
