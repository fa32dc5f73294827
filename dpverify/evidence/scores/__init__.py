"""Functions of one output that say which dataset it came from."""
