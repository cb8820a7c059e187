"""Figures of papers that compress gradients."""

from reproduction.figure import Figure, Panel, point
from reproduction.measured import exact, median, ratio, share_saved
from reproduction.points import Points
from reproduction.verdicts import Claim, Verdict, percent, plain, rises

STEP = "step, ms"
SENT = "sent a rank and step, MB"
ACCURACY = "test accuracy, %"
LOSS = "loss of the last 50 steps"
PLAIN = "allreduce"
COMPRESSED_FROM = 12  # PowerSGD's first ten steps are plain


def take_crossover(runs):
    return Points([point(run, STEP, run.get("hook.name", PLAIN), run.get("link.bandwidth_gbps"),
                         median(run.step_ms(since=COMPRESSED_FROM)))
                   for run in runs["compression_crossover"]])


def judge_crossover(points):
    links = [x for x, _ in points.curve(STEP, PLAIN)]
    hooks = [series for series in points.series_of(STEP) if series != PLAIN]

    def saved(hook, link):
        return share_saved(points.at(STEP, PLAIN, link), points.at(STEP, hook, link))

    slow, fast = links[0], links[-1]
    winners = [hook for hook in hooks if saved(hook, slow).low > 0]
    best = max(hooks, key=lambda hook: saved(hook, slow).value)
    late = [hook for hook in hooks if saved(hook, fast).low > 0.02]
    return Verdict([
        Claim(len(winners) == len(hooks),
              f"at {slow:g} Gbit/s {len(winners)} of {len(hooks)} hooks are faster than allreduce, "
              f"{best} by {percent(saved(best, slow))}"),
        Claim(set(late) <= {"fp16"},
              f"at {fast:g} Gbit/s " + (f"{' and '.join(late)} still" if late else "none is")),
    ])


def series_of_int8(run):
    if run.get("hook.name", PLAIN) != "int8":
        return run.get("hook.name", PLAIN)
    return "int8, " + run.get("hook.exchange", "all_to_all").replace("_", "-")


def take_int8(runs):
    taken = []
    for run in runs["int8_allgather"] + runs["int8_allgather_dense"]:
        series = series_of_int8(run)
        taken.append(point(run, STEP, series, run.ranks, median(run.step_ms())))
        taken.append(point(run, SENT, series, run.ranks, exact(run.bytes_a_step() / 1e6)))
    return Points(taken)


def judge_int8(points):
    gather, others = "int8, allgather", "int8, all-to-all"
    most = points.curve(STEP, gather)[-1][0]

    def against(series, ranks):
        return ratio(points.at(STEP, gather, ranks), points.at(STEP, series, ranks))

    dense, half = against(PLAIN, most), against("fp16", 4)
    quarter = share_saved(points.at(STEP, PLAIN, most), points.at(STEP, others, most))
    return Verdict([
        Claim(rises(points.curve(STEP, gather)), "by allgather a step takes " + ", ".join(
            f"{value.value:.0f} ms on {ranks:g} ranks"
            for ranks, value in points.curve(STEP, gather))),
        Claim(abs(dense.value - 1) < 0.2,
              f"on {most:g} ranks it takes {plain(dense, digits=2)} times plain allreduce's"),
        Claim(abs(half.value - 1) < 0.2,
              f"on 4 ranks {plain(half, digits=2)} times that of fp16"),
        Claim(quarter.low > 0.3, f"by all-to-all {percent(quarter)} less than plain allreduce's "
                                 f"on {most:g} ranks"),
    ])


def final_accuracy(run):
    return 100 * run.metric("test_accuracy")[-1][1]


def final_loss(run):
    losses = [value for _, value in run.metric("loss")]
    return median(losses[-50:])


def learning(run, series, x):
    return [point(run, ACCURACY, series, x, exact(final_accuracy(run))),
            point(run, LOSS, series, x, final_loss(run))]


def with_memory(run):
    return run.get("hook.error_feedback", True)


def over_all(run, places):
    """What has no x of its own is drawn as a level over all of them."""
    return [made for x in places for made in learning(run, PLAIN, x)]


