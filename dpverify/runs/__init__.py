"""How work is done and remembered: executors, supervision, the journal, provenance. Knows no privacy."""
