"""Judges exported traces by rules of their readers, written down here anew.

    trace_check.py structure RUN.lockstep FILE...      one trace of all ranks, or one a rank
    trace_check.py hta RUN.lockstep SAID STEPS.csv FILE...
                                                       one trace a rank, for HTA; SAID is what
                                                       `lockstep export` printed of them, STEPS.csv
                                                       what it wrote with `--csv steps`

The run file is read with SQL alone. Prints what is wrong, a line each, and ends with 1 then.
"""

import collections
import csv
import gzip
import json
import math
import re
import sqlite3
import sys

PHASES = {"X", "i", "C", "M", "s", "t", "f"}
METADATA = {"process_name": ("name", str), "process_labels": ("labels", str),
            "process_sort_index": ("sort_index", int), "thread_name": ("name", str),
            "thread_sort_index": ("sort_index", int)}
COLLECTIVE = {"Collective name": str, "In msg nelems": int, "Out msg nelems": int, "dtype": str,
              "Group size": int, "Process Group Name": str, "Process Group Description": str,
              "Process Group Ranks": str, "Seq": int}
faults = []


def expect(holds, text):
    if not holds:
        faults.append(text)


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def load(path):
    data = open(path, "rb").read()
    if path.endswith(".gz"):
        data = gzip.decompress(data)
    return json.loads(data.decode("utf-8", "strict"), parse_constant=refuse_constant)


def nanoseconds(us):
    """As Perfetto takes a time: the double times a thousand, cut."""
    return int(us * 1000)


def nested(path, events):
    """Slices of one thread hold each other or keep apart, to the nanosecond."""
    threads = collections.defaultdict(list)
    for number, event in enumerate(events):
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(
                (nanoseconds(event["ts"]), nanoseconds(event["dur"]), number))
    for thread, slices in threads.items():
        slices.sort(key=lambda one: (one[0], -one[1], one[2]))
        open_ends = []
        last = None
        for ts, dur, number in slices:
            while open_ends and open_ends[-1] <= ts:
                open_ends.pop()
            expect(not open_ends or ts + dur <= open_ends[-1],
                   f"{path}: thread {thread}: the slice at {ts} ns ends outside the one around it")
            open_ends.append(ts + dur)
            # Readers keep lines of one moment in their order: what holds others comes first.
            expect(last is None or last[0] != ts or last[1] < number or last[2] == dur,
                   f"{path}: thread {thread}: at {ts} ns the inner slice is written first")
            last = (ts, number, dur)
    return threads


def check_event(path, event, threads, processes):
    phase = event["ph"]
    expect(phase in PHASES, f"{path}: phase {phase}")
    expect(isinstance(event["pid"], int) and isinstance(event["tid"], int), f"{path}: {event}")
    expect(isinstance(event["ts"], (int, float)) and event["ts"] >= 0, f"{path}: {event}")
    expect(isinstance(event["name"], str) and event["name"] != "", f"{path}: {event}")
    expect(event["pid"] in processes, f"{path}: process {event['pid']} has no name")
    if phase in "Xi" and event["tid"] != 0:
        expect((event["pid"], event["tid"]) in threads, f"{path}: thread {event['tid']} has no name")
    if phase == "X":
        expect(isinstance(event["dur"], float) and event["dur"] > 0, f"{path}: {event}")
        expect(event["cat"] in ("cpu_op", "user_annotation", "kernel"), f"{path}: {event}")
    if phase == "i":
        expect(event["s"] in ("t", "p", "g"), f"{path}: {event}")
    if phase == "C":
        # Perfetto names a counter after its event and, unless it is "value", its key.
        expect(list(event["args"]) == ["value"] and math.isfinite(event["args"]["value"]),
               f"{path}: {event}")
    if phase == "M":
        key, kind = METADATA.get(event["name"], (None, None))
        expect(key is not None, f"{path}: metadata {event['name']}")
        expect(key is None or isinstance(event["args"][key], kind), f"{path}: {event}")


