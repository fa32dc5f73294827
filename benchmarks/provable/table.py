"""What is true of each program of `programs/`: its data, the relation, the claim, and why the claim is right or wrong.

A right claim holds for all neighbouring datasets of the data line, in real arithmetic with ideal samplers. A wrong
one is false for the pair that its reason names. `exact` is the least number for which the claim would be true, where a
closed form is known: eps of a pure claim, rho of zCDP, mu of GDP, eps at the claimed delta of an approximate one.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Row:
    """One program with a claim. `twin` is the right row that a wrong one is a mistaken version of."""

    name: str
    right: bool
    reason: str
    exact: float | None = None
    data: str = ""
    relation: str = ""
    claim: str = ""
    twin: str = ""
    function: str = ""
    file: str = ""
    hard: bool = False

    @property
    def path(self) -> Path:
        """Where the program is."""
        return PROGRAMS / self.file


def right(
    name: str,
    claim: str,
    relation: str,
    data: str,
    exact: float | None,
    reason: str,
    *,
    function: str = "",
    hard: bool = False,
) -> Row:
    """A true claim; `function` where the name of the row is another one."""
    return Row(
        name, True, reason, exact, data=data, relation=relation, claim=claim, function=function or name, hard=hard
    )


def wrong(
    name: str,
    twin: str,
    exact: float | None,
    reason: str,
    *,
    function: str = "",
    claim: str = "",
    relation: str = "",
    data: str = "",
) -> Row:
    """A false claim; claim, relation and data are those of the twin where none are given."""
    return Row(
        name, False, reason, exact, data=data, relation=relation, claim=claim, twin=twin, function=function or name
    )


def _themes(**themes: tuple[Row, ...]) -> tuple[Row, ...]:
    """All rows with their files; a wrong one takes from its twin what it does not say itself."""
    rows = [replace(row, file=f"{theme}.py") for theme, found in themes.items() for row in found]
    known = {row.name: row for row in rows if row.right}
    return tuple(
        row
        if row.right
        else replace(
            row,
            data=row.data or known[row.twin].data,
            relation=row.relation or known[row.twin].relation,
            claim=row.claim or known[row.twin].claim,
        )
        for row in rows
    )


INF = math.inf
WIDE, WIDE_LIST = "vector: real -1000..1000, rows 5..50", "list: real -1000..1000, rows 5..50"
UNIT, AGES = "vector: real -1..1, rows 5..50", "list: integer 0..120, rows 5..50"

MEANS = (
    right(
        "clipped_mean", "pure:1", "replace", WIDE, 1.0, "a clipped row moves the mean by (upper - lower)/n, the scale"
    ),
    wrong("mean_unit_scale", "clipped_mean", 20.0, "n = 5, a row from 0 to 100: the mean moves by 20, scale 1"),
    wrong("raw_mean", "clipped_mean", 20.0, "a row from -1000 to 1000: the mean moves by 2000/n, scale 100/n"),
    wrong(
        "mean_then_clip",
        "clipped_mean",
        20.0,
        "n = 20, all rows 0, one becomes 1000, another -1000 makes room: the clipped mean moves by 100, scale 100/n",
    ),
    wrong("mean_one_sided_clip", "clipped_mean", 11.0, "a row from -1000 to 1000: the mean moves by 1100/n"),
    right(
        "mean_from_parts",
        "pure:1",
        "add-remove",
        WIDE,
        None,
        "sum moves by 100 of scale 200, count by 1 of scale 2; the quotient is computed from both",
    ),
    wrong(
        "mean_over_length",
        "mean_from_parts",
        INF,
        "any dataset with a row more: the noise is divided by n and by n + 1, tails of two scales",
    ),
    right("sum_and_size", "pure:1", "add-remove", WIDE, 1.0, "100/200 + 1/2 for an added row of 100"),
    wrong("sum_and_size_full", "sum_and_size", 2.0, "an added row of 100: 100/100 + 1/1"),
    right("average", "pure:1", "replace", WIDE_LIST, 1.0, "difference of exponentials is Laplace of scale 100/n"),
    wrong("average_expo", "average", INF, "a row from 0 to 100: outputs between the two means are impossible on one"),
    wrong("average_gauss", "average", INF, "a row from 0 to 100: normal tails have no bounded ratio"),
    right("mean_inverse_cdf", "pure:1", "replace", WIDE, 1.0, "inverse transform of Laplace, scale 100/n"),
    wrong(
        "mean_inverse_cdf_half",
        "mean_inverse_cdf",
        INF,
        "a row from 0 to 100: noise ends at ln 2 scales, and the mean moves by one scale",
    ),
    right("centered_mean", "pure:1", "replace", UNIT, 1.0, "a row moves by at most 2, the mean by 2/n"),
    wrong("centered_mean_bound", "centered_mean", 2.0, "a row from -1 to 1: the mean moves by 2/n, scale 1/n"),
    right("scipy_mean", "pure:1", "replace", WIDE, 1.0, "Laplace of scale 100/n"),
    wrong(
        "scipy_mean_positional",
        "scipy_mean",
        20.0,
        "n = 5, a row from 0 to 100: the first argument is the location, the scale is 1 and the mean moves by 20",
    ),
    right(
        "rounded_mean",
        "pure:1",
        "replace",
        WIDE,
        1.0,
        "rounding what was noised costs nothing, and keeps the ratio of tails",
    ),
    wrong(
        "mean_of_rounded",
        "rounded_mean",
        1.47,
        "n = 49, all rows .49 but one that goes from .49 to 100: the rounded mean goes from 0 to 3, scale 100/49",
    ),
    right("positive_part_mean", "pure:1", "replace", WIDE, 1.0, "each row counts with a number of [0, 100], over n"),
    wrong(
        "mean_of_positive",
        "positive_part_mean",
        50.0,
        "n = 50, all rows -1 but one that goes from 100 to -1: from 100 to 0, scale 2",
    ),
    wrong(
        "mean_of_positive_own_size",
        "positive_part_mean",
        INF,
        "two positive rows, one becomes -1: the scale goes from 50 to 100",
    ),
    right(
        "padded_mean",
        "pure:1",
        "add-remove",
        WIDE_LIST,
        1.0,
        "a removed row takes at most 100 away and lets at most one row of at most 100 in; over 30, which is public",
    ),
    wrong("padded_mean_all", "padded_mean", 6.0, "n = 5, a row from 0 to 100: 20 over 100/30", relation="replace"),
)

COUNTS = (
    right("count_adults", "pure:.5", "add-remove", AGES, 0.5, "a count moves by 1, scale 2"),
    wrong("count_adults_eps", "count_adults", 2.0, "an added 18: the count moves by 1, scale .5"),
    wrong("count_adults_seeded", "count_adults", INF, "an added 18: the same noise in every run, two numbers"),
    right("two_counts", "pure:1", "add-remove", AGES, 1.0, "an added 65 is in both counts: 1/2 + 1/2"),
    wrong("two_counts_full", "two_counts", 2.0, "an added 65: 1 + 1"),
    wrong("two_counts_one_noise", "two_counts", INF, "an added 18: the difference of both outputs is exact"),
    right("nonnegative_count", "pure:1", "add-remove", AGES, 1.0, "a count of scale 1, cut off afterwards"),
    wrong(
        "count_or_zero",
        "nonnegative_count",
        INF,
        "no senior, and one: a positive number is impossible on the first",
    ),
    wrong(
        "count_redrawn",
        "nonnegative_count",
        1 + math.log(2 - 1 / math.e),
        "no senior, and one: noise given that the sum is not negative has mass 1/2 against 1 - 1/(2e); ratio at 0",
    ),
    right("age_bands", "pure:1", "add-remove", AGES, 1.0, "the bands are disjoint: one count moves by 1"),
    wrong("age_bands_nested", "age_bands", 3.0, "an added 65 is in all three counts"),
    wrong(
        "age_bands_replaced",
        "age_bands",
        2.0,
        "a row from 10 to 70: two counts move by 1",
        function="age_bands",
        relation="replace",
    ),
    right("thresholds", "pure:1", "add-remove", AGES, 1.0, "an added 80 is in four counts of eps 1/4"),
    wrong("thresholds_full", "thresholds", 4.0, "an added 80 is in four counts of eps 1"),
    right("count_text", "pure:1", "add-remove", AGES, 1.0, "text of a noisy count of scale 1"),
    wrong("count_text_of", "count_text", INF, "a row more: the text has the true number of rows"),
    right("distinct", "pure:1", "add-remove", AGES, 1.0, "the number of different values moves by at most 1"),
    right(
        "distinct_replaced",
        "pure:1",
        "replace",
        AGES,
        1.0,
        "one value may go and one may come: the number moves by at most 1",
        function="distinct",
        hard=True,
    ),
    wrong(
        "not_unique_replaced",
        "distinct_replaced",
        2.0,
        "ages 1 to 5, and 1 to 4 with another 4: the number goes from 0 to 2",
        function="not_unique",
    ),
    wrong("not_unique", "distinct", 2.0, "ages 1 to 5, and another 5: the number goes from 0 to 2"),
    right("share_of_adults", "pure:1", "replace", AGES, 1.0, "a share moves by 1/n, the scale; cut off afterwards"),
    wrong("share_of_adults_unscaled", "share_of_adults", 50.0, "n = 50, 25 adults, one more: 1/50 over 1/2500"),
    right("count_if_many", "pure:1", "add-remove", AGES, 1.0, "the noisy count decides on what is shown of it"),
    wrong("count_if_enough", "count_if_many", INF, "9 adults, and 10: a number is impossible on the first"),
)

CELLS, COLORS = "vector: integer 0..4, rows 5..50", "list: category red|green|blue|black, rows 5..50"
HISTOGRAMS = (
    right("histogram", "pure:1", "replace", CELLS, 1.0, "two cells move by 1, scale 2"),
    wrong("histogram_one_cell", "histogram", 2.0, "a row from 0 to 1: two cells move by 1, scale 1"),
    wrong("histogram_same_noise", "histogram", INF, "a row from 0 to 1: differences of cells are exact"),
    right("color_counts", "pure:1", "add-remove", COLORS, 1.0, "one public cell moves by 1, scale 1"),
    wrong("color_counts_seen", "color_counts", INF, "five red rows, and a blue one more: a key comes"),
    wrong("color_counts_nonzero", "color_counts", INF, "five red rows, and a blue one more: a key comes"),
    wrong("color_counts_and_all", "color_counts", 2.0, "a row more: its cell and the total move by 1"),
    right("frequent_colors", "pure:1", "add-remove", COLORS, 1.0, "noisy counts of public cells decide on the keys"),
    wrong("frequent_colors_true", "frequent_colors", INF, "three red rows among five, and a fourth: a key comes"),
    right(
        "stable_histogram",
        "approx:1,1e-6",
        "add-remove",
        COLORS,
        None,
        "a key in both datasets is 1-DP; a new one has count 1 and passes with chance e^-ln(1/(2 delta))/2 = delta",
        hard=True,
    ),
    wrong(
        "stable_histogram_low", "stable_histogram", INF, "five red rows, and a blue one: the key has chance .18, or 0"
    ),
    wrong(
        "stable_histogram_pure",
        "stable_histogram",
        INF,
        "five red rows, and a blue one more: the key is impossible on the first",
        function="stable_histogram",
        claim="pure:1",
    ),
    right("binned", "pure:1", "add-remove", "vector: real 0..100, rows 5..50", 1.0, "public bins: one moves by 1"),
    wrong(
        "binned_auto",
        "binned",
        None,
        "0, 1, .., 9, and a row 100 more: ten bins of one become one of ten; counts move by 17 and more, scale 1",
    ),
    wrong("binned_with_edges", "binned", INF, "five rows 0, and a row 100 more: the edges are exact"),
    right("proportions", "pure:1", "replace", CELLS, 1.0, "two shares move by 1/n, scale 2/n"),
    wrong("proportions_one", "proportions", 2.0, "a row from 0 to 1: two shares move by 1/n, scale 1/n"),
    right("normalized", "pure:1", "replace", CELLS, None, "computed from a noisy histogram of eps 1; at most 1"),
    wrong("normalized_first", "normalized", 40.0, "n = 5, a row from 0 to 1: two shares move by .2, scale .01"),
    right("contingency", "pure:1", "add-remove", "array: integer 0..2 x 2, rows 5..50", 1.0, "one cell moves by 1"),
    wrong("marginals", "contingency", 2.0, "a row more: a cell of each of two marginals moves by 1, scale 1"),
    right("cumulative", "pure:1", "add-remove", CELLS, 1.0, "sums of noisy cells; one cell moves by 1"),
    wrong("cumulative_counts", "cumulative", 5.0, "a row 0 more: all five running counts move by 1, scale 1"),
)

VOTES, YES = "list: category a|b|c, rows 5..30", "list: category yes|no, rows 5..30"
CHOICES = (
    right("winner", "pure:1", "replace", VOTES, None, "noisy maximum: counts move by 1, scale 2; at most 1", hard=True),
    wrong(
        "winner_half",
        "winner",
        None,
        "30 b, and 29 b with one a: a wins where a difference of two Laplace passes 30, or 28: about 1.9",
    ),
    wrong("winner_and_count", "winner", INF, "five a, and four a with one b: the winner a has exactly 5"),
    wrong("winner_shared_noise", "winner", INF, "3 a and 2 b, 2 a and 3 b: the same noise on all changes no order"),
    right("exponential_choice", "pure:1", "replace", VOTES, None, "exponential mechanism, scores move by 1; at most 1"),
    wrong(
        "exponential_choice_full",
        "exponential_choice",
        None,
        "30 b, and 29 b with one a: the chance of a goes from e^-30 to e^-28: 2 but for e^-28",
    ),
    wrong("exponential_choice_present", "exponential_choice", INF, "five a, and four a with one b: b is impossible"),
    right(
        "gumbel_choice",
        "pure:1",
        "replace",
        "vector: integer 0..3, rows 5..30",
        None,
        "Gumbel maximum is the exponential mechanism with exp(score/2); at most 1",
    ),
    wrong("gumbel_choice_full", "gumbel_choice", None, "30 rows 1, one of them becomes 0: chance of 0 by about e^2"),
    right(
        "permute_and_flip", "pure:1", "replace", VOTES, None, "permute and flip with exp(gap/2); at most 1", hard=True
    ),
    wrong("flip_in_order", "permute_and_flip", INF, "3 a and 2 b: always a; 2 a and 3 b: b has chance 1 - e^-.5"),
    right(
        "best_price",
        "pure:1",
        "replace",
        "vector: real 0..10, rows 5..50",
        None,
        "revenue at a price moves by the price, at most 10; exp(revenue/20); at most 1",
    ),
    wrong(
        "best_price_unit",
        "best_price",
        None,
        "five bids 0, one becomes 10: the price 1 has chance .1, then .0044: 3.1",
    ),
    right(
        "farther_column",
        "pure:1",
        "replace",
        "records: x integer 0..1, y integer 0..1, rows 6..20",
        None,
        "scores move by 2, exp(score/4): the odds move by at most e^1",
    ),
    wrong(
        "farther_column_unit",
        "farther_column",
        None,
        "six rows x=0, y=1, one becomes x=1, y=0: the chance of x goes from .0025 to .018: 1.98",
    ),
    right("more_yes", "pure:1", "replace", YES, 1.0, "the lead moves by 2, scale 2; its sign is computed from it"),
    wrong("more_yes_unit", "more_yes", 2.0, "five no, one becomes yes: P(yes) from e^-5/2 to e^-3/2"),
    right(
        "top_two",
        "pure:1",
        "replace",
        CELLS,
        None,
        "the two largest with Gumbel noise are two exponential mechanisms, one after the other, of eps 1/2",
        hard=True,
    ),
    wrong(
        "top_two_full",
        "top_two",
        None,
        "50 rows 2, one becomes 0: P(0, then 1) by e^.5 e^.5 for the first and e^.5 for the second: about 1.5",
    ),
    right(
        "exponential_noise_choice",
        "pure:1",
        "replace",
        VOTES,
        None,
        "the maximum with one-sided exponential noise of scale 2 is permute and flip; at most 1",
        hard=True,
    ),
    wrong("exponential_noise_choice_full", "exponential_noise_choice", None, "30 b, one becomes a: P(a) by about e^2"),
    right(
        "majority_of_teachers",
        "pure:1",
        "replace",
        YES,
        None,
        "a row has one teacher, whose vote turns: both counts move by 1, scale 2; at most 1",
    ),
    wrong(
        "majority_of_first_teachers",
        "majority_of_teachers",
        None,
        "n = 5, the first row turns: all five votes do; P(yes) from .092 to .908: 2.29",
    ),
)

ROWS4, FOUR = "array: real -1..1 x 4, rows 10..100", "vector: integer 0..3, rows 5..50"
VECTORS = (
    right("l1_clipped_sum", "pure:1", "replace", ROWS4, 1.0, "rows of l1 norm at most 1: the sum moves by 2 in l1"),
    wrong(
        "l2_clipped_sum_laplace",
        "l1_clipped_sum",
        2.0,
        "(.5, .5, .5, .5) becomes its negative: l2 norm 1, the sum moves by 4 in l1, scale 2",
    ),
    wrong("l1_clipped_sum_once", "l1_clipped_sum", 2.0, "(1, 0, 0, 0) becomes its negative: by 2, scale 1"),
    right("l2_clipped_sum", "gdp:1", "replace", ROWS4, 1.0, "rows of l2 norm at most 1: by 2 in l2, sigma 2"),
    wrong("l2_clipped_sum_small", "l2_clipped_sum", 2.0, "(1, 0, 0, 0) becomes its negative: by 2, sigma 1"),
    wrong(
        "whole_norm_clipped_sum",
        "l2_clipped_sum",
        None,
        "100 rows (.1, 0, 0, 0), one becomes (1, 1, 1, 1): the first number goes from 10 to 4.9, mu above 2.5",
    ),
    right("coordinate_sum", "pure:1", "replace", ROWS4, 1.0, "four sums move by 2, scale 8"),
    wrong("coordinate_sum_one", "coordinate_sum", 4.0, "(1, 1, 1, 1) becomes its negative: four sums by 2, scale 2"),
    right(
        "gradient_step",
        "zcdp:.5",
        "add-remove",
        "args: real -1..1 x 3, label category 0|1, rows 20..50",
        0.5,
        "clipped gradients of norm at most .5, sigma .5: rho 1/2",
    ),
    wrong(
        "gradient_step_late_clip",
        "gradient_step",
        1.5,
        "rows 0 but (.5, .5, .5) with label 1, and (1, 1, 1) with label 0 more: -.433 to .433 in norm, sigma .5",
    ),
    wrong("gradient_step_unclipped", "gradient_step", 1.5, "rows 0, and (1, 1, 1) more: by .866, sigma .5"),
    right("second_moment", "gdp:1", "add-remove", ROWS4, 1.0, "xx' of a row of norm 1 has Frobenius norm 1"),
    wrong("second_moment_raw", "second_moment", 4.0, "(1, 1, 1, 1) more: xx' has Frobenius norm 4, sigma 1"),
    right("hierarchical_counts", "pure:1", "add-remove", FOUR, 1.0, "a row is in three sums, scale 3"),
    wrong("hierarchical_counts_one", "hierarchical_counts", 3.0, "a row more: three sums move by 1, scale 1"),
    right("hierarchical_fit", "pure:1", "add-remove", FOUR, None, "least squares of noisy sums of eps 1; at most 1"),
    wrong("hierarchical_fit_exact_total", "hierarchical_fit", INF, "a row more: the estimates sum to the true number"),
    right(
        "prefix_sums",
        "pure:1",
        "replace",
        "list: integer 0..1, rows 8",
        1.0,
        "the first bit is in four nodes (of sizes 1, 2, 4, 8), others in fewer; scale 4",
        hard=True,
    ),
    wrong("prefix_sums_three", "prefix_sums", 4 / 3, "the first bit turns: four nodes move by 1, scale 3"),
    right("normalized_rows_mean", "pure:1", "replace", ROWS4, 1.0, "rows of l1 norm at most 1: the mean by 2/n in l1"),
    wrong(
        "normalized_mean",
        "normalized_rows_mean",
        None,
        "rows 0 but (1, 1, 1, 1), which becomes its negative: the mean moves by 8/n in l1, scale 2/n: at least 4",
    ),
)

FRAME = "frame: age integer 0..120, income real 0..1e5, city category Aarhus|Bergen|Cork, rows 5..50"
GAPS = "frame: age integer 0..120, income real 0..1e5 missing, rows 5..50"
FRAMES = (
    right("mean_income", "pure:1", "replace", FRAME, 1.0, "a clipped income moves the mean by 50000/n, the scale"),
    wrong("mean_income_raw", "mean_income", 2.0, "an income from 0 to 100000: the mean by 100000/n, scale 50000/n"),
    wrong(
        "mean_income_trimmed_rows",
        "mean_income",
        50.0,
        "n = 50, all incomes 100000 but one that goes from 50000 to 0: its mean is released, scale 1000",
    ),
    right("city_sizes", "pure:1", "add-remove", FRAME, 1.0, "one of three public counts moves by 1"),
    wrong("city_sizes_present", "city_sizes", INF, "all in Aarhus, and one in Cork more: a row comes"),
    right("city_totals", "pure:1", "add-remove", FRAME, 1.0, "one total moves by at most 100000, the scale"),
    wrong("city_totals_unit", "city_totals", 1e5, "an income of 100000 more: a total by 100000, scale 1"),
    right("city_shares", "pure:1", "replace", FRAME, 1.0, "two totals over n move by 100000/n, scale 200000/n"),
    wrong(
        "city_means",
        "city_shares",
        50.0,
        "n = 50, all in Aarhus but one of 100000, who goes from Bergen to Cork: two means by 100000, scale 4000",
    ),
    right("rich_adults", "pure:1", "add-remove", FRAME, 1.0, "a count moves by 1, scale 1"),
    wrong("rich_adults_query", "rich_adults", INF, "a row more: the number of rows is exact"),
    right("age_table", "pure:1", "add-remove", FRAME, 1.0, "public bands: one count moves by 1"),
    wrong(
        "age_table_auto",
        "age_table",
        None,
        "ages 0, 30 and 20 times 15, and an age 120 more: counts 1, 20, 1 become 22, 0, 1; scale 1",
    ),
    right("cross_table", "pure:1", "add-remove", FRAME, 1.0, "one public cell moves by 1"),
    wrong("cross_table_margins", "cross_table", 3.0, "a row more: a cell, its row and its column move by 1"),
    right("total_filled", "pure:1", "add-remove", GAPS, 1.0, "a row moves the total by at most 100000"),
    wrong(
        "total_mean_filled",
        "total_filled",
        50.0,
        "49 missing incomes, and one of 100000 more: the total goes from 0 to 50 times 100000",
    ),
    right("mean_filled", "pure:1", "replace", GAPS, 1.0, "each row counts with a number of [0, 100000], over n"),
    wrong(
        "mean_known",
        "mean_filled",
        50.0,
        "n = 50, all missing but one that goes from 100000 to 0: by 100000, scale 2000",
    ),
    right("two_means", "pure:1", "replace", FRAME, 1.0, "two means of eps 1/2"),
    wrong("two_means_full", "two_means", 2.0, "age and income from 0 to their caps: two means of eps 1"),
    right("largest_income", "pure:1", "add-remove", FRAME, 1.0, "the maximum moves by at most 100000, the scale"),
    wrong("largest_income_unit", "largest_income", 1e5, "incomes 0, and 100000 more: by 100000, scale 1"),
    right("with_apply", "pure:1", "add-remove", FRAME, 1.0, "a row has a score of [0, 50], scale 50"),
    wrong("with_apply_thousands", "with_apply", 2.0, "an adult of 100000 more: the sum by 100, scale 50"),
)

ROWS = _themes(
    means=MEANS,
    counts=COUNTS,
    histograms=HISTOGRAMS,
    choices=CHOICES,
    vectors=VECTORS,
    frames=FRAMES,
)
