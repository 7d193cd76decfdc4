"""
Learning rates of a population
==============================

Four models train at once. After each interval, the weakest model copies the weights of the
strongest one and gets another learning rate and momentum. Far from the minimum, large steps are
best. Near it, the noise of the gradient requires small steps.
"""

import matplotlib.pyplot as plt
import numpy as np

import driftpeak as dp

MEMBERS, INTERVALS = 4, 20
random = np.random.default_rng(1)
curvature = np.logspace(-1.5, 0, 20)


def train(weights, velocity, setting):
    """Take ten steps of stochastic gradient descent on a quadratic function."""
    for _ in range(10):
        gradient = curvature * weights + 0.3 * random.normal(size=20)
        velocity = setting["momentum"] * velocity - setting["rate"] * gradient
        weights = weights + velocity
    return weights, velocity


def loss(state):
    return float(curvature @ state[0] ** 2 / 2)


space = dp.Box(rate=dp.Float(1e-3, 1, log=True), momentum=dp.Float(0, 0.95))
population = dp.PopulationBasedBandit(space, minimize=True, seed=2)
states = [(3 * random.normal(size=20), np.zeros(20)) for _ in range(MEMBERS)]
settings = [
    population.add(member, metric=np.log(loss(states[member]))) for member in range(MEMBERS)
]

rates, losses, copies = [], [list(map(loss, states))], []
for interval in range(INTERVALS):
    rates.append([setting["rate"] for setting in settings])
    for member in range(MEMBERS):
        states[member] = train(*states[member], settings[member])
        population.report(member, np.log(loss(states[member])), time=interval + 1)
    losses.append(list(map(loss, states)))
    for member in range(MEMBERS):
        if move := population.exploit(member):
            states[member], settings[member] = states[move.source], move.setting
            copies.append((member, move.source, interval + 1))

early, late = np.median(rates[:5]), np.median(rates[-5:])
print(f"{len(copies)} copies; median rate {early:.2g} at first and {late:.2g} at the end")
print(f"loss of the best member: {min(losses[0]):.2f} before, {min(losses[-1]):.3f} after training")

# %%
# Left: each line is the learning rate of one member. Right: its loss. A circle is a copy: the
# member continues from the weights of another one, and its loss falls to the loss of that member.

COLOURS = "#0072B2", "#E69F00", "#009E73", "#CC79A7"  # Okabe and Ito: safe for colour blindness
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained")
rates, losses = np.array(rates), np.array(losses)
for member in range(MEMBERS):
    colour = COLOURS[member]
    left.step(
        range(INTERVALS + 1), [*rates[:, member], rates[-1, member]], where="post", color=colour
    )
    right.plot(losses[:, member], color=colour, label=f"member {member + 1}")
left.plot(np.median(rates, axis=1), "--", color="black", label="median")
for member, source, interval in copies:
    colour = COLOURS[member]
    ends = losses[interval, member], losses[interval, source]
    right.plot([interval, interval], ends, ":", color=colour, linewidth=1)
    right.plot(interval, ends[1], "o", color=colour, markersize=4)
    if interval < INTERVALS:
        left.plot(interval, rates[interval, member], "o", color=colour, markersize=4)
left.set(yscale="log", xlabel="interval of ten steps", title="learning rate")
right.set(yscale="log", xlabel="interval of ten steps", title="loss")
left.legend(frameon=False, fontsize=8)
right.legend(frameon=False, fontsize=8)
