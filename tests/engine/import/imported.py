"""Imports files that others made, and judges what becomes of them.

Usage: imported.py BIN CASE [--golden FOLDER] [--traces FOLDER] [--megabytes N]

damaged: 200 traces, dumps and logs, cut off, with changed bytes or values of other types: one line and exit
code 2 each, or, where a changed byte is still a trace, a run that opens.
pickles: dumps as Python's own pickle writes them; and pickles that would run something.
exported: a run that was exported for Holistic Trace Analysis and comes back with the same overlap.
pytorch: a job of two ranks of the PyTorch that runs this, under torch.profiler, with a schedule that
repeats: a file for each time.
large: a trace of N megabytes, made here; prints time and memory. No test: it takes long.
"""

import argparse
import gzip
import json
import os
import pathlib
import pickle
import random
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile

CASES = 200
STEPS = 4
CYCLES = 3  # of a profiler whose schedule repeats


def gradient(ready, elements):
    return [("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 1,
             ready - 4, 10, {}),
            ("cpu_op", "torch::autograd::AccumulateGrad", 1, ready - 2, 2,
             {"Input Dims": [[elements]], "Input type": ["float"]}),
            ("cpu_op", "torch::distributed::reducer::mul_out", 1, ready + 1, 1, {})]


def bucket(asked, elements, begin, end):
    return [("cpu_op", "c10d::allreduce_", 1, asked, 2,
             {"Input Dims": [[[elements]], []], "Input type": ["TensorList", ""]}),
            ("user_annotation", "gloo:all_reduce", 7, begin, end - begin,
             {"Input Dims": [[elements]], "Input type": ["float"]})]


def trace(rank, steps=STEPS, filler=0):
    """A trace of two buckets a step; `filler`: other events a step."""
    events = []
    for step in range(steps):
        at = 1000.0 + 1000 * step
        events.append(("user_annotation", f"ProfilerStep#{step}", 1, at, 1000, {}))
        events.append(("user_annotation", "DistributedDataParallel.forward", 1, at + 10, 90, {}))
        events.append(("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 1, at + 120,
                       20, {}))
        events += gradient(at + 150, 10) + gradient(at + 200, 20)
        events += bucket(at + 203, 30, at + 210 + rank, at + 400)
        events += gradient(at + 350, 5) + gradient(at + 500, 7)
        events += bucket(at + 503, 12, at + 510 + rank, at + 700)
        events.append(("user_annotation", "Optimizer.step#SGD.step", 1, at + 800, 100, {}))
        events += [("cpu_op", "aten::addmm", 1, at + 20 + i * 1e-3, 0.001,
                    {"External id": i, "Record function id": 0, "Ev Idx": i,
                     "Input Dims": [[1024], [64, 1024], [1024, 1024]],
                     "Input type": ["float", "float", "float"]}) for i in range(filler)]
    return {"schemaVersion": 1, "host_name": "alpha", "baseTimeNanoseconds": 1700000000000000000,
            "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 2},
            "traceEvents": [{"ph": "X", "cat": c, "name": n, "pid": 1, "tid": t, "ts": b, "dur": d,
                             "args": a} for c, n, t, b, d, a in events]}


def dump(rank, done=True):
    entries = [{"frames": [{"name": "step", "filename": "train.py", "line": 7}], "pg_id": 0,
                "process_group": ("0", "default_pg"), "collective_seq_id": number,
                "profiling_name": "nccl:all_reduce", "input_sizes": [[1024]],
                "input_dtypes": ["Float"], "time_created_ns": 1700000000000000000 + number,
                "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
                "state": "completed" if done else "scheduled", "retired": done, "is_p2p": False,
                "timeout_ms": 600000, "p2p_seq_id": 0} for number in range(1, 20 + rank)]
    return {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg",
                                                   "ranks": "[0, 1]"}}, "entries": entries}


def inspector_log():
    return [json.dumps({
        "header": {"id": "0x7f8c", "rank": 0, "n_ranks": 2, "nnodes": 1},
        "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "",
                     "rec_mechanism": "nccl_profiler_interface",
                     "dump_timestamp_us": 1748030377748202 + 1000 * number, "hostname": "a",
                     "pid": 7},
        "coll_perf": {"coll": "AllReduce", "coll_sn": number, "coll_msg_size_bytes": 4096,
                      "coll_exec_time_us": 60, "coll_timing_source": "kernel_gpu",
                      "coll_algobw_gbs": 0.07, "coll_busbw_gbs": 0.07}}) for number in range(9)]


