"""Running the target: trials of both arms, in blocks, with every outcome explicit."""
