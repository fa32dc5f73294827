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
    right("rounded_mean", "pure:1", "replace", WIDE, 1.0, "rounding of a noisy mean; keeps the ratio of tails"),
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
    wrong("stable_histogram_low", "stable_histogram", INF, "five red rows, and a blue one: its key has chance .18"),
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
    right("permute_and_flip", "pure:1", "replace", VOTES, None, "permute and flip, exp(gap/2); at most 1", hard=True),
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

PEOPLE = "records: age integer 0..120, smoker category yes|no, spent real 0..50, rows 4..40"
CLASSES = "records: group category a|b|c|d, x real 0..1, rows 4..20"
RECORDS = (
    right("total_spent", "pure:1", "add-remove", PEOPLE, 1.0, "a row counts with at most 20, scale 20"),
    wrong("total_spent_raw", "total_spent", 2.5, "a row of 50 more: by 50, scale 20"),
    wrong("total_spent_capped_late", "total_spent", 2.5, "four rows of 0, and one of 50 more: 50 is below 20 times 5"),
    right("smoking_rate", "pure:1", "replace", PEOPLE, 1.0, "a rate moves by 1/n, the scale"),
    wrong("smoking_rate_hidden_if_few", "smoking_rate", INF, "2 smokers, and 3: a number is impossible on the first"),
    right("spent_by_smoker", "pure:1", "add-remove", PEOPLE, 1.0, "one of two public totals by at most 50"),
    wrong("spent_by_smoker_default", "spent_by_smoker", INF, "nobody smokes, and a smoker more: a key comes"),
    right(
        "weighted_count",
        "pure:1",
        "add-remove",
        "records: age integer 0..100, grams weight 0..5, rows 3..40",
        1.0,
        "a weight of at most 5, scale 5",
    ),
    wrong("weighted_count_plain", "weighted_count", 5.0, "an adult of weight 5 more: by 5, scale 1"),
    right("as_json", "pure:1", "replace", PEOPLE, 1.0, "the number of rows is the same; the count moves by 1"),
    wrong(
        "as_json_added",
        "as_json",
        INF,
        "a row more: the number of rows is exact",
        function="as_json",
        relation="add-remove",
    ),
    right("smoker_average", "pure:1", "add-remove", PEOPLE, None, "a sum of eps 1/2 and a count of eps 1/2; at most 1"),
    wrong(
        "smoker_average_true_count",
        "smoker_average",
        INF,
        "two smokers, and a third: noise of scale 25, and of 50/3",
    ),
    right("sums_of_public_classes", "pure:1", "add-remove", CLASSES, 1.0, "one of four public sums by at most 1"),
    wrong("sums_of_present_classes", "sums_of_public_classes", INF, "all of class a, and a row of b more: a key comes"),
    right("points", "pure:1", "add-remove", PEOPLE, 1.0, "a row has at most 2 points, scale 2"),
    wrong("points_both", "points", 1.5, "a smoker of 70 more: 3 points, scale 2"),
    wrong(
        "points_in_a_row",
        "points",
        9.5,
        "20 smokers, one who is none, 19 smokers, and the same without the one: a streak of 20 becomes 39",
    ),
)

