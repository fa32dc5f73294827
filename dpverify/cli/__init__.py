"""The command line: one file for each command; what runs it stands beside it."""