def take_powersgd(runs):
    taken = []
    for run in runs["powersgd_accuracy"]:
        series = "error feedback" if with_memory(run) else "none"
        taken += learning(run, series, run.get("hook.rank", 1))
    return Points(taken + over_all(runs["allreduce"][0], sorted({one.x for one in taken})))


def judge_powersgd(points):
    plain_level = points.curve(ACCURACY, PLAIN)[0][1].value
    kept, lost = (points.curve(ACCURACY, series) for series in ("error feedback", "none"))
    behind = [rank for (rank, with_it), (_, without) in zip(kept, lost)
              if without.value < with_it.value]
    near = kept[-1][1].value
    return Verdict([
        Claim(near > plain_level - 1, f"rank {kept[-1][0]:g} with error feedback reaches "
                                      f"{near:.1f} %, plain SGD {plain_level:.1f} %"),
        Claim(len(behind) == len(kept), "without it " + ", ".join(
            f"rank {rank:g} {without.value:.1f} instead of {with_it.value:.1f} %"
            for (rank, with_it), (_, without) in zip(kept, lost))),
        Claim(lost[0][1].value < lost[-1][1].value, "less is lost with a higher rank"
              if lost[0][1].value < lost[-1][1].value else "a higher rank loses no less"),
    ])


def take_density(runs):
    taken = []
    for run in runs["topk_density"]:
        taken += learning(run, "top-k, rest kept" if with_memory(run) else "top-k, rest lost",
                          run.get("hook.density"))
    for run in runs["topk_density_dgc"]:
        taken += learning(run, "DGC", run.get("hook.density"))
    return Points(taken + over_all(runs["allreduce"][0], sorted({one.x for one in taken})))


def judge_density(points):
    level = points.curve(ACCURACY, PLAIN)[0][1].value
    lost = points.curve(ACCURACY, "top-k, rest lost")
    hundredth = {series: points.at(ACCURACY, series, 0.01).value
                 for series in ("top-k, rest kept", "DGC", "top-k, rest lost")}
    gap = level - hundredth["top-k, rest lost"]
    return Verdict([
        Claim(lost[0][1].value < lost[1][1].value < lost[2][1].value and gap > 2,
              "with the rest lost accuracy is " + ", ".join(
                  f"{value.value:.1f} % at {x:g}" for x, value in reversed(lost))),
        Claim(all(level - hundredth[series] < min(2.5, gap / 2)
                  for series in ("top-k, rest kept", "DGC")),
              f"at 0.01 {hundredth['top-k, rest kept']:.1f} % with the rest kept and "
              f"{hundredth['DGC']:.1f} % with DGC; plain SGD {level:.1f} %"),
    ])


DENSITY = Panel(ACCURACY, "part of the gradients that is sent")
FIGURES = [
    Figure("compression_crossover",
           "Agarwal et al., On the Utility of Gradient Compression, MLSys 2022",
           "compression pays on slow links alone: in the data centre in 6 of over 200 settings",
           ("compression_crossover",), (Panel(STEP, "link, Gbit/s", scale="log"),),
           take_crossover, judge_crossover),
    Figure("int8_allgather", "PyTorch's quantization hooks",
           "a byte a gradient by allgather is as slow as fp16 on four ranks and as plain allreduce "
           "on eight",
           ("int8_allgather", "int8_allgather_dense"), (Panel(STEP, "ranks"), Panel(SENT, "ranks")),
           take_int8, judge_int8),
    Figure("powersgd_accuracy", "Vogels et al., PowerSGD, NeurIPS 2019",
           "with error feedback a small rank is as accurate as plain SGD, without it accuracy "
           "stays behind",
           ("powersgd_accuracy", "../hooks/convergence/allreduce"),
           (Panel(ACCURACY, "rank of the approximation"), Panel(LOSS, "rank of the approximation")),
           take_powersgd, judge_powersgd),
    Figure("topk_density",
           "Lin et al., Deep Gradient Compression, ICLR 2018; Stich et al., NeurIPS 2018",
           "few gradients are enough if the rest is kept for later steps, and not if it is lost",
           ("topk_density", "topk_density_dgc", "../hooks/convergence/allreduce"),
           (DENSITY, Panel(LOSS, DENSITY.x)), take_density, judge_density),
]
