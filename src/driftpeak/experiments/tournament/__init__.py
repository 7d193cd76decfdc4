"""Every policy in every world: the tournament."""
