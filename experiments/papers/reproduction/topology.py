"""Figures of how collectives are cut: over ranks, over nodes, around the optimizer."""

from reproduction.figure import Figure, Panel, point
from reproduction.measured import exact, median, ratio, share_saved
from reproduction.points import Points
from reproduction.verdicts import Claim, Verdict, percent, plain

STEP = "step, ms"
SENT = "sent a rank and step, MB"
NODE = "ranks a node"
BETWEEN = "over a link between nodes, MB a step"
FLAT, SHARDS, LEADERS = "flat", "two levels, shards", "two levels, leaders"


def between_nodes(run, members):
    """Bytes a step that rank 0 sends in rings of so many ranks. Rank 0 is at the border of its
    node, and only the allreduces here leave a node: within it are other operations."""
    steps = run.measured_steps()
    total = sum(int(row["bytes"]) for row in run.table("collectives")
                if row["operation"] == "allreduce" and row["rank"] == "0" and row["step"] in steps)
    return 2 * (members - 1) / members * total / len(steps)


def take_hierarchical(runs):
    taken = []

    def add(run, series, members):
        size = run.get("link.ranks_per_node")
        taken.append(point(run, STEP, series, size, median(run.step_ms())))
        taken.append(point(run, BETWEEN, series, size, exact(between_nodes(run, members) / 1e6)))

    for run in runs["hierarchical"]:
        add(run, FLAT, run.ranks)
    for run in runs["hierarchical_4x2"] + runs["hierarchical_2x4"]:
        series = SHARDS if run.get("hook.between", "shards") == "shards" else LEADERS
        add(run, series, run.ranks // run.get("link.ranks_per_node"))
    return Points(taken)


def judge_hierarchical(points):
    claims = []
    for size, flat in points.curve(STEP, FLAT):
        shards = share_saved(flat, points.at(STEP, SHARDS, size))
        fewer = points.at(BETWEEN, FLAT, size).value / points.at(BETWEEN, SHARDS, size).value
        claims.append(Claim(fewer >= size, f"on nodes of {size:g} {fewer:.1f} times fewer bytes "
                                           "leave a rank's node"))
        claims.append(Claim(shards.low > 0.1, f"on nodes of {size:g} two levels take "
                                              f"{percent(shards)} off a flat ring's step"))
    two, four = (points.at(STEP, SHARDS, size) for size, _ in points.curve(STEP, FLAT))
    claims.append(Claim(four.below(two), "more with more ranks a node"
                        if four.below(two) else "not more with more ranks a node"))
    return Verdict(claims)


BUS = "bus bandwidth of a rank, GB/s"


def bus_bandwidths(run):
    """Of each allreduce of all gradients, from when the last rank came to the last end."""
    found = run.allreduces()
    largest = max(size for size, _ in found)
    factor = 2 * (run.ranks - 1) / run.ranks
    return [factor * size / 1e6 / ms for size, ms in found if size == largest]


def take_ranks(runs):
    return Points([point(run, BUS, run.link(), run.ranks, median(bus_bandwidths(run)))
                   for run in runs["ranks"]])


def judge_ranks(points):
    unshaped = points.curve(BUS, "unshaped")
    shaped = points.curve(BUS, next(series for series in points.series_of(BUS)
                                    if series != "unshaped"))
    values = [value.value for _, value in shaped]
    lost = share_saved(unshaped[0][1], unshaped[-1][1])
    return Verdict([
        Claim(max(values) < 1.15 * min(values), f"over links {min(values):.3f} to "
                                                f"{max(values):.3f} GB/s on any number of ranks"),
        Claim(lost.low > 0.3, f"without links it falls by {percent(lost)} from {unshaped[0][0]:g} "
                              f"to {unshaped[-1][0]:g} ranks"),
    ])


MEMORY = "memory of a rank, MB"
ADAM, SHARED = "allreduce, then Adam", "reduce-scatter, Adam, allgather"
OTHERS = "of which the others' Adam"  # what a rank need not keep


def memory(run):
    """Resident in the second half of the run, when all of it is in use."""
    sampled = [value / 1e6 for value in run.samples("resident_bytes")]
    return median(sampled[len(sampled) // 2:])


def take_zero(runs):
    taken = []
    for run in runs["zero"]:
        series = SHARED if run.get("hook.name") == "zero_rs" else ADAM
        link = run.get("link.bandwidth_gbps")
        taken += [point(run, STEP, series, link, median(run.step_ms())),
                  point(run, SENT, series, link, exact(run.bytes_a_step() / 1e6)),
                  point(run, MEMORY, series, link, memory(run))]
        if series == ADAM:
            moments = 2 * sum(bucket["bytes"] for bucket in run.info["buckets"]["rebuilt"])
            taken.append(point(run, MEMORY, OTHERS, link,
                               exact(moments * (run.ranks - 1) / run.ranks / 1e6)))
    return Points(taken)


def judge_zero(points):
    claims = []
    for link, whole in points.curve(SENT, ADAM):
        sent = ratio(points.at(SENT, SHARED, link), whole)
        time = ratio(points.at(STEP, SHARED, link), points.at(STEP, ADAM, link))
        claims.append(Claim(abs(sent.value - 1) < 0.02,
                            f"over {link:g} Gbit/s {plain(sent, digits=3)} times the bytes"))
        claims.append(Claim(time.value < 1.05,
                            f"over {link:g} Gbit/s {plain(time, digits=2)} times the step",
                            core=False))
        saved = points.at(MEMORY, ADAM, link) - points.at(MEMORY, SHARED, link)
        others = points.at(MEMORY, OTHERS, link)
        # What the optimizer's own temporaries take is saved besides.
        claims.append(Claim(saved.low > 0 and saved.value > 0.8 * others.value,
                            f"over {link:g} Gbit/s a rank takes {plain(saved, 'MB', 0)} less "
                            f"memory, of {plain(others, 'MB', 0)} that are others' share"))
    return Verdict(claims)


FIGURES = [
    Figure("hierarchical", "two-level allreduce of Horovod and NCCL; Thakur et al., 2005",
           "where the link between nodes is slow, two levels beat a flat ring, the more ranks a "
           "node has",
           ("hierarchical", "hierarchical_4x2", "hierarchical_2x4"),
           (Panel(STEP, NODE), Panel(BETWEEN, NODE)), take_hierarchical,
           judge_hierarchical),
    Figure("ranks", "bus bandwidth as nccl-tests defines it",
           "a network's bus bandwidth stays the same however many ranks there are",
           ("ranks",), (Panel(BUS, "ranks", scale="log"),), take_ranks, judge_ranks),
    Figure("zero", "Rajbhandari et al., ZeRO, SC 2020; Zhang et al., DeAR, ICDCS 2023",
           "an allreduce cut in two with the optimizer between sends as many bytes, keeps an n-th "
           "of the optimizer's memory, and takes no longer",
           ("zero",), (Panel(STEP, "link, Gbit/s"), Panel(SENT, "link, Gbit/s"),
                       Panel(MEMORY, "link, Gbit/s")), take_zero, judge_zero),
]
