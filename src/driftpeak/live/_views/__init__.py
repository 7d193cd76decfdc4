"""Views of a study: diagnostics, data frames and figures."""
