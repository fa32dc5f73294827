"""Ground floor: errors, range checks, directed rounding, random streams."""