class Bench:
    def __init__(self, arguments):
        self.bin = pathlib.Path(arguments.bin)
        self.golden = arguments.golden
        self.traces = arguments.traces
        self.megabytes = arguments.megabytes
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.run = self.folder / "run.lockstep"

    def lockstep(self, *arguments):
        return subprocess.run([self.bin / "lockstep", *map(str, arguments)], capture_output=True,
                              text=True, errors="replace", timeout=120, check=False)

    def imported(self, *paths):
        self.run.unlink(missing_ok=True)
        result = self.lockstep("import", *paths, "--out", self.run)
        if result.returncode != 0:
            sys.exit(f"{paths}: {result.returncode}\n{result.stdout}{result.stderr}")
        return result.stdout

    def ask(self, sql):
        with sqlite3.connect(self.run) as database:
            return database.execute(sql).fetchall()


def expect(condition, text):
    if not condition:
        sys.exit(text)


def damage(chance, number):
    """One damaged file: name, bytes, and whether it must be refused."""
    kind = number % 6
    if kind == 0:  # cut off
        text = json.dumps(trace(0)).encode()
        return "cut_rank0.json", text[:chance.randrange(50, len(text) - 2)], True
    if kind == 1:  # a gzip with a changed byte, behind its header
        text = bytearray(gzip.compress(json.dumps(trace(0)).encode(), mtime=0))
        at = chance.randrange(12, len(text) - 4)
        text[at] ^= 1 << chance.randrange(8)
        return "flipped_rank0.json.gz", bytes(text), True
    if kind == 2:  # a value of another type
        made = trace(0)
        event = chance.choice(made["traceEvents"])
        event[chance.choice(["ts", "dur"])] = chance.choice(["x", [1], {"a": 1}, True, -5, 1e300])
        return "type_rank0.json", json.dumps(made).encode(), True
    if kind == 3:  # a changed byte, which may leave a trace behind
        text = bytearray(json.dumps(trace(0)).encode())
        text[chance.randrange(len(text))] = chance.randrange(256)
        return "byte_rank0.json", bytes(text), False
    if kind == 5:  # a line of an NCCL Inspector's log that is none
        lines = inspector_log()
        at = chance.randrange(len(lines) - 1)
        made = json.loads(lines[at])
        key = chance.choice(["coll_sn", "coll_msg_size_bytes", "coll_exec_time_us"])
        made["coll_perf"][key] = chance.choice(["x", None, [1], True, -5, 1e300])
        lines[at] = chance.choice([json.dumps(made), lines[at][:-5], ""]) or "[]"
        return "inspector.log", "\n".join(lines).encode(), True
    text = bytearray(pickle.dumps(dump(0), protocol=chance.randrange(2, 6)))
    if chance.random() < 0.5:
        return "cut_rank0.pickle", bytes(text[:chance.randrange(2, len(text) - 1)]), True
    text[chance.randrange(1, len(text))] = chance.randrange(256)
    return "byte_rank0.pickle", bytes(text), False


