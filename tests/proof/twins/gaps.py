"""Columns with missing values. The docstring of each is its row."""

import numpy as np

rng = np.random.default_rng()


def filled_total(df):
    """frame: x real 0..10 missing, rows 5..50; replace; 1; 1.22; b; exact
    frame: x real 0..10 missing, rows 5..50; add-remove; 1; 1.22; b; exact
    """
    return df["x"].fillna(0).sum() + rng.laplace(scale=10.0)


def filled_beyond_the_column(df):
    """frame: x real 0..10 missing, rows 5..50; replace; 2; 1.22; b; exact
    frame: x real 0..10 missing, rows 5..50; add-remove; 2; 1.22; b; exact
    """
    return df["x"].fillna(20.0).sum() + rng.laplace(scale=10.0)


def filled_and_clipped(df):
    """frame: x real 0..10 missing, rows 5..50; replace; 1; 1.22; b; exact"""
    return df["x"].fillna(-100.0).clip(0, 10).sum() + rng.laplace(scale=10.0)


def clipped_and_filled(df):
    """frame: x real 0..10 missing, rows 5..50; replace; 11; 1.22; b"""
    return df["x"].clip(0, 10).fillna(-100.0).sum() + rng.laplace(scale=10.0)


def filled_twice_with_other_numbers(df):
    """frame: x real 0..10 missing, rows 5..50; add-remove; 1; 1.22; b; exact"""
    return (df["x"].fillna(10.0) - df["x"].fillna(0.0)).sum() + rng.laplace(scale=10.0)


def filled_with_the_mean(df):
    """frame: x real 0..10 missing, rows 5..50; replace; 5; 1.22; b"""
    return df["x"].fillna(df["x"].mean()).sum() + rng.laplace(scale=10.0)


def filled_with_nan(df):
    """frame: x real 0..10 missing, rows 5..50; replace; inf; 1.22; b"""
    return np.sum(df["x"].fillna(np.nan).to_numpy()) + rng.laplace(scale=10.0)


def filled_in_another_column(df):
    """frame: x real 0..10 missing, y real 0..10 missing, rows 5..50; replace; inf; 1.22; b"""
    df["x"] = df["x"].fillna(0.0)
    return np.sum(df["y"].to_numpy()) + rng.laplace(scale=10.0)


def filled_frame(df):
    """frame: x real 0..10 missing, y real 0..10 missing, rows 5..50; replace; 2; 1.22; b; exact"""
    df = df.fillna(0.0)
    return (df["x"] + df["y"]).sum() + rng.laplace(scale=10.0)


def filled_for_nothing(df):
    """frame: x real 0..10 missing, rows 5..50; replace; inf; 1.22; b"""
    df["x"].fillna(0.0)
    return np.sum(df["x"].to_numpy()) + rng.laplace(scale=10.0)


def dropped_total(df):
    """frame: x real 0..10 missing, rows 5..50; replace; 1; 1.22; b; exact"""
    return df["x"].dropna().sum() + rng.laplace(scale=10.0)


def dropped_total_and_their_number(df):
    """frame: x real 0..10 missing, rows 5..50; replace; inf; 1.22; b"""
    kept = df["x"].dropna()
    return kept.sum() + rng.laplace(scale=10.0), len(kept)


def number_of_dropped(df):
    """frame: x real 0..10 missing, rows 5..50; replace; 1; 1.22; b; exact"""
    return len(df["x"].dropna()) + rng.laplace()


def mean_of_dropped(df):
    """frame: x real 0..10 missing, rows 5..50; replace; 5; 1.22; b"""
    return df["x"].dropna().mean() + rng.laplace(scale=10.0 / len(df))


def number_of_values(df):
    """frame: x real 0..10 missing, rows 5..50; replace; inf; 1.22; b"""
    return df["x"].count()


def numbers_of_values_in_groups(df):
    """frame: c category a|b, x real 0..10 missing, rows 5..50; replace; 2; 1.22; b"""
    counts = df.groupby("c")["x"].count().reindex(["a", "b"], fill_value=0)
    return [counts[each] + rng.laplace() for each in "ab"]


def noise_for_each_value(df):
    """frame: x real 0..10 missing, rows 5..50; replace; inf; 1.22; b"""
    return df["x"].to_numpy() + rng.laplace(scale=10.0, size=len(df))


def values_above_five(df):
    """frame: x real 0..10 missing, rows 5..50; replace; inf; 1.22; b"""
    return np.where(df["x"].to_numpy() > 5, 0.0, df["x"].to_numpy()).sum() + rng.laplace(scale=5.0)
