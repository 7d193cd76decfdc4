"""Studies: events, state and storage."""

from driftpeak.live._study import events as events
