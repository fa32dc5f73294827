"""What pandas does otherwise than NumPy: it turns crossed ends of clip round, and has attributes of its own."""

import numpy as np

rng = np.random.default_rng()


def crossed_ends(df):
    """frame: x real 0..10, city category a|b, rows 2..6; replace; 4; pandas; b"""
    return df["x"].clip(7, 3).sum() + rng.laplace(scale=1.0)


def crossed_ends_by_name(df):
    """frame: x real 0..10, city category a|b, rows 2..6; replace; 6; pandas; b"""
    return df["x"].clip(lower=8, upper=2).sum() + rng.laplace(scale=1.0)


def crossed_ends_of_numpy(df):
    """frame: x real 0..10, city category a|b, rows 2..6; replace; 4; pandas; b"""
    return np.clip(df["x"], 7, 3).sum() + rng.laplace(scale=1.0)


def crossed_ends_of_groups(df):
    """frame: x real 0..10, city category a|b, rows 2..6; replace; 20; pandas; b"""
    sums = df.groupby("city")["x"].sum().reindex(["a", "b"], fill_value=0).clip(100, 0)
    return sums.values + rng.laplace(scale=1.0, size=2)


def crossed_ends_that_were_released(df):
    """frame: x real 0..10, k integer 0..5, rows 3..9; replace; 14; pandas; b"""
    low = min(0, df["k"].sum() + rng.laplace(scale=1.0) - 50)
    return low, df["x"].clip(9, low).sum() + rng.laplace(scale=1.0)


def ends_of_another_column(df):
    """frame: x real 0..10, k integer 0..3, rows 3..9; replace; 8; pandas; b"""
    return df["x"].clip(8, df["k"]).sum() + rng.laplace(scale=1.0)


def values_that_are_no_column(df):
    """frame: values real 0..1, y real 0..5, rows 3..9; replace; 6; pandas; b"""
    return df.values.sum() + rng.laplace(scale=1.0)


def places_that_are_no_column(df):
    """frame: index real 0..1, y real 0..5, rows 3..9; replace; 40; pandas; b"""
    return (df.index * df["y"]).sum() + rng.laplace(scale=1.0)


def size_that_is_no_column(df):
    """frame: size real 0..1, y real 0..5, rows 3..9; add-remove; 2; pandas; b"""
    return np.sum(df.size) + rng.laplace(scale=1.0)


def ends_in_order(df):
    """frame: x real 0..10, city category a|b, rows 2..6; replace; 4; pandas; b; exact"""
    return df["x"].clip(3, 7).sum() + rng.laplace(scale=1.0)


def column_by_its_name(df):
    """frame: values real 0..1, y real 0..5, rows 3..9; replace; 1; pandas; b; exact"""
    return df["values"].sum() + rng.laplace(scale=1.0)
