"""From trials to a certified lower bound on eps, and to checks of promised error bounds."""
