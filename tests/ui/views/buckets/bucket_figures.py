"""Prints, as tab-separated text, what each parameter's gradient did in one step of a run file.

    bucket_figures.py RUN.lockstep STEP

Written against FORMAT.md alone, to check the figures of the studio's Buckets stage.
"""

import json
import sqlite3
import sys


def ordinal(n):
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{'th' if n % 100 in (11, 12, 13) else ending}"


def main(path, step):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    ns_per_tick = db.execute("SELECT ns_per_tick FROM clocks ORDER BY id DESC").fetchone()[0]
    layout = db.execute("SELECT layout FROM layouts WHERE step <= ? ORDER BY step DESC",
                        (step,)).fetchone()[0]
    parameters = db.execute(
        "SELECT parameter, name, shape, bytes FROM parameters ORDER BY parameter").fetchall()
    bucket_of, members = {}, {}
    for bucket, parameter in db.execute(
            "SELECT bucket, parameter FROM bucket_parameters WHERE layout = ? "
            "ORDER BY bucket, position", (layout,)):
        bucket_of[parameter] = bucket
        members.setdefault(bucket, []).append(parameter)

    def rows(kind):
        return db.execute(
            "SELECT rank, bucket, spans.value, start FROM spans JOIN tracks ON tracks.id = track "
            "JOIN kinds ON kinds.kind = spans.kind WHERE kinds.name = ? AND step = ? "
            "ORDER BY start", (kind, step)).fetchall()

    origin = min(start for _, _, _, start in rows("step"))
    ranks = sorted({rank for rank, _, _, _ in rows("step")})
    ready = {(rank, value): start for rank, _, value, start in rows("gradient_ready")}
    full = {(rank, bucket): start for rank, bucket, _, start in rows("bucket_ready")}
    launched = {(rank, bucket): start for rank, bucket, _, start in rows("bucket_launched")}

    def ms(ticks):
        return f"{ticks * ns_per_tick / 1e6:.3f}"

    def in_order(rank, parameter):
        return sorted((start, p) for (r, p), start in ready.items() if r == rank).index(
            (ready[rank, parameter], parameter))

    def wait(parameter):
        bucket = bucket_of[parameter]
        best = None
        for rank in ranks:
            ticks = launched[rank, bucket] - ready[rank, parameter]
            if best is None or ticks > best[0]:
                best = (ticks, rank)
        ticks, rank = best
        last = max(members[bucket], key=lambda p: ready[rank, p])
        earlier = [b for b in range(bucket) if full[rank, b] > full[rank, bucket]]
        parts = [] if last == parameter else [dict((p[0], p[1]) for p in parameters)[last]]
        if earlier:
            parts.append(f"bucket {max(earlier, key=lambda b: full[rank, b])}")
        if not parts:
            return "nothing: the last of its bucket"
        return f"{', then '.join(parts)}: {ms(ticks)} ms on rank {rank}"

    print("\t".join(["Param", "Shape", "Bytes", "Bucket"] +
                    [f"Ready ms, rank {rank}" for rank in ranks] + ["Order", "Waits for"]))
    place = {p: (b, i) for b, ps in members.items() for i, p in enumerate(ps)}
    for parameter, name, shape, size in sorted(parameters, key=lambda row: place[row[0]]):
        orders = [ordinal(in_order(rank, parameter) + 1) for rank in ranks]
        print("\t".join(
            [name, " × ".join(str(n) for n in json.loads(shape)), f"{size:,}",
             str(bucket_of[parameter])] +
            [ms(ready[rank, parameter] - origin) for rank in ranks] +
            [orders[0] if len(set(orders)) == 1 else ", ".join(orders), wait(parameter)]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