FRUIT, BOTH = "value: category apple|banana|cherry|date", "value: smokes category 0|1, drinks category 0|1"
E = math.e
LOCAL = (
    right("coin_twice", "pure:1.1", "replace", "value: category yes|no", math.log(3), "3/4 against 1/4"),
    wrong("coin_twice_often", "coin_twice", math.log(7), "yes and no: 7/8 against 1/8"),
    right("flip_bit", "pure:1", "replace", "value: category 0|1", 1.0, "e/(1 + e) against 1/(1 + e)"),
    wrong(
        "flip_bit_or_coin",
        "flip_bit",
        math.log(1 + 2 * E),
        "0 and 1: keep + (1 - keep)/2 against (1 - keep)/2, keep/(1 - keep) = e",
    ),
    wrong("flip_bit_one_way", "flip_bit", INF, "0 and 1: the answer 1 is impossible on 0"),
    right("k_ary", "pure:1", "replace", FRUIT, 1.0, "e/(e + 3) against 1/(e + 3)"),
    wrong("k_ary_binary_keep", "k_ary", 1 + math.log(3), "apple and banana: e/(e + 1) against 1/(3 (e + 1))"),
    wrong("k_ary_any", "k_ary", None, "apple and banana: .607 against .131: 1.53"),
    right("unary", "pure:1", "replace", FRUIT, 1.0, "two bits differ, each of eps 1/2"),
    wrong("unary_full", "unary", 2.0, "apple and banana: two bits differ, each of eps 1"),
    wrong("unary_one_draw", "unary", INF, "apple and banana: all bits turn or none; no output is common"),
    right("optimized_unary", "pure:1", "replace", FRUIT, 1.0, "1/2 (1 - q) against q/2, (1 - q)/q = e"),
    wrong("optimized_unary_high", "optimized_unary", 1 + math.log(3), "apple and banana: .75 (1 - q) against .25 q"),
    right("local_number", "pure:1", "replace", "value: real 0..10", 1.0, "two values are at most 10 apart, scale 10"),
    wrong("local_number_clipped", "local_number", 10.0, "0 and 10: the answer 10 has chance e^-10/2 and 1/2"),
    right("one_bit_mean", "pure:1", "replace", "value: real -1..1", 1.0, "chances from 1/(1 + e) to e/(1 + e)"),
    wrong("one_bit_mean_plain", "one_bit_mean", INF, "-1 and 1: the answer 1 has chance 0 and 1"),
    right("two_answers", "pure:1", "replace", BOTH, 1.0, "two answers of eps 1/2"),
    wrong("two_answers_full", "two_answers", 2.0, "0, 0 and 1, 1: two answers of eps 1"),
    right("sampled_question", "pure:1", "replace", BOTH, 1.0, "the question is drawn without the data; eps 1"),
    wrong("sampled_question_if_yes", "sampled_question", INF, "smokes 0 and 1: the question tells which"),
    right("one_in_ten_is_dropped", "pure:2", "replace", "value: real 0..1", 2.0, "1 apart, scale 1/2; else a constant"),
    wrong("one_in_ten_passes", "one_in_ten_is_dropped", INF, "0 and 1: the answer 0 has chance .1 and 0"),
    wrong(
        "one_in_ten_passes_clipped",
        "one_in_ten_is_dropped",
        INF,
        "0.3 and 0.6: the answer 0.3 has chance .1 and 0",
    ),
    right(
        "redraw_until_inside",
        "pure:1",
        "replace",
        "value: real 0..1",
        1.0,
        "v + ln Z(v) and v - ln Z(v) grow in v, with Z the mass inside, and Z(0) = Z(1): at most 1 - 0",
        hard=True,
    ),
    wrong(
        "redraw_until_positive",
        "redraw_until_inside",
        1 + math.log(2 - 1 / E),
        "0 and 1: mass 1/2 and 1 - 1/(2e) on the positive side; the ratio at 0",
    ),
)

SHARES, COUNTED = "vector: real 0..1, rows 5..50", "vector: real 0..100, rows 5..50"
GAUSSIAN = (
    right("zcdp_mean", "zcdp:.1", "replace", SHARES, 0.1, "the mean moves by 1/n, sigma = 1/n/sqrt(2 rho)"),
    wrong("zcdp_mean_variance", "zcdp_mean", 50.0, "n = 50, a row from 0 to 1: by .02, deviation .02^2/.2 = .002"),
    wrong("zcdp_mean_no_root", "zcdp_mean", 12.5, "a row from 0 to 1: by 1/n, deviation .2/n"),
    right("classical_sum", "approx:1,1e-5", "add-remove", COUNTED, 0.751, "mu = 1/sqrt(2 ln(1.25/delta)) = .2064"),
    wrong("classical_sum_unit", "classical_sum", 300.14, "a row of 100 more: by 100, deviation 4.84: mu = 20.6"),
    wrong("classical_sum_no_delta", "classical_sum", 4.377, "a row of 100 more: mu = 1"),
    right("gaussian_histogram", "gdp:1", "replace", CELLS, 1.0, "two cells move by 1: sqrt(2) in l2, the sigma"),
    wrong("gaussian_histogram_one", "gaussian_histogram", math.sqrt(2), "a row from 0 to 1: sqrt(2) in l2, sigma 1"),
    right("gauss_count", "gdp:.5", "add-remove", AGES, 0.5, "a count by 1, sigma 2"),
    wrong("gauss_count_root", "gauss_count", math.sqrt(0.5), "an 18 more: by 1, sigma sqrt(2)"),
    right("gauss_three", "gdp:1", "add-remove", AGES, 1.0, "three counts by 1: sqrt(3) in l2, the sigma"),
    wrong("gauss_three_full", "gauss_three", math.sqrt(3), "a 65 more: three counts by 1, sigma 1"),
    right(
        "multivariate",
        "gdp:1",
        "add-remove",
        "array: integer 0..1 x 3, rows 5..50",
        1.0,
        "a row has norm at most sqrt(3), the deviation",
    ),
    wrong("multivariate_std", "multivariate", 3**0.25, "1, 1, 1 more: sqrt(3) over the root of sqrt(3)"),
    right("box_muller_sum", "gdp:1", "add-remove", SHARES, 1.0, "Box-Muller gives a standard normal", hard=True),
    wrong("box_muller_sum_half", "box_muller_sum", math.sqrt(2), "a row of 1 more: the deviation is sqrt(1/2)"),
    right("scipy_normal_sum", "gdp:1", "add-remove", COUNTED, 1.0, "by 100, sigma 100"),
    wrong("scipy_normal_sum_positional", "scipy_normal_sum", 100.0, "a row of 100 more: sigma 1, 100 is the location"),
    right("quantile_normal_sum", "gdp:1", "add-remove", SHARES, 1.0, "the quantile of a uniform is standard normal"),
    wrong("quantile_normal_sum_abs", "quantile_normal_sum", INF, "rows 0, and a 1 more: below 1 is impossible"),
    right("averaged_noise", "gdp:1", "add-remove", SHARES, 1.0, "the mean of four of deviation 2 has deviation 1"),
    wrong("averaged_noise_plain", "averaged_noise", 2.0, "a row of 1 more: the mean has deviation 1/2"),
)

