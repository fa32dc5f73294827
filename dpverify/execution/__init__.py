"""How work is done and remembered: isolated calls, executors, the journal, digests of sources. Knows no privacy."""
