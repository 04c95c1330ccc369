"""One workload of `benchmarks.ask` in OpenDP; run by its own Python, prints one line of JSON.

python peer_opendp.py rows10m.parquet   ->   {"seconds": ..., "answers": {group: [count, sum]}}
"""

import json
import sys
import time

import opendp.prelude as dp
import polars as pl

ROWS, GROUPS, LOW, HIGH, KEYS = 10, 5, 0.0, 1000.0, 1000


def run(path):
    keys = pl.LazyFrame({"g": list(range(KEYS))}, schema={"g": pl.Int64})
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, identifier="user_id"),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["g"], max_length=200_000)],
    )
    query = (
        context.query()
        .truncate_per_group(ROWS, by=["g"])
        .truncate_num_groups(GROUPS, by=["g"], keep="first")
        .group_by("g")
        .agg(
            dp.len(signed=True).alias("n"),
            pl.col("v").fill_null(0.0).fill_nan(0.0).dp.sum((LOW, HIGH)).alias("s"),
        )
        .with_keys(keys)
    )
    out = query.release().collect()
    return {g: (n, s) for g, n, s in out.select("g", "n", "s").iter_rows()}


if __name__ == "__main__":
    dp.enable_features("contrib")
    start = time.perf_counter()
    answers = run(sys.argv[1])
    print(json.dumps({"seconds": time.perf_counter() - start, "answers": answers}))
