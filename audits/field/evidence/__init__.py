"""Numbers of the field report that need no library: our own short transcriptions of formulas."""