def damaged(bench):
    chance = random.Random(21)
    refused = still = 0
    for number in range(CASES):
        name, content, must = damage(chance, number)
        path = bench.folder / name
        path.write_bytes(content)
        bench.run.unlink(missing_ok=True)
        result = bench.lockstep("import", path, "--out", bench.run)
        case = f"case {number}, {name}: exit code {result.returncode}, {result.stderr!r}"
        if result.returncode == 2:
            refused += 1
            expect(result.stderr.count("\n") == 1 and name in result.stderr, case)
            expect(not bench.run.exists(), case + ": a run file is left")
        else:
            still += 1
            expect(result.returncode == 0 and not must, case)
            info = bench.lockstep("info", bench.run)
            expect(info.returncode == 0, case + ": " + info.stderr)
        path.unlink()
    expect(refused >= CASES * 7 // 10, f"only {refused} of {CASES} were refused")
    print(f"{refused} of {CASES} refused in one line, {still} were still traces or dumps")


class Runs:
    """What pickle calls when it is loaded."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


def pickles(bench):
    for protocol in range(2, 6):
        for rank in range(2):
            (bench.folder / f"nccl_trace_rank_{rank}").write_bytes(
                pickle.dumps(dump(rank, done=False), protocol=protocol))
        said = bench.imported(*(bench.folder / f"nccl_trace_rank_{rank}" for rank in range(2)))
        expect("rank 0 had not come to allreduce of 1024 elements, number 20 of group 0" in said, said)
    marker = bench.folder / "marker"
    evil = dump(0)
    evil["entries"].append(Runs(marker))
    for protocol in range(2, 6):
        path = bench.folder / "evil_rank0.pickle"
        path.write_bytes(pickle.dumps(evil, protocol=protocol))
        result = bench.lockstep("import", path, "--out", bench.folder / "evil.lockstep")
        expect(result.returncode == 2 and result.stderr.count("\n") == 1, result.stderr)
        expect(re.search(r"opcode (STACK_)?GLOBAL,", result.stderr), result.stderr)
        expect(not marker.exists(), "the pickle ran what it holds")
    pickle.loads(pickle.dumps(evil))
    expect(marker.exists(), "the pickle would run nothing: this test proves nothing")
    print("dumps of four protocols read, four that would run something refused")


def exported(bench):
    (bench.folder / "made").mkdir()
    for rank in range(2):
        (bench.folder / "made" / f"rank{rank}.json").write_text(json.dumps(trace(rank)))
    bench.imported(bench.folder / "made")
    made = bench.folder / "made.lockstep"
    bench.run.rename(made)
    for run in (made, sorted(pathlib.Path(bench.golden).glob("*.lockstep"))[-1]):
        comes_back(bench, run, bench.folder / f"{run.stem}-ranks")


def comes_back(bench, run, ranks):
    said = bench.lockstep("export", run, "--per-rank", ranks, "--for", "hta")
    expect(said.returncode == 0, said.stderr)
    told = re.findall(r"rank (\d+): overlap ([\d.]+) %", said.stdout)
    expect(told, said.stdout)
    bench.imported(ranks)
    again = bench.lockstep("export", bench.run, "--per-rank", f"{ranks}-again", "--for",
                           "hta")
    back = re.findall(r"rank (\d+): overlap ([\d.]+) %", again.stdout)
    expect([rank for rank, _ in told] == [rank for rank, _ in back], f"{told} and {back}")
    for (rank, before), (_, after) in zip(told, back):
        expect(abs(float(before) - float(after)) < 0.5, f"rank {rank}: {before} % and {after} %")
    with sqlite3.connect(run) as database:
        # The rest of a collective on a modelled link, and its check, come back as collectives.
        calls = database.execute("SELECT count(*) FROM spans_ns WHERE kind IN ('collective', "
                                 "'shaped', 'checked')").fetchone()[0]
    found = bench.ask("SELECT count(*) FROM collectives")[0][0]
    expect(found > 0 and found <= calls, f"{found} collectives of {calls}")
    print(f"overlap {told} came back as {back}")


def train(folder):
    """One rank of a job under torch.profiler."""
    import torch
    import torch.distributed as dist
    from torch.profiler import ProfilerActivity, profile, schedule

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(256, 256), torch.nn.ReLU()]
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)), bucket_cap_mb=0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                 schedule=schedule(wait=1, warmup=1, active=STEPS, repeat=CYCLES),
                 on_trace_ready=lambda made: made.export_chrome_trace(
                     f"{folder}/rank{rank}_to_{made.step_num}.json")) as profiler:
        for _ in range((STEPS + 2) * CYCLES):
            loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 256)),
                                                     torch.randint(10, (32,)))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    dist.destroy_process_group()


def pytorch(bench):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [subprocess.Popen(
        [sys.executable, *sys.argv, "--traces", str(bench.folder)],
        env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                 MASTER_PORT=str(port))) for rank in range(2)]
    expect([rank.wait(timeout=120) for rank in ranks] == [0, 0], "the job failed")
    import torch

    cycles = CYCLES
    if torch.autograd.kineto_available():
        said = bench.imported(bench.folder)
        expect(re.search(rf"of each rank there are {CYCLES} traces, one behind the other.*: [\d.]+"
                         rf"( to [\d.]+)? s between iterations {STEPS + 1} and {STEPS + 4}, ", said),
               said)
    else:  # its times count from a start of its own: which trace was first is not in them
        refused = bench.lockstep("import", bench.folder, "--out", bench.run)
        expect(refused.returncode == 2 and refused.stderr.count("\n") == 1
               and "without the time of day in both" in refused.stderr, refused.stderr)
        cycles = 1
        said = bench.imported(*bench.folder.glob(f"rank*_to_{STEPS + 2}.json"))
    steps = STEPS * cycles
    expect(f"{steps} iterations of 2 ranks" in said, said)
    def count(kind):
        return bench.ask("SELECT rank, count(*) FROM spans_ns WHERE kind = "
                         f"'{kind}' GROUP BY rank ORDER BY rank")
    for kind in ("step", "forward", "backward", "optimizer"):
        expect(count(kind) == [(0, steps), (1, steps)], f"{kind}: {count(kind)}")
    expect(count("gradient_ready") == [(0, 10 * steps), (1, 10 * steps)], str(count("gradient_ready")))
    buckets = bench.ask("SELECT count(*) FROM buckets WHERE layout = (SELECT max(layout) FROM layouts)")
    launched, flown = count("bucket_launched"), count("collective")
    whole = [(rank, buckets[0][0] * steps) for rank in range(2)]
    # The profiler may stop before the thread of a trace's last all-reduce has told of its end.
    late = sum(all_ - told for (_, all_), (_, told) in zip(whole, flown))
    expect(launched == whole and 0 <= late <= 2 * cycles,
           f"{buckets}, launched {launched}, carried out {flown}")
    expect(("not when they were carried out" in said) == (late > 0), said)
    meet = bench.ask("SELECT group_number, sequence FROM collectives GROUP BY 1, 2 HAVING count(*) <> 2")
    expect(len(meet) <= late, f"collectives of one rank: {meet}, {late} not told of")
    outside = bench.ask(
        "SELECT count(*) FROM spans_ns AS b JOIN spans_ns AS s ON b.rank = s.rank AND b.step = s.step "
        "WHERE s.kind = 'step' AND b.kind IN ('backward', 'bucket_launched', 'gradient_ready') AND "
        "(b.start_ns < s.start_ns OR b.start_ns > s.start_ns + s.duration_ns)")
    expect(outside == [(0,)], f"{outside} outside of their step")
    print(said, end="")


def large(bench):
    path = bench.folder / "rank0.json"
    head, _, tail = json.dumps(trace(0, 0)).partition("[]")
    one = json.dumps(trace(0, 1, 100)["traceEvents"])[1:-1]
    with path.open("w") as file:
        file.write(head + "[" + one)
        for step in range(1, int(bench.megabytes * 1e6 / len(one))):
            file.write(",\n" + json.dumps(shifted(step))[1:-1])
        file.write("]" + tail)
    timed = subprocess.run(["/usr/bin/time", "-v", bench.bin / "lockstep", "import", path, "--out",
                            bench.run, "--quiet"], capture_output=True, text=True, check=True)
    told = dict(line.strip().rsplit(": ", 1) for line in timed.stderr.splitlines() if ": " in line)
    print(f"{path.stat().st_size / 1e6:.0f} MB: "
          f"{told['Elapsed (wall clock) time (h:mm:ss or m:ss)']} by the clock, "
          f"{float(told['User time (seconds)']) + float(told['System time (seconds)']):.1f} s of "
          f"processor, {int(told['Maximum resident set size (kbytes)']) / 1024:.0f} MiB at most")


def shifted(step):
    """The events of a later step."""
    events = trace(0, 1, 100)["traceEvents"]
    for event in events:
        event["ts"] += 1000 * step
    events[0]["name"] = f"ProfilerStep#{step}"
    return events


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("case", choices=["damaged", "pickles", "exported", "pytorch", "large"])
    parser.add_argument("--golden")
    parser.add_argument("--traces")
    parser.add_argument("--megabytes", type=float, default=200)
    arguments = parser.parse_args()
    if "RANK" in os.environ:
        train(arguments.traces)
        return
    bench = Bench(arguments)
    try:
        globals()[arguments.case](bench)
    finally:
        subprocess.run(["rm", "-rf", str(bench.folder)], check=False)


if __name__ == "__main__":
    main()
