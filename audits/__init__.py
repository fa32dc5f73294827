"""One declarative file a subject: claim, pairs, budget, planted twins."""