BITS = "vector: integer 0..1, rows 5..50"
INTEGERS = (
    right("geometric_count", "pure:.5", "add-remove", AGES, 0.5, "difference of geometrics of ratio e^-.5"),
    wrong("geometric_count_inverse", "geometric_count", 2.0, "an 18 more: the ratio is e^-2"),
    wrong("geometric_count_one", "geometric_count", INF, "nobody of 18, and one: the output 0 is impossible then"),
    wrong("uniform_count", "geometric_count", INF, "nobody of 18, and one: -10 is impossible then"),
    right(
        "geometric_sum",
        "pure:1",
        "add-remove",
        "vector: integer -5..20, rows 5..50",
        1.0,
        "by at most 10, ratio e^-.1",
    ),
    wrong("geometric_sum_unit", "geometric_sum", 10.0, "a 10 more: by 10, ratio e^-1"),
    right("looped_count", "pure:1", "add-remove", AGES, 1.0, "discrete Laplace by coins, without a second zero"),
    wrong("looped_count_any", "looped_count", 1 + math.log(2), "a 65 more: 1 - a at 0 against (1 - a) a/2 at 1"),
    right(
        "rounded_noise_count",
        "pure:1",
        "add-remove",
        AGES,
        1.0,
        "a whole count and rounded noise are a rounded sum; the masses of k and k + 1 have the ratio e",
    ),
    wrong("rounded_noise_share", "rounded_noise_count", INF, "ages 0, and a 60 more: the fraction .5 is exact"),
    right("masked_count", "pure:1", "add-remove", AGES, 0.0, "a uniform number modulo 1000 hides everything"),
    wrong("masked_count_small", "masked_count", INF, "nobody of 65, and one: 0 is impossible then"),
    right("cut_off_count", "pure:1", "replace", BITS, 1.0, "discrete Laplace of ratio e^-1, cut off at public ends"),
    wrong("cut_off_count_before", "cut_off_count", INF, "no ones, and one: -5 is impossible then"),
    right("integer_histogram", "pure:1", "replace", FOUR, 1.0, "two cells by 1, each of eps 1/2"),
    wrong("integer_histogram_full", "integer_histogram", 2.0, "a row from 0 to 1: two cells by 1, each of eps 1"),
    wrong(
        "integer_histogram_shared",
        "integer_histogram",
        INF,
        "a row from 0 to 1: the noise of the first and the last cell cancels, their sum is exact",
    ),
    right(
        "poisson_of_exponential",
        "pure:1",
        "add-remove",
        AGES,
        1.0,
        "a Poisson number with exponential rate of mean 1/(e - 1) is geometric of ratio e^-1",
        hard=True,
    ),
    wrong("poisson_noise", "poisson_of_exponential", INF, "a child more: Poisson tails have no bounded ratio"),
)

