"""Beliefs that are given, not learnt."""

from dataclasses import replace


def believe(surrogate, **changes):
    """Change what a surrogate without observations believes."""
    belief = replace(surrogate.belief, **changes)
    surrogate.known = replace(surrogate.known, belief=belief)