def check_collective(path, event, world):
    args = event["args"]
    for key, kind in COLLECTIVE.items():
        expect(isinstance(args.get(key), kind), f"{path}: a collective's \"{key}\": {args.get(key)}")
    ranks = json.loads(args["Process Group Ranks"])
    expect(len(ranks) == args["Group size"] <= world, f"{path}: {args}")


def check_flows(path, events, collectives):
    """Every flow is whole, and every end of it lies on a slice of one and the same collective."""
    at = {(event["pid"], event["tid"], event["ts"]): event for event in collectives}
    flows = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            expect(event.get("bp") == "e", f"{path}: {event}")
            flows[event["cat"], event["name"], event["id"]].append(event)
    for key, parts in flows.items():
        phases = "".join(part["ph"] for part in parts)
        expect(phases == "s" + "t" * (len(parts) - 2) + "f", f"{path}: flow {key}: {phases}")
        times = [part["ts"] for part in parts]
        expect(times == sorted(times), f"{path}: flow {key} goes back in time")
        ends = [at.get((part["pid"], part["tid"], part["ts"])) for part in parts]
        expect(None not in ends, f"{path}: flow {key} begins or ends on no collective")
        calls = {(end["args"]["Process Group Name"], end["args"]["Seq"]) for end in ends if end}
        expect(len(calls) == 1, f"{path}: flow {key} joins {calls}")
        processes = [part["pid"] for part in parts]
        expect(len(set(processes)) == len(processes), f"{path}: flow {key}: twice on one rank")
    return flows


def packed_steps(database):
    """The steps, by rank, that have their spans in packed_steps, twelve numbers each (FORMAT.md)."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'packed_steps'").fetchone():
        return set()
    return {(rank, first + number)
            for rank, first, steps in database.execute("SELECT rank, step, steps FROM packed_steps")
            for number in range(sum(byte < 0x80 for byte in steps) // 12)}


def structure(run, paths):
    database = sqlite3.connect(f"file:{run}?mode=ro", uri=True)
    world = int(database.execute("SELECT value FROM meta WHERE key='world_size'").fetchone()[0])
    recorded = database.execute(
        "SELECT count(*) FROM spans JOIN tracks ON tracks.id = track").fetchone()[0]
    recorded += len(packed_steps(database))
    meetings = database.execute(
        "SELECT count(*) FROM (SELECT 1 FROM collectives WHERE operation NOT IN ('send', 'recv') "
        "AND duration_ns > 0 GROUP BY group_number, sequence HAVING count(DISTINCT rank) > 1)"
    ).fetchone()[0]
    written = 0
    for path in paths:
        trace = load(path)
        info = trace["distributedInfo"]
        expect(trace["schemaVersion"] == 1 and isinstance(trace["baseTimeNanoseconds"], int),
               f"{path}: head")
        expect(info["world_size"] == world and isinstance(info["backend"], str), f"{path}: {info}")
        expect(info["pg_count"] == len(info["pg_config"]), f"{path}: {info}")
        expect(("rank" in info) == (len(paths) > 1 or world == 1), f"{path}: {info}")
        events = trace["traceEvents"]
        threads = {(event["pid"], event["tid"]) for event in events
                   if event["ph"] == "M" and event["name"] == "thread_name"}
        processes = {event["pid"] for event in events
                     if event["ph"] == "M" and event["name"] == "process_name"}
        expect(len({thread for _, thread in threads}) == len(threads), f"{path}: threads share ids")
        for event in events:
            check_event(path, event, threads, processes)
        nested(path, events)
        collectives = [event for event in events if event["ph"] == "X"
                       and event["cat"] == "cpu_op" and "Group size" in event["args"]]
        for event in collectives:
            check_collective(path, event, world)
        flows = check_flows(path, events, collectives)
        expect(len(paths) > 1 or len(flows) == meetings,
               f"{path}: {len(flows)} flows for {meetings} collectives")
        expect(len(paths) == 1 or not flows, f"{path}: flows of one rank")
        written += sum(1 for event in events if (event["ph"] == "X" and event["cat"] != "kernel")
                       or (event["ph"] == "i" and event["s"] == "t"))
    expect(written == recorded, f"{written} events are written, {recorded} recorded")


def hta_overlap(path):
    """HTA's get_comm_comp_overlap, after its rounding of times with decimals to whole µs."""
    trace = load(path)
    communication, computing = [], []
    for event in trace["traceEvents"]:
        if event["ph"] != "X" or event["args"].get("stream", -1) == -1:
            continue
        begin, end = math.ceil(event["ts"]), math.floor(event["ts"] + event["dur"])
        if "ncclKernel" in event["name"]:
            communication.append((begin, end))
        elif "Memcpy" not in event["name"] and "Memset" not in event["name"]:
            computing.append((begin, end))
        expect(event["args"].get("no CUDA stream") is True, f"{path}: {event['name']} is not marked")
    # With two of them HTA drops what no CUDA launch belongs to.
    expect(not any(event["name"].startswith("ProfilerStep") for event in trace["traceEvents"]),
           f"{path}: ProfilerStep")

    def merged(pieces):
        united = []
        for begin, end in sorted(pieces):
            if united and begin <= united[-1][1]:
                united[-1][1] = max(united[-1][1], end)
            else:
                united.append([begin, end])
        return united

    changes = sorted([change for begin, end in merged(communication)
                      for change in ((begin, 1), (end, -1))] +
                     [change for begin, end in merged(computing)
                      for change in ((begin, 2), (end, -2))])
    both, running = 0, 0
    for (time, change), (after, _) in zip(changes, changes[1:]):
        running += change
        both += after - time if running == 3 else 0
    in_flight = sum(end - begin for begin, end in merged(communication))
    pieces = len(merged(communication)) + len(merged(computing))
    return trace["distributedInfo"]["rank"], both, in_flight, pieces