ONES, PLANE = "array: integer 0..1 x 5, rows 5..50", "array: real -1..1 x 2, rows 10..60"
ADAPTIVE = (
    right("count_then_mean", "pure:1", "add-remove", COUNTED, 1.0, "a noisy size of eps 1/2 decides; a sum of eps 1/2"),
    wrong("count_then_mean_true", "count_then_mean", INF, "9 rows, and 10: the second is None on the first only"),
    right(
        "recentred_mean",
        "pure:1",
        "replace",
        COUNTED,
        None,
        "a rough mean of eps 1/2; given it rows are in a range of 20: the mean moves by 20/n, scale 40/n; at most 1",
        hard=True,
    ),
    wrong(
        "recentred_mean_true",
        "recentred_mean",
        None,
        "n = 5, rows 0, one becomes 100: the range moves from -10..10 to 10..30, the mean from 0 to 14, scale 4: 3.5",
    ),
    right(
        "first_above",
        "pure:1",
        "add-remove",
        ONES,
        None,
        "AboveThreshold: noise 2 on the bar and 4 on each query, stops at the first; at most 1",
        hard=True,
    ),
    wrong(
        "first_above_fixed",
        "first_above",
        5.0,
        "49 rows of ones, and 50: None needs five noises below -39, or -40",
    ),
    wrong(
        "first_above_bar_only",
        "first_above",
        INF,
        "rows 0, and 0, 1, 0, 0, 0 more: False, True, False, ... is impossible on equal sums",
    ),
    right(
        "adaptive_clip_sum",
        "pure:1",
        "replace",
        COUNTED,
        None,
        "a bound by the exponential mechanism of eps 1/2, a mean with that bound of eps 1/2; at most 1",
        hard=True,
    ),
    wrong(
        "adaptive_clip_percentile",
        "adaptive_clip_sum",
        INF,
        "n = 5, rows 0 but one that goes from 50 to 100: the scale follows the percentile",
    ),
    right(
        "kmeans_step",
        "pure:1",
        "add-remove",
        PLANE,
        None,
        "one count by 1, scale 2, one sum by 2 in l1, scale 4; at most 1",
        hard=True,
    ),
    wrong(
        "kmeans_step_true_count",
        "kmeans_step",
        INF,
        "five rows of one cluster, and six: noise of scale 2/5, and of 2/6",
    ),
    right(
        "kmeans_rounds",
        "pure:1",
        "add-remove",
        PLANE,
        1.0,
        "three rounds of eps 1/3, each chosen by what the earlier ones released; (1, 1) costs all of it",
        hard=True,
    ),
    wrong("kmeans_rounds_full", "kmeans_rounds", 3.0, "(1, 1) more: three rounds of eps 1"),
    right(
        "descend",
        "zcdp:.5",
        "replace",
        SHARES,
        None,
        "ten steps; a clipped gradient moves the mean by at most 1/n, rho 1/20 each; at most 1/2",
        hard=True,
    ),
    wrong(
        "descend_once",
        "descend",
        None,
        "a row from 0 to 1: the first step moves by 1/n with rho 1/2, and nine more steps move, too",
    ),
    right("until_low", "pure:1", "add-remove", BITS, 1.0, "at most five counts of eps 1/5; noisy ones end it"),
    wrong("until_low_full", "until_low", 5.0, "49 ones, and 50: five counts of eps 1"),
    wrong("until_low_break_true", "until_low", INF, "4 ones, and 5: the first always ends after one round"),
    right(
        "drill_down",
        "pure:1",
        "add-remove",
        AGES,
        1.0,
        "four comparisons, each moves by 1, scale 4; the noisy ones decide what is asked next",
        hard=True,
    ),
    wrong("drill_down_full", "drill_down", 4.0, "49 ages 120, and 50: (0, 8) needs four noises above 49, or 50"),
)

PURSES = "list: real -20..80, rows 5..50"
HELPERS = (
    right("mechanism_sum", "pure:1", "add-remove", PURSES, 1.0, "by at most 50, scale 50"),
    wrong("mechanism_sum_swapped", "mechanism_sum", 2500.0, "a 50 more: by 50, scale 1/50"),
    wrong("mechanism_sum_default", "mechanism_sum", 50.0, "a 50 more: by 50, scale 1"),
    right("budgeted", "pure:1", "add-remove", PURSES, 1.0, "1/4 for the count, 3/4 for the sum"),
    wrong("budgeted_loose", "budgeted", 2.0, "a 50 more: the count and the sum are of eps 1"),
    right("fitted_mean", "pure:1", "replace", PURSES, 1.0, "by 50/n, the scale"),
    wrong("fitted_mean_range", "fitted_mean", INF, "n = 5, rows 0 but one that goes from 10 to 20: scale 2, and 4"),
    right("generated", "pure:1", "add-remove", PURSES, 1.0, "three counts of eps 1/3"),
    wrong("generated_full", "generated", 3.0, "a 30 more: three counts of eps 1"),
    right("closures", "pure:1", "add-remove", PURSES, 1.0, "two counts of eps 1/2, two draws"),
    wrong("closures_frozen", "closures", INF, "a 30 more: the same noise is added twice, the difference is exact"),
    right("partial_noise", "pure:1", "add-remove", PURSES, 1.0, "by at most 50, scale 50"),
    wrong("partial_noise_slipped", "partial_noise", 50.0, "a 50 more: 50 is the location, the scale is 1"),
    right("centered_total", "pure:1", "add-remove", PURSES, 1.0, "numbers of [-25, 25], scale 25"),
    wrong("centered_total_above", "centered_total", 2.0, "a 74 more: by 49, scale 25; 2 is approached at 75"),
)

SMALL = "vector: real 0..20, rows 5..50"
OUTPUTS = (
    right("summary_object", "pure:1", "add-remove", SMALL, 1.0, "a count and a sum of eps 1/2"),
    wrong("summary_object_note", "summary_object", INF, "no row above 10, and a 20 more: the note is exact"),
    right("report_tuple", "pure:1", "add-remove", SMALL, 1.0, "a count and a sum of eps 1/2"),
    wrong("report_tuple_extra", "report_tuple", 5 / 3, "a 10 more: 1/1 for the count, 10/15 for the sum"),
    right("nested", "pure:1", "add-remove", SMALL, 1.0, "disjoint counts of eps 1"),
    wrong("nested_largest", "nested", INF, "rows 0, and a 20 more: the maximum is exact"),
    right("as_frame", "pure:1", "add-remove", SMALL, 1.0, "one of four public bins by at most 1"),
    wrong("as_frame_with_error", "as_frame", INF, "a 0 more: count less error is the true count"),
    right("joined", "pure:1", "replace", SMALL, 1.0, "a count by 1, scale 2, a mean by 10/n, scale 20/n"),
    wrong("joined_noise_once", "joined", INF, "a row from 0 to 4: the count less n/10 means has no noise"),
    right("sentence", "pure:1", "replace", SMALL, 1.0, "a noisy mean of eps 1 decides on the word"),
    wrong("sentence_of_true", "sentence", INF, "n = 5, a mean of 5, and a bit more: high is impossible on the first"),
    right("as_dict_of", "pure:1", "add-remove", SMALL, 1.0, "all is computed from a noisy sum of eps 1"),
    wrong("as_dict_of_whole", "as_dict_of", INF, "rows 0, and a 20 more: the count is exact, 0 or 1"),
)

