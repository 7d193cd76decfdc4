"""Examples at the end of a command's help."""


def examples(*words: str) -> str:
    """What follows `driftpeak`, one line each, as an epilog that is not wrapped."""
    return "\n".join(["\b", "Examples:", *(f"  driftpeak {one}" for one in words)])
