"""PUCB."""