COINS, FLAGS = "list: integer 0..1, rows 3..8", "list: integer 0..1, rows 5..50"
FINITE = (
    right("by_table", "pure:.7", "replace", "value: category low|middle|high", math.log(2), "1/2 against 1/4"),
    wrong("by_sharp_table", "by_table", math.log(3), "low and middle: .6 against .2"),
    right("die", "pure:.7", "replace", "value: category True|False", math.log(2), "4/6 against 2/6"),
    wrong("die_five", "die", math.log(5), "True and False: 5/6 against 1/6"),
    right(
        "sum_of_reports",
        "pure:1.1",
        "replace",
        COINS,
        math.log(3),
        "each report is of eps ln 3, and the sum is computed from them; a sum of n has it all",
    ),
    wrong("sum_of_reports_sure", "sum_of_reports", math.log(9), "zeros, one becomes 1: a sum of n, .9 against .1"),
    wrong("sum_of_reports_first", "sum_of_reports", INF, "zeros, the first becomes 1: a sum of 0 is impossible"),
    right("anybody", "pure:1.1", "replace", COINS, math.log(3), "one bit, told with 3/4"),
    wrong("anybody_or_coin", "anybody", INF, "zeros, one becomes 1: False has chance 1/2 and 0"),
    right("one_vote", "pure:.35", "replace", FLAGS, math.log(1.4), "n = 5: 1/4 becomes .35 when one of five turns"),
    wrong("one_vote_plain", "one_vote", INF, "zeros, one becomes 1: 1 has chance 0 and 1/n"),
    right(
        "somebody",
        "approx:0,0.01",
        "replace",
        "list: integer 0..9, rows 100..120",
        0.0,
        "one row of at least 100 is drawn: the changed one with chance at most .01",
        hard=True,
    ),
    wrong(
        "somebody_of_few",
        "somebody",
        INF,
        "n = 5, zeros, one becomes 9: the answer 9 has chance 0 and .2",
        function="somebody",
        data="list: integer 0..9, rows 5..50",
    ),
    wrong("somebody_pure", "somebody", INF, "zeros, one becomes 9: the answer 9", function="somebody", claim="pure:1"),
    right(
        "any_cell",
        "pure:.8",
        "replace",
        "value: integer 0..7",
        math.log(1 + 1 / 0.875),
        "1/8 + 7/64 against 7/64",
    ),
    wrong("neighbour_cell", "any_cell", INF, "cells 0 and 4: no output is common"),
    right("shuffled_reports", "pure:1.1", "replace", COINS, math.log(3), "reports of eps ln 3, in any order"),
    wrong("shuffled_bits", "shuffled_reports", INF, "zeros, one becomes 1: the number of ones is exact"),
    right("parity", "pure:1.1", "replace", FLAGS, math.log(3), "one bit, turned with chance 1/4"),
    wrong("parity_and_size", "parity", INF, "9 ones, and 10: the second number is exact"),
)

