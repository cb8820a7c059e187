"""The arithmetic of the benchmarks: medians with their spread, ratios, bandwidths, what is asked."""

import random
import statistics


def resampled(function, rows, resamples=2000):
    """The 95 % bootstrap interval of a function of rows; None where it is unknown (None) for more
    than one resample in twenty."""
    source = random.Random(0)
    values = sorted(value for value in (function(source.choices(rows, k=len(rows)))
                                        for _ in range(resamples)) if value is not None)
    if len(values) < 0.95 * resamples:
        return None
    return [values[int(0.025 * len(values))], values[int(0.975 * len(values))]]


def interval(values, resamples=2000):
    """The 95 % bootstrap interval of the median."""
    return resampled(statistics.median, values, resamples)


def median_step(answers):
    """The step time of a turn: the median over its steps of the slowest rank."""
    return statistics.median(max(times) for times in zip(*(a["step_ms"] for a in answers)))


def mean_step(answers):
    """The time of a turn over its steps, of the slowest rank: also right for ranks that do not
    wait for each other, whose single steps differ by who had the processor."""
    return max(sum(a["step_ms"]) / len(a["step_ms"]) for a in answers)


def mean_call(answers):
    """The time of a loop over its calls, of the slowest rank."""
    return max(a["total_ms"] / a["calls"] for a in answers)


def gap_closed(ours, peer, bound):
    """How much of the way from the peer to the bound is gone, by the medians of paired times: 0 as
    slow as the peer, 1 as fast as the bound. None where the peer is not above the bound."""
    own, other, least = (statistics.median(times) for times in (ours, peer, bound))
    return (other - own) / (other - least) if other > least else None


def gap(ours, peer, bound):
    """gap_closed() and its 95 % interval over the rounds; None for what is unknown."""
    rounds = list(zip(ours, peer, bound))
    return gap_closed(ours, peer, bound), resampled(lambda rows: gap_closed(*zip(*rows)), rounds)


def algbw(size, milliseconds):
    """GB/s of an operation on `size` bytes, as nccl-tests define it."""
    return size / milliseconds / 1e6


def busbw(size, milliseconds, ranks):
    """GB/s that an allreduce of `size` bytes takes of each rank's link, as nccl-tests define it:
    an optimal one sends 2 (n - 1) / n of its bytes, whatever n is."""
    return algbw(size, milliseconds) * 2 * (ranks - 1) / ranks


def paired(name, ours, peer, unit="ms", **extra):
    """The result of two lists of paired measurements: ratio = peer / ours, above 1 is faster."""
    ratios = [p / o for o, p in zip(ours, peer)]
    return {"name": name, "unit": unit, "ours": statistics.median(ours),
            "peer": statistics.median(peer), "ratio": statistics.median(ratios),
            "interval": interval(ratios), "rounds": len(ratios), **extra}


def compared(name, title, times, ours, peer, bound=None, unit="ms"):
    """The result of several sides measured in the same rounds (`times`: a list by label), of which
    two are compared and one may be the bound."""
    result = paired(name, times[ours], times[peer], unit, title=title, ours_name=ours,
                    peer_name=peer)
    if bound is not None:
        result |= {"bound": statistics.median(times[bound]), "bound_name": bound}
    result["sides"] = {label: {"median": statistics.median(values), "interval": interval(values),
                               "values": values} for label, values in times.items()}
    return result


def judged(name, value, unit, limit, least=False):
    """A line for people, and a second that says so when the figure is missed."""
    missed = value < limit if least else value > limit
    line = f"{name:36} {value:10.3f} {unit}, {'at least' if least else 'at most'} {limit:g}"
    return line + ("  MISSED" if missed else ""), [line] if missed else []


def ask(result, name, value, unit, limit, least=False):
    """Adds a figure that is asked for to a result. One that is unknown (None) is said to be so and
    is neither met nor missed."""
    asked = {"what": name, "value": value, "unit": unit, "limit": limit,
             "least": least, "met": None}
    if value is None:
        line, missed = f"{name:36}    unknown {unit}", []
    else:
        line, missed = judged(name, value, unit, limit, least)
        asked["met"] = not missed
    result.setdefault("asked", []).append(asked)
    result.setdefault("lines", []).append(line)
    result.setdefault("missed", []).extend(missed)
