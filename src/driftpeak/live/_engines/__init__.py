"""Engines, which compute suggestions from observations."""