TENS = "vector: real 0..10, rows 20..50"
SAMPLING = (
    right(
        "sampled_sum",
        "pure:1",
        "add-remove",
        TENS,
        1.0,
        "the row is in the sample with chance .1: ln(1 + .1 (e^inner - 1)) = 1",
        hard=True,
    ),
    wrong(
        "sampled_sum_divided",
        "sampled_sum",
        math.log(1 + 0.1 * math.expm1(10)),
        "rows 0, and a 10 more: in the sample with chance .1, inner eps 10: 7.7",
    ),
    wrong(
        "sampled_sum_head",
        "sampled_sum",
        math.log(1 + 10 * math.expm1(1)),
        "rows 0, and a 10 more in the first place: always in, inner eps 2.9",
    ),
    right(
        "half_sum",
        "pure:1",
        "add-remove",
        "list: real 0..10, rows 20..50",
        math.log(1 + 0.5 * math.expm1(1)),
        "twice the sum by 20, scale 20; sampled with 1/2",
    ),
    wrong(
        "half_sum_short",
        "half_sum",
        math.log(1 + 0.5 * math.expm1(2)),
        "rows 0, and a 10 more: with chance 1/2 the sum moves by 10, scale 5: 1.43",
    ),
    right(
        "some_mean",
        "pure:1",
        "replace",
        TENS,
        math.log(1 + 0.5 * math.expm1(1)),
        "ten of n >= 20 rows without replacement: the mean of ten by 1, scale 1, with chance 10/n",
    ),
    wrong(
        "some_mean_of_all",
        "some_mean",
        math.log(1 + 0.2 * math.expm1(10)),
        "n = 50, rows 0, one becomes 10: with chance .2 the mean moves by 1, scale .1",
    ),
    right("permuted_mean", "pure:1", "replace", TENS, 1.0, "the order does not matter: by 10/n, the scale"),
    wrong(
        "bootstrap_mean",
        "permuted_mean",
        None,
        "n = 50, rows 0, one becomes 10: it is drawn k times, E e^k = (1 + (e - 1)/50)^50: at least 1.689",
    ),
    right("split_counts", "pure:1", "add-remove", TENS, 1.0, "a row is in one of two disjoint parts"),
    wrong(
        "split_counts_twice",
        "split_counts",
        2 * math.log(1 + 0.5 * math.expm1(1)),
        "a 10 more: in each part with chance 1/2: twice .62",
    ),
    right("first_rows_mean", "pure:1", "replace", TENS, 1.0, "the mean of the first ten by 1, scale 1"),
    wrong("first_rows_mean_all", "first_rows_mean", 5.0, "n = 50, the first row from 0 to 10: by 1, scale 1/5"),
    right(
        "dp_sgd",
        "approx:2.9,1e-5",
        "add-remove",
        "array: real -1..1 x 2, rows 20..50",
        None,
        "ten Poisson-sampled Gaussian steps of rate .1 and noise 1, all models released",
        hard=True,
    ),
    wrong(
        "dp_sgd_quiet",
        "dp_sgd",
        None,
        "rows 0, and (1, 1) more: in the first sample with chance .1, by 1, sigma .2: it alone has eps 28",
    ),
)

MINE = "records: who unit 3, spent real 0..50, rows 4..40"
GOODS = "records: who unit 4, item category a|b|c|d|e|f, rows 6..20"
USERS = (
    right("all_spending", "pure:1", "add-remove", MINE, 1.0, "three rows of at most 50, scale 150"),
    wrong("all_spending_row", "all_spending", 3.0, "a user of three rows of 50 more: by 150, scale 50"),
    right("spending_by_user", "pure:1", "add-remove", MINE, 1.0, "a user counts with at most 60, the scale"),
    wrong("spending_by_row", "spending_by_user", 2.5, "a user of three rows of 50 more: by 150, scale 60"),
    right("number_of_users", "pure:1", "add-remove", MINE, 1.0, "a user is counted once"),
    wrong("number_of_rows", "number_of_users", 3.0, "a user of three rows more: by 3"),
    right(
        "distinct_of_bounded_users",
        "pure:1",
        "add-remove",
        GOODS,
        1.0,
        "a user has the smallest of its items; the number of different ones moves by at most 1",
    ),
    wrong(
        "distinct_of_spread_users",
        "distinct_of_bounded_users",
        None,
        "rows a, and a user of b, c, d, e more, each after a row of somebody else: by 4",
    ),
    wrong(
        "distinct_of_early_users",
        "distinct_of_bounded_users",
        None,
        "rows a, and a user of b, c, d, e more as the first four rows: by 4",
    ),
    right("first_items", "pure:1", "add-remove", GOODS, 1.0, "the first row of each user: one public count by 1"),
    wrong("every_item", "first_items", 4.0, "a user of four rows more: counts move by 4"),
    right(
        "frame_by_user",
        "pure:1",
        "add-remove",
        "frame: who unit 3, spent real 0..50, rows 4..40",
        1.0,
        "a user counts with at most 60, the scale",
    ),
    wrong("frame_by_row", "frame_by_user", 2.5, "a user of three rows of 50 more: by 150, scale 60"),
    right("user_means", "pure:1", "add-remove", MINE, 1.0, "the sum of means by at most 50, scale 100; users by 1, 2"),
    wrong("user_means_true_count", "user_means", INF, "a user more: noise of scale 50/m, and of 50/(m + 1)"),
    right("at_most_two", "pure:1", "add-remove", MINE, 1.0, "two rows of a user, at most 100, the scale"),
    wrong("at_most_two_late", "at_most_two", 1.5, "a user of three rows of 50 more: all three count"),
)

