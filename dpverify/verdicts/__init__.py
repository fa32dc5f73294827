"""The pipeline and its judgement."""
