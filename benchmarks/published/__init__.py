"""The mechanisms that CheckDP, ShadowDP and StatDP are tried on, written as plain functions of a dataset."""
