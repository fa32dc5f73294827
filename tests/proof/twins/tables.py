"""Frames, records, users with several rows, local reports. The docstring of a function is its row."""

import collections
import dataclasses

import numpy as np
import pandas as pd


def _laplace(scale, size=None):
    return np.random.default_rng().laplace(scale=scale, size=size)


def counts_in_the_order_of_frequency(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; a"""
    return {k: v + _laplace(2.0) for k, v in df["c"].value_counts().items()}


def count_of_a_key_that_may_lack(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; a"""
    return df["c"].value_counts()["z"] + _laplace(1.0)


def count_or_zero(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 1.12; b; exact"""
    return df["c"].value_counts().get("z", 0) + _laplace(1.0)


def counts_of_public_keys(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 1.12; b; exact
    frame: c category a|b|z, x real 0..10, rows 5..50; add-remove; .5; 1.12; b; exact
    """
    return df["c"].value_counts().reindex(["a", "b", "z"], fill_value=0).to_numpy() + _laplace(2.0, size=3)


def counts_of_some_public_keys(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 1.12; b; exact"""
    return [(df["c"] == k).sum() + _laplace(2.0) for k in ("a", "b")]


def sizes_of_present_groups(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; a"""
    sizes = df.groupby("c").size()
    return sizes + _laplace(2.0, size=len(sizes))


def sums_of_present_groups(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; a"""
    sums = df.groupby("c")["x"].sum()
    return {k: v + _laplace(20.0) for k, v in sums.items()}


def means_of_groups(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; a"""
    kind = pd.Categorical(df["c"], categories=["a", "b", "z"])
    return df["x"].groupby(kind, observed=False).mean().to_numpy() + _laplace(20.0, size=3)


def mean_of_chosen_rows(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 3 chosen; a"""
    return df[df["x"] > 5]["x"].mean() + _laplace(1.0)


def sum_of_chosen_rows(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 3 chosen; b; exact"""
    return df[df["x"] > 5]["x"].sum() + _laplace(10.0)


def number_of_values(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; add-remove; inf; 3 relation; a"""
    return df["x"].count()


def number_of_places(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; add-remove; inf; 3 relation; a"""
    return len(df.index)


def index_of_a_frame(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return df[df["x"] > 5].index


def deviation_of_a_column(df):
    """frame: x real 0..10, rows 5..50; replace; sqrt(20); N2; b; exact"""
    return df["x"].std() + _laplace(1.0)


def deviation_of_numpy(df):
    """frame: x real 0..10, rows 5..50; replace; 4; N2; b; exact"""
    return df["x"].to_numpy().std() + _laplace(1.0)


def different_values_bare(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return df["c"].nunique()


def most_frequent_bare(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return df["c"].mode()[0]


def clipped_column_dropped(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 2; 3 in place; b; exact"""
    df["x"].clip(0, 5)
    return df["x"].sum() + _laplace(5.0)


def clipped_column(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 3 in place; b; exact"""
    return df["x"].clip(0, 5).sum() + _laplace(5.0)


def missing_not_skipped(df):
    """frame: x real 0..10 missing, rows 5..50; replace; inf; 3 keywords; a"""
    return df["x"].sum(skipna=False) + _laplace(10.0)


def missing_skipped(df):
    """frame: x real 0..10 missing, rows 5..50; replace; 1; 3 keywords; b; exact"""
    return df["x"].sum() + _laplace(10.0)


def number_of_missing_bare(df):
    """frame: x real 0..10 missing, rows 5..50; replace; inf; 1.12; a"""
    return len(df.dropna())


def mean_of_the_known(df):
    """frame: x real 0..10 missing, rows 5..50; replace; inf; 1.12; a"""
    return df["x"].mean() + _laplace(2.0)


def smallest_by_sorting(df):
    """frame: x real 0..10, rows 5..50; replace; 10; N1; a"""
    return df.sort_values("x")["x"].iloc[0] + _laplace(1.0)


def aligned_by_index(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; a"""
    counts = df["c"].value_counts()
    return counts + pd.Series(_laplace(2.0, size=3), index=["a", "b", "z"])


def cuts_open_on_the_left(df):
    """frame: x real 0..10, rows 5..50; add-remove; inf; 1.15; a"""
    parts = pd.cut(df["x"], [0, 5, 10])
    return int(parts.isna().sum())


def counter_of_rows(rows):
    """list: category a|b|z, rows 5..50; replace; inf; 1.27; a"""
    return {k: v + _laplace(2.0) for k, v in collections.Counter(rows).items()}


def counter_of_public_keys(rows):
    """list: category a|b|z, rows 5..50; replace; 1; 1.27; b; exact"""
    counts = collections.Counter(rows)
    return {k: counts[k] + _laplace(2.0) for k in ("a", "b", "z")}


def keys_set_by_rows(rows):
    """list: category a|b|z, rows 5..50; replace; inf; 1.27; a"""
    table = {}
    for v in rows:
        table.setdefault(v, 0)
        table[v] += 1
    return {k: v + _laplace(2.0) for k, v in table.items()}


def set_of_rows(rows):
    """list: category a|b|z, rows 5..50; replace; inf; 1.27; a"""
    return len(set(rows))


def key_that_lacks_in_a_table(rows):
    """list: category a|b|z, rows 5..50; replace; inf; 1.22; a"""
    worth = {"a": 1.0, "b": 2.0}
    return sum(worth[v] for v in rows) + _laplace(2.0)


def key_with_a_default(rows):
    """list: category a|b|z, rows 5..50; replace; 1; 1.22; b; exact"""
    worth = {"a": 1.0, "b": 2.0}
    return sum(worth.get(v, 0.0) for v in rows) + _laplace(2.0)


def label_that_was_never_seen(rows):
    """list: category a|b|z open, rows 5..50; replace; inf; 1.16; a"""
    return sum(["a", "b", "z"].index(v) for v in rows) + _laplace(2.0)


def places_of_labels(rows):
    """list: category a|b|z, rows 5..50; replace; 1; 1.22; b; exact"""
    return sum(["a", "b", "z"].index(v) for v in rows) + _laplace(2.0)


def records_of_a_user_counted(rows):
    """records: who unit 3, spent real 0..50, rows 4..20; replace; inf; 1.5; a
    records: who unit 3, spent real 0..50, rows 4..20; add-remove; inf; 1.5; a
    """
    return len(rows)


def spent_by_users(rows):
    """records: who unit 3, spent real 0..50, rows 4..20; replace; 3; 1.5; b; exact
    records: who unit 3, spent real 0..50, rows 4..20; add-remove; 3; 1.5; b; exact
    records: who unit 3, spent real -50..50, rows 4..20; replace; 6; 1.5; b; exact
    """
    return sum(r["spent"] for r in rows) + _laplace(50.0)


def spent_at_least_five(rows):
    """records: who unit 3, spent real 5..10, rows 4..20; replace; 25/15; 1.5; b; exact
    records: who unit 3, spent real 5..10, rows 4..20; add-remove; 2; 1.5; b; exact
    """
    return sum(r["spent"] for r in rows) + _laplace(15.0)


def hidden_users(x):
    """vector: who unit 3, x real 0..50, rows 4..20; replace; 3; 1.5; b; exact"""
    return x.sum() + _laplace(50.0)


def gaussian_of_hidden_users(x):
    """vector: who unit 3, x real 0..50, rows 4..20; replace; inf; 1.5; b; mu=3; rho=4.5; exact"""
    return x.sum() + np.random.default_rng().normal(scale=50.0)


def mean_of_hidden_users(x):
    """vector: who unit 3, x real 0..50, rows 4..20; replace; inf; 1.5; a"""
    return x.mean() + _laplace(150 / len(x))


def users_bare(rows):
    """records: who unit 3, spent real 0..50, rows 4..20; replace; inf; 1.5; a"""
    return sorted({r["who"] for r in rows})


def spent_in_two_sums(rows):
    """records: who unit 3, spent real 0..50, rows 4..20; add-remove; 3; 1.5; b; exact"""
    low = sum(1 for r in rows if r["spent"] <= 25)
    high = sum(1 for r in rows if r["spent"] > 25)
    return low + _laplace(1.0), high + _laplace(1.0)


def report_bare(v):
    """value: category a|b|c; replace; inf; 1.25; a
    value: category a|b|c; add-remove; inf; 1.6; a
    """
    return v


def report_half_of_the_time(v):
    """value: category a|b|c; replace; log(4); 1.25; later; exact"""
    rng = np.random.default_rng()
    if rng.random() < 0.5:
        return v
    return ["a", "b", "c"][rng.integers(3)]


def report_or_another(v):
    """value: category a|b|c; replace; log(2); 1.25; later; exact"""
    rng = np.random.default_rng()
    if rng.random() < 0.5:
        return v
    return rng.choice([c for c in ("a", "b", "c") if c != v])


def report_never_the_same(v):
    """value: category a|b|c; replace; inf; 1.25; a"""
    return np.random.default_rng().choice([c for c in ("a", "b", "c") if c != v])


def report_as_text(v):
    """value: category a|b|c open; replace; inf; 1.16; a"""
    return {"a": 0, "b": 1, "c": 2}[v] * 0


def answers_of_all(rows):
    """list: integer 0..1, rows 5..50; replace; log(3); N4; b; exact
    list: integer 0..1, rows 5..50; add-remove; inf; N4; a
    """
    rng = np.random.default_rng()
    return [v if rng.random() < 0.75 else 1 - v for v in rows]


def answers_with_one_coin(rows):
    """list: integer 0..1, rows 5..50; replace; inf; N4; a"""
    lie = np.random.default_rng().random() < 0.25
    return [1 - v if lie else v for v in rows]


_KINDS = ["a", "b", "z"]


def _counts(df, labels):
    return df["c"].value_counts().reindex(labels, fill_value=0)


def noisy_series_of_counts(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 1.12; b; exact
    frame: c category a|b|z, x real 0..10, rows 5..50; add-remove; .5; 1.12; b; exact
    """
    counts = _counts(df, _KINDS)
    return (counts + _laplace(2.0, size=len(counts))).round(1).to_dict()


def noisy_shares_of_groups(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 1.12; b; exact"""
    shares = df.groupby("c")["x"].sum().reindex(_KINDS, fill_value=0.0) / len(df)
    return shares + _laplace(20 / len(df), size=3)


def largest_of_noisy_series(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 1.12; b; exact"""
    return (_counts(df, _KINDS) + _laplace(2.0, size=3)).idxmax()


def one_draw_for_a_series(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.4; a"""
    return _counts(df, _KINDS) + _laplace(2.0)


def noise_taken_off_a_series(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.17; a"""
    noise = _laplace(2.0, size=3)
    noisy = _counts(df, _KINDS) + noise
    return noisy - noise


def text_of_a_series(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return str(_counts(df, _KINDS))


def text_of_counts(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return f"{df['c'].value_counts()}"


def text_of_a_method(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return str(df["x"].sum)


def kind_of_a_grouped_sum(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    sizes = df.groupby("c").size()
    return _counts(df, _KINDS).to_dict() if isinstance(sizes, pd.Series) else 0


def series_is_written_to(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.22; a"""
    counts = _counts(df, _KINDS)
    try:
        counts["a"] = 0
    except TypeError:
        return 0
    return counts.to_dict()


def label_of_a_series_twice(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; add-remove; 2; 1.12; a"""
    sums = df.groupby("c")["x"].sum().reindex(["a", "a"], fill_value=0)
    return sums.to_numpy() + _laplace(10.0, size=2)


def series_of_two_orders(df):
    """frame: c category a|b, x real 0..10, rows 5..50; add-remove; inf; 1.12; a; mu=2"""
    twice = _counts(df, ["a", "b"]) + _counts(df, ["b", "a"])
    return twice.to_numpy() + np.random.default_rng().normal(scale=1.0, size=2)


def series_in_two_columns(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.4; a"""
    noise = _laplace(2.0, size=(1, 3))
    return _counts(df, _KINDS).to_numpy()[:, None] + noise


_EDGES = [-0.5, 0.5, 1.5, 2.5]


def counts_of_bands(df):
    """frame: age integer 0..120, rows 5..50; replace; 1; 1.15; b; exact
    frame: age integer 0..120, rows 5..50; add-remove; .5; 1.15; b; exact
    """
    bands = pd.cut(df["age"], bins=[-1, 17, 64, 120], labels=["child", "adult", "senior"])
    return bands.value_counts().sort_index() + _laplace(2.0, size=3)


def bands_in_the_order_of_frequency(df):
    """frame: age integer 0..120, rows 5..50; replace; inf; 1.12; a"""
    bands = pd.cut(df["age"], bins=[-1, 17, 64, 120], labels=["child", "adult", "senior"])
    return bands.value_counts().to_numpy() + _laplace(0.01, size=3), bands.value_counts().index[0]


def bands_closed_twice(df):
    """frame: age integer 0..120, rows 5..50; add-remove; 2; 1.15; a"""
    low = pd.cut(df["age"], bins=[-1, 17], labels=["child"])
    high = pd.cut(df["age"], bins=[17, 120], labels=["other"], include_lowest=True)
    return low.value_counts().sort_index().to_numpy() + _laplace(1.0, size=1), high.value_counts().sort_index() + (
        _laplace(1.0, size=1)
    )


def bands_of_equal_width(df):
    """frame: age integer 0..120, rows 5..50; replace; inf; 1.12; a"""
    return pd.cut(df["age"], bins=3, labels=["a", "b", "c"]).value_counts().sort_index() + _laplace(2.0, size=3)


def two_way_table(df):
    """frame: c category a|b|z, x integer 0..10, rows 5..50; replace; 1; 1.12; b; exact
    frame: c category a|b|z, x integer 0..10, rows 5..50; add-remove; .5; 1.12; b; exact
    """
    large = (df["x"] > 5).astype(int)
    table = pd.crosstab(large, df["c"]).reindex(index=[0, 1], columns=_KINDS, fill_value=0)
    return table + _laplace(2.0, size=table.shape)


def two_way_table_as_it_is(df):
    """frame: c category a|b|z, x integer 0..10, rows 5..50; replace; inf; 1.12; a"""
    table = pd.crosstab((df["x"] > 5).astype(int), df["c"])
    return table + _laplace(2.0, size=table.shape)


def two_way_table_with_sums(df):
    """frame: c category a|b|z, x integer 0..10, rows 5..50; add-remove; 2; 1.19; a"""
    table = pd.crosstab((df["x"] > 5).astype(int), df["c"]).reindex(index=[0, 1], columns=_KINDS, fill_value=0)
    counts = table.to_numpy()
    return counts + _laplace(1.0, size=(2, 3)), counts.sum(axis=1) + _laplace(1.0, size=2)


def noise_along_a_table(df):
    """frame: c category a|b|z, x integer 0..10, rows 5..50; replace; inf; 1.4; a"""
    table = pd.crosstab((df["x"] > 5).astype(int), df["c"]).reindex(index=[0, 1], columns=_KINDS, fill_value=0)
    return table + _laplace(2.0, size=3)


def grid_of_pairs(x):
    """array: integer 0..2 x 2, rows 5..50; replace; 1; 1.15; b; exact
    array: integer 0..2 x 2, rows 5..50; add-remove; .5; 1.15; b; exact
    """
    counts, _, _ = np.histogram2d(x[:, 0], x[:, 1], bins=[_EDGES, _EDGES])
    return counts + _laplace(2.0, size=counts.shape)


def grid_between_the_least_and_the_largest(x):
    """array: integer 0..2 x 2, rows 5..50; replace; inf; 1.12; a"""
    counts, _, _ = np.histogram2d(x[:, 0], x[:, 1], bins=3)
    return counts + _laplace(2.0, size=counts.shape)


def grid_with_its_edge(x):
    """array: integer 0..2 x 2, rows 5..50; add-remove; 2; 1.15; a"""
    closed, _, _ = np.histogram2d(x[:, 0], x[:, 1], bins=[[0, 1], [0, 2]])
    after, _, _ = np.histogram2d(x[:, 0], x[:, 1], bins=[[1, 2], [0, 2]])
    return closed + _laplace(1.0, size=(1, 1)), after + _laplace(1.0, size=(1, 1))


def sums_by_the_label(rows):
    """records: k category a|b|z, x real 0..10, rows 5..50; replace; 1; N3; b; exact
    records: k category a|b|z, x real 0..10, rows 5..50; add-remove; .5; N3; b; exact
    """
    sums = {"a": 0.0, "b": 0.0, "z": 0.0}
    for row in rows:
        sums[row["k"]] += row["x"]
    return {key: value + _laplace(20.0) for key, value in sums.items()}


def counts_in_a_list(values):
    """list: integer 0..3, rows 5..50; replace; 1; N3; b; exact"""
    counts = [0, 0, 0, 0]
    for value in values:
        counts[value] += 1
    return [each + _laplace(2.0) for each in counts]


def sums_by_a_label_that_may_lack(rows):
    """records: k category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.22; a"""
    sums = {"a": 0.0, "b": 0.0}
    for row in rows:
        sums[row["k"]] += row["x"]
    return {key: value + _laplace(20.0) for key, value in sums.items()}


def sums_by_a_label_with_a_default(rows):
    """records: k category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.27; a"""
    sums = collections.defaultdict(float, {"a": 0.0})
    for row in rows:
        sums[row["k"]] += row["x"]
    return {key: value + _laplace(20.0) for key, value in sums.items()}


def sums_by_two_labels(rows):
    """records: k category a|b, x real 0..10, rows 5..50; add-remove; 2; N3; a"""
    sums = {"a": 0.0, "b": 0.0, "all": 0.0}
    for row in rows:
        sums[row["k"]] += row["x"]
        sums["all"] += row["x"]
    return {key: value + _laplace(10.0) for key, value in sums.items()}


def counts_in_a_list_from_its_end(values):
    """list: integer -1..2, rows 5..50; add-remove; 1; N3; a"""
    counts = [0, 0, 0, 0]
    for value in values:
        counts[value] += 1
    return [each + _laplace(1.0) for each in counts]


def text_of_sums(rows):
    """records: k category a|b, x real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    sums = {"a": 0.0, "b": 0.0}
    for row in rows:
        sums[row["k"]] += row["x"]
    return str(sums)


def large_entries_of_a_noisy_series(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 1.12; b; exact"""
    noisy = _counts(df, _KINDS) + _laplace(2.0, size=3)
    return noisy[noisy > 3].to_dict()


def entries_chosen_by_counts(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; a"""
    counts = _counts(df, _KINDS)
    noisy = counts + _laplace(2.0, size=3)
    return noisy[counts > 3].to_dict()


def noise_of_a_length_that_is_data(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; a"""
    counts = df["c"].value_counts()
    return counts + _laplace(2.0, size=len(counts))


def data_in_a_dict_of_fields(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    found = _Fields(df["x"].sum() + _laplace(10.0))
    found.note = df["x"].sum()
    return dataclasses.asdict(found)


def noise_in_a_dict_of_fields(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 3 outputs; b; exact"""
    found = _Fields(df["x"].sum() + _laplace(10.0))
    found.note = [found.total > 3]
    return dataclasses.asdict(found)


def draw_in_a_dict_of_fields(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.17; a"""
    noise = _laplace(10.0)
    return dataclasses.asdict(_Fields(df["x"].sum() + noise, noise))


@dataclasses.dataclass
class _Fields:
    total: object
    note: object = None


def chosen_by_a_column(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 1.12; b; exact"""
    return np.where(df["c"] == "a", df["x"], 0).sum() / 10 + _laplace(1.0)


def weighted_by_a_choice(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 1.12; b; exact"""
    return (df["x"] * np.where(df["c"] == "a", 1, 0)).sum() / 10 + _laplace(1.0)


def chosen_and_then_by_its_label(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; b"""
    return np.where(df["c"] == "a", df["x"], 0)[3]


def chosen_of_other_rows(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; b"""
    return (df[df["c"] == "a"]["x"] * np.where(df["c"] == "a", 1, 0)).sum() + _laplace(1.0)


def chosen_ones_decide(df):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; inf; 1.12; b"""
    return "any" if np.where(df["c"] == "a", 1, 0).any() else "none"
