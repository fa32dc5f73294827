"""What a person sees: command line, reports, pytest."""
