"""Views of a study: diagnostics, data frames, plots."""
