"""Examples at the end of a command's help."""


def examples(*words: str) -> str:
    r"""Return an epilog of examples; the `\b` prevents wrapping.

    Arguments:
        words: the arguments of `driftpeak`, a string for each example.
    """
    return "\n".join(["\b", "Examples:", *(f"  driftpeak {example}" for example in words)])