def printed(path):
    """The overlap of each rank as the command printed it; None where it is unknown."""
    line = re.compile(r"^  rank (\d+): overlap (\S+ %|unknown).* over \S+ iterations?$", re.MULTILINE)
    with open(path) as file:
        return {int(rank): None if figure == "unknown" else figure
                for rank, figure in line.findall(file.read())}


def hta(run, said, steps, paths):
    said = printed(said)
    without_spans = packed_steps(sqlite3.connect(f"file:{run}?mode=ro", uri=True))
    ours = collections.defaultdict(lambda: [0.0, 0.0])
    with open(steps, newline="") as file:
        for row in csv.DictReader(file):
            if (int(row["rank"]), int(row["step"])) in without_spans:
                continue  # HTA has no spans of it to find anything in
            ours[int(row["rank"])][0] += float(row["overlap_ms"])
            ours[int(row["rank"])][1] += float(row["in_flight_ms"])
    found = {}
    for path in paths:
        rank, both, in_flight, pieces = hta_overlap(path)
        expect(rank not in found, f"{path}: rank {rank} again")
        found[rank] = both
        # Each end of a piece moved by at most half a µs.
        expect(abs(both / 1e3 - ours[rank][0]) <= pieces / 1e3 + 1e-6,
               f"{path}: {both / 1e3} ms overlap, ours {ours[rank][0]}")
        expect(abs(in_flight / 1e3 - ours[rank][1]) <= pieces / 1e3 + 1e-6,
               f"{path}: {in_flight / 1e3} ms in flight, ours {ours[rank][1]}")
        # Of the rows as they are written HTA finds what the command said, to the last digit.
        theirs = f"{100 * both / in_flight:.2f} %" if in_flight else None
        print(f"rank {rank}: HTA {theirs}, said {said.get(rank)}")
        expect(rank in said, f"{path}: nothing was said of rank {rank}")
        expect(said.get(rank) == theirs, f"{path}: HTA finds {theirs}, {said.get(rank)} was said")
    expect(set(found) == set(ours), f"files of ranks {sorted(found)}, steps of {sorted(ours)}")


if __name__ == "__main__":
    if len(sys.argv) >= 4 and sys.argv[1] == "structure":
        structure(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) >= 6 and sys.argv[1] == "hta":
        hta(*sys.argv[2:5], sys.argv[5:])
    else:
        sys.exit(__doc__)
    print("\n".join(faults[:20]) if faults else "as it should be")
    sys.exit(1 if faults else 0)
