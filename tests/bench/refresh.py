"""What a refresh of the live analysis, and of the views of it, costs as a run grows."""

import json
import statistics
import subprocess

from figures import ask, interval

MINUTES = (1, 10, 60)
GROWTH = 1.2


def studio_refresh(options):
    """Processor time of a refresh of the live analysis after 60 minutes of a run of 2 ranks, steps
    of 50 ms and 15 buckets, against that after 1 minute: at most 1.2 of it; and likewise of what
    the views of overlap, hooks and divergence make of it, each with its refresh."""
    out = subprocess.run([options.bin / "bench_refresh", *map(str, MINUTES)], check=True,
                         capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    medians = [statistics.median(row["refresh_ms"]) for row in rows]
    result = {"name": "studio_refresh", "title": "refresh of the live analysis after 60 minutes",
              "unit": "ms", "ours": medians[-1], "ours_name": "a refresh",
              "interval": interval(rows[-1]["refresh_ms"]), "refreshes": rows, "lines": []}
    for row, median in zip(rows, medians):
        low, high = interval(row["refresh_ms"])
        result["lines"].append(f"{row['minutes']:2} min, {row['spans']:>10,} spans {median:8.2f} ms "
                               f"[{low:.2f}, {high:.2f}], all at once {row['whole_ms']:10.1f} ms")
    ask(result, "after 60 minutes over after 1", medians[-1] / medians[0], "", GROWTH)
    for view in rows[0]["views_ms"]:
        shown = [median + statistics.median(row["views_ms"][view])
                 for row, median in zip(rows, medians)]
        result["lines"].append(f"with the view {view}: " +
                               ", ".join(f"{minutes} min {ms:.2f} ms"
                                         for minutes, ms in zip(MINUTES, shown)))
        ask(result, f"with the view {view}, after 60 minutes over after 1", shown[-1] / shown[0],
            "", GROWTH)
    return result


BENCHMARKS = {"studio_refresh": studio_refresh}
