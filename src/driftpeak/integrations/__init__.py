"""driftpeak inside other optimisers' frameworks; each needs an extra of its own."""
