"""Count and sum of two partitions by PipelineDP on its local backend; `data` is a list of records."""

import pipeline_dp


def aggregated(data, epsilon=1.0):
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=1e-9)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    asked = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM],
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0,
        max_value=5,
    )
    how = pipeline_dp.DataExtractors(
        partition_extractor=lambda row: row[1]["place"],
        privacy_id_extractor=lambda row: row[0],
        value_extractor=lambda row: row[1]["amount"],
    )
    found = engine.aggregate(list(enumerate(data)), asked, how, public_partitions=[0, 1])
    accountant.compute_budgets()
    return {str(place): [float(value.count), float(value.sum)] for place, value in found}
