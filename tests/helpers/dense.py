"""The textbook formulas, written plainly: what every belief is held against.

Nothing here is shared with the package: a rule is a name and its parameters, a posterior is two
linear solves over all observations ever made (spec: B16 (7)-(8), D22 (2)-(3), M25 (9)-(10), ZS21).
"""

import numpy as np


def temporal_correlation(rule, parameter, first, second):
    """Prior correlation between the function's values at two times."""
    if rule == "drift":
        return (1 - parameter) ** (np.abs(first - second) / 2)
    if rule == "space-time":
        return np.exp(-((first - second) ** 2) / (2 * parameter**2))
    return np.ones(np.broadcast_shapes(np.shape(first), np.shape(second)))


def inflation(rule, parameter, times, now):
    """h of every observation: its noise variance in units of lambda; infinity if it is gone."""
    number = len(times)
    age = times[-1] - times if number else times
    if rule == "restart":
        return np.where((times - 1) // parameter == (now - 1) // parameter, 1.0, np.inf)
    if rule == "window":
        return np.where(np.arange(number) >= number - parameter, 1.0, np.inf)
    if rule == "discount":
        return parameter**-age
    if rule == "injection":
        return 1 + age**parameter
    if rule == "weights":
        return parameter[number - 1] / parameter[:number]
    return np.ones(number)


def posterior(gram, noise_variance, prior_mean, rule, parameter, arms, rewards, times, now):
    """Mean, variance and information (1/2 log |S + K|/|S|) at time `now`."""
    mean, covariance, information = joint_posterior(
        gram, noise_variance, prior_mean, rule, parameter, arms, rewards, times, now
    )
    return mean, covariance.diagonal(), information


def joint_posterior(gram, noise_variance, prior_mean, rule, parameter, arms, rewards, times, now):
    """The same with the whole covariance matrix."""
    h = inflation(rule, parameter, times, now)
    alive = np.isfinite(h)
    arms, rewards, times, h = arms[alive], rewards[alive], times[alive], h[alive]
    among = gram[np.ix_(arms, arms)] * temporal_correlation(
        rule, parameter, times[:, None], times[None, :]
    )
    cross = gram[arms] * temporal_correlation(rule, parameter, times, now)[:, None]
    noise = np.diag(noise_variance * h)
    solve = np.linalg.solve(among + noise, np.column_stack([cross, rewards - prior_mean[arms]]))
    mean = prior_mean + cross.T @ solve[:, -1]
    covariance = gram - cross.T @ solve[:, :-1]
    information = 0.5 * (np.linalg.slogdet(among + noise)[1] - np.log(np.diag(noise)).sum())
    return mean, covariance, information


def stationary_band(gram, noise_variance, prior_mean, arms, rewards, norm, noise_spread, missed):
    """Bounds of a function of RKHS norm at most `norm` (less the prior mean), from fixed queries.

    The error of kernel ridge regression at x is <f, k_x - sum_i w_i k_i> + sum_i w_i noise_i: at
    most the norm of f times that of the bracket, plus `noise_spread` times the norm of w. `missed`
    is the largest deviation that the features lack.
    """
    among, cross = gram[np.ix_(arms, arms)], gram[arms]
    w = np.linalg.solve(among + noise_variance * np.eye(len(arms)), cross)
    mean = prior_mean + w.T @ (rewards - prior_mean[arms])
    bracket = gram.diagonal() - 2 * (w * cross).sum(axis=0) + (w * (among @ w)).sum(axis=0)
    weight = np.sqrt((w**2).sum(axis=0))
    bias = np.sqrt(np.maximum(bracket, 0)) + missed * (1 + np.sqrt(len(arms)) * weight)
    half = norm * bias + noise_spread * weight
    return mean - half, mean + half


def eliminate(prior, survivors, arms, rewards, width):
    """Who is left when those go whose upper bound is below the largest lower bound (IT25 Alg. 1).

    By one batch of queries `arms` and its rewards alone.
    """
    times = np.arange(1.0, len(arms) + 1)
    mean, variance, _ = posterior(
        prior.gram, prior.noise_variance, prior.mean, "keep", None, arms, rewards, times, times[-1]
    )
    deviation = np.sqrt(variance)
    lowest = (mean - width * deviation)[survivors].max()
    return survivors & (mean + width * deviation >= lowest)