PAIRS = "array: real -1..1 x 2, rows 5..50"
STATS = (
    right(
        "variance",
        "pure:1",
        "replace",
        SHARES,
        0.98,
        "a row of [0, 1] moves the variance by at most (n - 1)/n^2, scale 1/n; n = 50",
        hard=True,
    ),
    wrong("deviation", "variance", 7.0, "n = 50, zeros, one becomes 1: the deviation is sqrt(49)/50, scale 1/50"),
    right("moments", "pure:1", "replace", SHARES, 1.0, "the sum and the sum of squares by at most 1, scale 2"),
    wrong("moments_full", "moments", 2.0, "a row from 0 to 1: both sums by 1, scale 1"),
    right(
        "median_on_grid",
        "pure:1",
        "replace",
        SHARES,
        None,
        "exponential mechanism, ranks move by at most 1; at most 1",
    ),
    wrong(
        "median_on_grid_full",
        "median_on_grid",
        None,
        "n = 20, ten .5 and ten 1, one 1 becomes 0: the score of 0 rises, that of .5 falls: about 2",
    ),
    wrong("median_on_data", "median_on_grid", INF, "n = 5, zeros, one becomes .3: .3 is impossible on the first"),
    right("wide_median", "pure:1", "replace", SHARES, 1.0, "a median moves by at most 1, scale 1"),
    wrong("noisy_median", "wide_median", 49.0, "n = 49, 24 zeros and 25 ones, one 1 becomes 0: by 1, scale 1/49"),
    right(
        "trimmed_mean",
        "pure:1",
        "replace",
        SHARES,
        1.0,
        "sorted values interlace: a sum of n - 4 of them moves by at most 1",
        hard=True,
    ),
    wrong("trimmed_mean_all", "trimmed_mean", 5.0, "n = 5, 0, 0, 0, 1, 1, one 0 becomes 1: the middle by 1, scale 1/5"),
    right("product_mean", "pure:1", "replace", PAIRS, 1.0, "a product of [-1, 1]: the mean by 2/n"),
    wrong("correlation", "product_mean", INF, "rows 0, one becomes (1, 1): NaN, and a number"),
    right("mean_of_logs", "pure:1", "replace", COUNTED, 1.0, "a logarithm of [0, ln 100]: the mean by ln(100)/n"),
    wrong(
        "log_of_mean",
        "mean_of_logs",
        50 * math.log(1 + 99 / 50) / math.log(100),
        "n = 50, rows 1, one becomes 100: ln 2.98 = 1.09, scale ln(100)/50",
    ),
    right(
        "regression_sums",
        "pure:1",
        "add-remove",
        "args: real -1..1, label real -1..1, rows 10..50",
        None,
        "two sums by at most 1, scale 2; the quotient is computed from them",
    ),
    wrong(
        "regression_slope",
        "regression_sums",
        None,
        "n = 50, rows 0 but (1, 1), which becomes (1, -1): the slope by 2, scale 2/50: at least 50",
        relation="replace",
    ),
    right("share_above", "pure:1", "replace", SHARES, 1.0, "a share by 1/n, the scale; the rest is computed from it"),
    wrong("share_above_odds", "share_above", None, "n = 50, zeros, one becomes 1: the log odds by .70, scale .02: 35"),
    right("standardized_sum", "pure:1", "add-remove", SHARES, 1.0, "numbers of [-2, 2], scale 2; public centre"),
    wrong(
        "standardized_sum_own",
        "standardized_sum",
        None,
        "49 zeros, and a 1 more at the end: 25 zeros have -1/7 each, the sum goes from 0 to -3.57: 1.78",
    ),
)

