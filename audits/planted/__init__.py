"""Broken twins of the subjects. Nothing in here may be used for anything but proving that audits see."""
