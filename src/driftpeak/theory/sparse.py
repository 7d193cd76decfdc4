r"""M25's sparse approximation: posteriors from a subset of the observations, and their distance.

The observed points X may repeat. Their noise has variance \(\sigma^2\), as in M25's virtual
setting, where every past point is observed again at the present time. `kept` are the
positions in X of the subset S. With the Nystrom matrix \(U = K_{XS} K_{SS}^+ K_{SX}\)
(Definition 3.7), \(\operatorname{tr}(K - U)\) is the variance at X that noise-free values at S
leave unexplained.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least, finite_array, indices, positive, shown
from driftpeak._core.types import Matrix
from driftpeak.gp.priors import Prior
from driftpeak.inference.information import check_arms
from driftpeak.theory.bound import Bound, Condition, conclude

Outputs = Literal["kept", "all"]


@checked
def nystrom_residual(prior: Prior, arms: Any, kept: Any) -> float:
    r"""Compute \(\operatorname{tr}(K - U)\) of M25 Definition 3.7, in squared units of the reward.

    By Lemma 3.8 it does not increase if an arm is added both to `arms` and to the kept subset.

    Arguments:
        prior: covariance.
        arms: indices of the observed points.
        kept: positions in `arms` of the subset.

    Raises:
        DriftpeakError: `arms` is not a list of indices of points; `kept` is not a list of distinct
            positions in `arms`.

    Source: M25 Definition 3.7, Lemma 3.8, (33).
    """
    chosen, subset = _observed(prior, arms, kept)
    gram = prior.gram[np.ix_(chosen, chosen)]
    return float(max(np.trace(gram - _nystrom(gram, subset)), 0.0))  # below 0 by rounding only


@checked
def posterior_divergence(
    prior: Prior, arms: Any, kept: Any, rewards: Any = None, *, outputs: Outputs = "kept"
) -> float:
    r"""Compute the divergence of the sparse posterior from the posterior of all observations.

    It is \(\mathrm{KL}(P^s \| P^v)\) of M25 (19), in nats, without a bound in between.

    With outputs "kept", \(P^s\) is the posterior (20), (21) of Algorithm 1, which uses the outputs
    at S alone. For the other observations, let A be the posterior covariance of their values and r
    their residuals from the posterior mean, both given the outputs at S. Then

    $$\mathrm{KL} = \tfrac12 [\sigma^{-2} \operatorname{tr} A - \log\det(I + \sigma^{-2} A)
    + \sigma^{-2} r^\top (A + \sigma^2 I)^{-1} A r].$$

    With outputs "all", \(P^s\) is the variational posterior that uses all outputs y through the
    inducing points S (Burt et al. 2020):

    $$\mathrm{KL} = \tfrac12 [\log\det(U + \sigma^2 I) - \log\det(K + \sigma^2 I)
    + y^\top ((U + \sigma^2 I)^{-1} - (K + \sigma^2 I)^{-1}) y
    + \sigma^{-2} \operatorname{tr}(K - U)].$$

    The expected divergence over outputs of the prior lies between \(t/(2\sigma^2)\) and
    \(t/\sigma^2\), with \(t = \operatorname{tr} A\) for "kept" and
    \(t = \operatorname{tr}(K - U)\) for "all". M25 (proof of Theorem 3.10) states the bound
    \(\operatorname{tr}(K - U)/\sigma^2\) for the posterior of Algorithm 1, where
    \(\operatorname{tr} A\) may be larger.

    Arguments:
        prior: covariance, mean and noise variance.
        arms: indices of the observed points.
        kept: positions in `arms` of the subset.
        rewards: outputs at `arms`; if None, the result is the expected divergence over outputs of
            the prior.
        outputs: "kept" or "all".

    Raises:
        DriftpeakError: as for `nystrom_residual`; rewards that are not one finite number for each
            observation.

    Source: M25 (19), corrected.
    """
    chosen, subset = _observed(prior, arms, kept)
    residuals = None
    if rewards is not None:
        residuals = finite_array("rewards", rewards, 1)
        if len(residuals) != len(chosen):
            raise DriftpeakError(
                f"rewards must be {len(chosen)} numbers, one for each observation; got "
                f"{len(residuals)}"
            )
        residuals = residuals - prior.mean[chosen]
    gram, noise = prior.gram[np.ix_(chosen, chosen)], prior.noise_variance
    if outputs == "kept":
        return _divergence_of_kept(gram, subset, noise, residuals)
    return _divergence_of_all(gram, subset, noise, residuals)


@dataclass(frozen=True)
class SparseSize:
    r"""Size of the subset and accuracy of its draw, for a given divergence.

    Attributes:
        queries: \(Q_T\), number of kept observations.
        accuracy: \(\varepsilon_T\), largest total variation distance of the draw from the DPP.
    """

    queries: int
    accuracy: float


@checked
def sparse_size(prior: Prior, arms: Any, *, divergence: float) -> SparseSize:
    r"""Return \(Q_T\) and \(\varepsilon_T\) with \(E[\operatorname{tr}(K-U)] \le \eta\sigma^2\).

    This is M25 Proposition 3.2 with constants. A Q-DPP has
    \(E[\operatorname{tr}(K - U)] \le (Q + 1) \sum_{m > Q} \lambda_m\) with the eigenvalues of K
    (Burt et al. 2020), and a draw within \(\varepsilon\) of it in total variation at most
    \(2 \varepsilon \operatorname{tr} K\) more. Q is the least number whose first term is at most
    \(\eta\sigma^2/2\), and \(\varepsilon = \eta\sigma^2 / (4 \operatorname{tr} K)\), at most 1.
    M25 states the orders \(\log^d(T/\eta)\) (SE) and \(\eta/T\).

    The result bounds the expected variational divergence (`posterior_divergence`,
    `outputs="all"`), which (19) bounds with the posterior of Algorithm 1 in its place.

    Arguments:
        arms: indices of the observed points.
        divergence: \(\eta\), in nats, above 0.

    Raises:
        DriftpeakError: `arms` is not a list of indices of points; divergence not positive.

    Source: M25 Proposition 3.2.
    """
    eta = positive("divergence", divergence)
    chosen = check_arms(prior, arms)
    if len(chosen) == 0:
        return SparseSize(0, 1.0)
    gram, half = prior.gram[np.ix_(chosen, chosen)], eta * prior.noise_variance / 2
    spectrum = np.maximum(np.linalg.eigvalsh(gram), 0.0)
    tails = np.append(np.cumsum(spectrum)[::-1], 0.0)  # sum of the eigenvalues beyond Q
    enough = np.flatnonzero(np.arange(1.0, len(tails) + 1) * tails <= half)
    trace = float(np.trace(gram))
    return SparseSize(int(enough[0]), 1.0 if trace == 0 else min(half / (2 * trace), 1.0))


@checked
def mean_shift(divergence: float) -> Bound:
    r"""Bound \(|\mu_p - \mu_q| / \sigma_p\) by \(\sqrt\eta\) (M25 Proposition 3.4).

    At any point, for posteriors with \(2\,\mathrm{KL}(Q\|P) \le \eta\). Divided by
    \(\sqrt{1 - \sqrt{3\eta}}\), it bounds the shift in units of \(\sigma_q\).

    Arguments:
        divergence: \(\mathrm{KL}(Q\|P)\) in nats, half of \(\eta\).

    Raises:
        DriftpeakError: a negative divergence.

    Source: M25 Proposition 3.4.
    """
    eta = 2 * at_least("divergence", divergence, 0)
    return conclude("M25 Proposition 3.4", [_close(eta)], lambda: np.sqrt(eta))


@checked
def variance_change(divergence: float) -> Bound:
    r"""Bound \(|1 - \sigma_q^2 / \sigma_p^2|\) by \(\sqrt{3\eta}\) (M25 Proposition 3.4).

    Arguments:
        divergence: \(\mathrm{KL}(Q\|P)\) in nats, half of \(\eta\).

    Raises:
        DriftpeakError: a negative divergence.

    Source: M25 Proposition 3.4.
    """
    eta = 2 * at_least("divergence", divergence, 0)
    return conclude("M25 Proposition 3.4", [_close(eta)], lambda: np.sqrt(3 * eta))


def _close(eta: float) -> Condition:
    return Condition("2 KL <= 1/5", eta <= 1 / 5, f"2 KL = {eta:.4g}")


def _observed(prior: Prior, arms: Any, kept: Any) -> tuple[Any, Any]:
    chosen = check_arms(prior, arms)
    subset = indices("kept", kept, len(chosen))
    if len(np.unique(subset)) < len(subset):
        raise DriftpeakError(
            f"kept must be a list of integers in 0..{len(chosen) - 1}, each once; got {shown(kept)}"
        )
    return chosen, subset


def _nystrom(gram: Matrix, subset: Any) -> Matrix:
    among = np.linalg.pinv(gram[np.ix_(subset, subset)], rcond=1e-12, hermitian=True)
    return gram[:, subset] @ among @ gram[subset]


def _divergence_of_kept(gram: Matrix, subset: Any, noise: float, outputs: Any) -> float:
    left = np.setdiff1d(np.arange(len(gram)), subset)
    noisy = gram[np.ix_(subset, subset)] + noise * np.eye(len(subset))
    explaining = np.linalg.solve(noisy, gram[np.ix_(subset, left)])
    among = gram[np.ix_(left, left)] - gram[np.ix_(left, subset)] @ explaining
    spectrum, vectors = np.linalg.eigh((among + among.T) / 2)
    ratios = np.maximum(spectrum, 0.0) / noise
    if outputs is None:
        surprise = ratios.sum()
    else:
        residuals = vectors.T @ (outputs[left] - outputs[subset] @ explaining)
        surprise = (residuals**2 * ratios / (1 + ratios)).sum() / noise
    return float((ratios.sum() - np.log1p(ratios).sum() + surprise) / 2)


def _divergence_of_all(gram: Matrix, subset: Any, noise: float, outputs: Any) -> float:
    identity = noise * np.eye(len(gram))
    explained = _nystrom(gram, subset)
    sparse, whole = explained + identity, gram + identity
    change = np.linalg.slogdet(sparse)[1] - np.linalg.slogdet(whole)[1]
    if outputs is None:
        surprise = np.trace(np.linalg.solve(sparse, gram - explained))
    else:
        difference = np.linalg.solve(sparse, outputs) - np.linalg.solve(whole, outputs)
        surprise = outputs @ difference
    total = change + surprise + np.trace(gram - explained) / noise
    return float(max(total / 2, 0.0))  # below 0 by rounding only