SUMMED = "vector: real 0..1, rows 4..20"
BIT = "value: category 0|1"
REALISTIC = (
    right("item_of_noise", "pure:1", "replace", SUMMED, 1.0, "the sum moves by at most 1, scale 1"),
    wrong("item_of_small_noise", "item_of_noise", 2.0, "a row from 0 to 1: by 1, scale 1/2"),
    right("whole_part", "pure:1", "replace", SUMMED, 1.0, "the whole part of a noisy sum of scale 1"),
    wrong(
        "whole_parts",
        "whole_part",
        1 + math.log(2),
        "a sum from 0 to 1: the noise is 0 with chance 1 - 1/e, and 1 with chance (1/e - 1/e^2)/2",
    ),
    right("noise_first", "pure:1", "replace", SUMMED, 1.0, "the sum is added to Laplace noise of scale 1"),
    wrong("noise_forgotten", "noise_first", INF, "a row from 0 to 1: the noisy number is dropped, two exact sums"),
    right("two_exponentials", "pure:1", "replace", SUMMED, 1.0, "a difference of exponentials is Laplace"),
    wrong("two_exponentials_added", "two_exponentials", INF, "a row from 0 to 1: below the second sum is impossible"),
    right("system_random", "pure:1", "replace", SUMMED, 1.0, "a difference of exponentials is Laplace"),
    wrong("own_random", "system_random", INF, "a row from 0 to 1: the same noise in every run"),
    right("secret_coins", "pure:1.1", "replace", BIT, math.log(3), "3/4 against 1/4"),
    wrong("secret_coins_of_four", "secret_coins", math.log(7), "0 and 1: 7/8 against 1/8"),
    right("uniform_of_the_system", "pure:1", "replace", SUMMED, 1.0, "inverse transform of Laplace", hard=True),
    wrong("uniform_of_the_system_whole", "uniform_of_the_system", INF, "a row from 0 to 1: noise is not negative"),
    right("fresh_generator", "pure:1", "replace", SUMMED, 1.0, "by at most 1, scale 1"),
    wrong("generator_of_size", "fresh_generator", INF, "a row from 0 to 1: n seeds the noise, two exact sums"),
    right("scipy_with_rng", "pure:1", "replace", SUMMED, 1.0, "by at most 1, scale 1"),
    wrong("scipy_with_zero", "scipy_with_rng", INF, "a row from 0 to 1: the same noise in every run"),
    right("sign_times_exponential", "pure:1", "replace", SUMMED, 1.0, "a sign times an exponential is Laplace"),
    wrong("coin_times_exponential", "sign_times_exponential", INF, "a row from 0 to 1: no noise with chance 1/3"),
    right("gamma_difference", "pure:1", "replace", SUMMED, 1.0, "gamma of shape 1 is exponential"),
    wrong("gamma_difference_half", "gamma_difference", 2.0, "a row from 0 to 1: scale 1/2"),
    right(
        "shares_of_laplace",
        "pure:1",
        "replace",
        SUMMED,
        1.0,
        "four gammas of shape 1/4 are an exponential: the sum is Laplace of scale 1",
        hard=True,
    ),
    wrong(
        "shares_of_laplace_three",
        "shares_of_laplace",
        None,
        "a row from 0 to 1: density |x|^.25 K_.25(|x|) of shape 3/4 falls by more than e^1.6 from 0 to 1",
    ),
    right("laplace_of_normals", "pure:1", "replace", SUMMED, 1.0, "ab - cd of four normals is Laplace", hard=True),
    wrong("product_of_normals", "laplace_of_normals", INF, "a row from 0 to 1: the density K_0 has a pole at 0"),
    right(
        "exponential_mixture",
        "pure:1",
        "replace",
        SUMMED,
        1.0,
        "a normal of exponential variance of mean 2 is Laplace of scale 1",
        hard=True,
    ),
    wrong("exponential_mixture_root", "exponential_mixture", math.sqrt(2), "a row from 0 to 1: scale sqrt(1/2)"),
    right("cut_off_sum", "pure:1", "replace", SUMMED, 1.0, "a noisy sum of scale 1, cut off afterwards"),
    wrong("cut_off_noise", "cut_off_sum", INF, "a row from 0 to 1: -10 is possible on the first only"),
    right("sum_and_ratio", "pure:1", "replace", SUMMED, 1.0, "both are computed from one noisy sum"),
    wrong("sum_and_true_ratio", "sum_and_ratio", INF, "a row from 0 to 1: the ratio is exact"),
    right("noise_for_each", "pure:1", "replace", SUMMED, None, "each row has noise of scale 1; at most 1"),
    wrong(
        "noise_for_each_mean",
        "noise_for_each",
        None,
        "n = 20, zeros, one becomes 1: the sum by 1, twenty noises of scale 1/20 with deviation .32 in all",
    ),
    right("piecewise", "pure:1.1", "replace", "value: real 0..1", math.log(3), "density 3/2 against 1/2"),
    wrong("piecewise_around", "piecewise", math.log(10), "0 and 1: at 0 the density is 1.5 + 1/6 against 1/6"),
    right("two_rounds", "pure:1", "replace", "vector: integer 0..2, rows 4..20", 1.0, "two cells, twice, scale 4"),
    wrong("two_rounds_half", "two_rounds", 1.5, "a row from 0 to 1: two cells by 1, scale 4, then scale 2"),
    right("geometric_ones", "pure:1", "add-remove", "vector: integer 0..1, rows 4..20", 1.0, "by 1, ratio e^-1"),
    wrong(
        "geometric_ones_even",
        "geometric_ones",
        None,
        "even counts have 5 % more at themselves: 2 ones against 3: .489 against .170: 1.06",
    ),
    right("squashed", "pure:1", "replace", "value: real 0..1", 1.0, "computed from a noisy number of scale 1"),
    wrong("squashed_first", "squashed", 2 * math.tanh(1), "0 and 1: tanh 1 = .76 over 1/2"),
    right("equal_coin", "pure:1.1", "replace", BIT, math.log(3), "3/4 against 1/4"),
    wrong("equal_coin_often", "equal_coin", math.log(9), "0 and 1: .9 against .1"),
)

ROWS = _themes(
    means=MEANS,
    counts=COUNTS,
    histograms=HISTOGRAMS,
    choices=CHOICES,
    vectors=VECTORS,
    frames=FRAMES,
    records=RECORDS,
    local=LOCAL,
    gaussian=GAUSSIAN,
    integers=INTEGERS,
    adaptive=ADAPTIVE,
    helpers=HELPERS,
    outputs=OUTPUTS,
    finite=FINITE,
    sampling=SAMPLING,
    users=USERS,
    stats=STATS,
    realistic=REALISTIC,
)
