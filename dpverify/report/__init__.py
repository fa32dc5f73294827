"""Renderings of records; nothing here computes evidence."""
