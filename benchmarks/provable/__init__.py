"""Differentially private functions as people write them, right ones and wrong twins, with what is true of each."""
