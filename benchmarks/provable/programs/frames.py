import numpy as np
import pandas as pd

CITIES = ["Aarhus", "Bergen", "Cork"]
rng = np.random.default_rng()


def mean_income(df, epsilon=1.0, cap=50_000):
    return df["income"].clip(0, cap).mean() + rng.laplace(0, cap / len(df) / epsilon)


def mean_income_raw(df, epsilon=1.0, cap=50_000):
    return df["income"].mean() + rng.laplace(0, cap / len(df) / epsilon)


def mean_income_trimmed_rows(df, epsilon=1.0, cap=50_000):
    kept = df[df["income"] <= cap]
    return kept["income"].sum() / max(len(kept), 1) + rng.laplace(0, cap / len(df) / epsilon)


def city_sizes(df, epsilon=1.0):
    counts = df["city"].value_counts().reindex(CITIES, fill_value=0)
    return counts + np.random.laplace(scale=1 / epsilon, size=len(CITIES))


def city_sizes_present(df, epsilon=1.0):
    counts = df["city"].value_counts()
    return counts + np.random.laplace(scale=1 / epsilon, size=len(counts))


def city_totals(df, epsilon=1.0, cap=100_000):
    totals = df.groupby("city")["income"].sum().reindex(CITIES, fill_value=0.0)
    return (totals + np.random.laplace(0, cap / epsilon, len(totals))).to_dict()


def city_totals_unit(df, epsilon=1.0, cap=100_000):
    totals = df.groupby("city")["income"].sum().reindex(CITIES, fill_value=0.0)
    return (totals + np.random.laplace(0, 1 / epsilon, len(totals))).to_dict()


def city_shares(df, epsilon=1.0, cap=100_000):
    totals = df.groupby("city")["income"].sum().reindex(CITIES, fill_value=0.0) / len(df)
    return totals + np.random.laplace(0, 2 * cap / len(df) / epsilon, len(totals))


def city_means(df, epsilon=1.0, cap=100_000):
    means = df.groupby("city")["income"].mean().reindex(CITIES, fill_value=0.0)
    return means + np.random.laplace(0, 2 * cap / len(df) / epsilon, len(means))


def rich_adults(df, epsilon=1.0):
    chosen = df[(df["age"] >= 18) & (df["income"] > 50_000)]
    return len(chosen) + rng.laplace(0, 1 / epsilon)


def rich_adults_query(df, epsilon=1.0):
    chosen = df.query("age >= 18 and income > 50000")
    return {"rows": df.shape[0], "count": len(chosen) + rng.laplace(0, 1 / epsilon)}


def age_table(df, epsilon=1.0):
    bands = pd.cut(df["age"], bins=[-1, 17, 64, 120], labels=["child", "adult", "senior"])
    counts = bands.value_counts().sort_index()
    return counts.to_numpy() + rng.laplace(0, 1 / epsilon, 3)


def age_table_auto(df, epsilon=1.0):
    bands = pd.cut(df["age"], bins=3)
    counts = bands.value_counts().sort_index()
    return counts.to_numpy() + rng.laplace(0, 1 / epsilon, 3)


def cross_table(df, epsilon=1.0):
    adult = (df["age"] >= 18).astype(int)
    table = pd.crosstab(adult, df["city"]).reindex(index=[0, 1], columns=CITIES, fill_value=0)
    return table + np.random.laplace(0, 1 / epsilon, size=table.shape)


def cross_table_margins(df, epsilon=1.0):
    adult = (df["age"] >= 18).astype(int)
    table = pd.crosstab(adult, df["city"]).reindex(index=[0, 1], columns=CITIES, fill_value=0).to_numpy()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    everything = np.concatenate([table.ravel(), rows, columns])
    return everything + np.random.laplace(0, 1 / epsilon, size=everything.shape)


def total_filled(df, epsilon=1.0, cap=100_000):
    return df["income"].fillna(0).sum() + rng.laplace(0, cap / epsilon)


def total_mean_filled(df, epsilon=1.0, cap=100_000):
    return df["income"].fillna(df["income"].mean()).sum() + rng.laplace(0, cap / epsilon)


def mean_filled(df, epsilon=1.0, cap=100_000):
    known = df["income"].fillna(cap / 2)
    return known.mean() + rng.laplace(0, cap / len(df) / epsilon)


def mean_known(df, epsilon=1.0, cap=100_000):
    known = df["income"].dropna()
    return known.sum() / max(len(known), 1) + rng.laplace(0, cap / len(df) / epsilon)


def two_means(df, epsilon=1.0):
    n = len(df)
    released = {}
    for column, cap in (("age", 120), ("income", 100_000)):
        released[column] = df[column].clip(0, cap).mean() + rng.laplace(0, cap / n / (epsilon / 2))
    return pd.Series(released)


def two_means_full(df, epsilon=1.0):
    n = len(df)
    released = {}
    for column, cap in (("age", 120), ("income", 100_000)):
        released[column] = df[column].clip(0, cap).mean() + rng.laplace(0, cap / n / epsilon)
    return pd.Series(released)


def largest_income(df, epsilon=1.0, cap=100_000):
    return df["income"].max() + rng.laplace(0, cap / epsilon)


def largest_income_unit(df, epsilon=1.0):
    return df["income"].max() + rng.laplace(0, 1 / epsilon)


def with_apply(df, epsilon=1.0):
    scores = df.apply(lambda row: min(row["income"] / 1000, 50) if row["age"] >= 18 else 0.0, axis=1)
    return round(scores.sum() + rng.laplace(0, 50 / epsilon), 1)


def with_apply_thousands(df, epsilon=1.0):
    scores = df.apply(lambda row: row["income"] / 1000 if row["age"] >= 18 else 0.0, axis=1)
    return round(scores.sum() + rng.laplace(0, 50 / epsilon), 1)
