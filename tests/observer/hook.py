"""Trains with lockstep.hook in PyTorch, and holds it to what it promises.

Usage: hook.py --bin FOLDER --package FOLDER --hooks FOLDER CASE

--hooks is the folder of my_hook.so, which the template makes, and faulty.so (Faulty.cpp).
"""

import argparse
import datetime
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "conformance"))
import peers
import torch
import torch.distributed as dist
from torch import nn

LIMIT = 4  # seconds that a collective of the job may take
STEPS = 10


class Wrong(Exception):
    """The hook is not as it should be."""


def check(holds, what):
    if not holds:
        raise Wrong(what)


def model(rebuilds=False):
    """In two buckets or more, which are rebuilt if asked for; the same weights each time."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 9))
    return nn.parallel.DistributedDataParallel(net, find_unused_parameters=not rebuilds,
                                               **peers.bucket_caps(0.008, 0.008))


def train(ddp, optimizer, first, last, rank):
    losses = []
    for step in range(first, last):
        generator = torch.Generator().manual_seed(100 * step + rank)
        optimizer.zero_grad()
        loss = ddp(torch.randn(8, 32, generator=generator)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, nn.utils.parameters_to_vector(ddp.parameters()).tolist()


def on_ranks(world, body, limit=60.0):
    """What body(rank) returned on each rank, a process each; Wrong where one failed."""
    with tempfile.TemporaryDirectory() as folder:
        def rank_body(rank):
            peers.write(folder, f"{rank}.json", body(rank))
        children = []
        for rank in range(world):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    dist.init_process_group(
                        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank,
                        world_size=world, timeout=datetime.timedelta(seconds=limit))
                    rank_body(rank)
                    code = 0
                except BaseException:
                    import traceback
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        check(not any(codes), f"the ranks ended with {codes}")
        return [peers.read(folder, f"{rank}.json") for rank in range(world)]


def refusal(name, **values):
    """The sentence with which a hook is refused."""
    import lockstep

    try:
        lockstep.hook(name, **values)
    except lockstep.HookError as error:
        check("\n" not in str(error), f"more than a sentence: {error}")
        return str(error)
    raise Wrong(f"{name} with {values} is not refused")


# ---- Cases -------------------------------------------------------------------------------------


def case_state(options, hook, values, momentum=0.0):
    """10 steps, saved, loaded by new objects, and 10 more, are 20 steps."""
    import lockstep

    def body(rank):
        whole = model()
        optimizer = torch.optim.SGD(whole.parameters(), lr=0.05, momentum=momentum)
        state, run = lockstep.hook(hook, optimizer=optimizer, **values)
        whole.register_comm_hook(state, run)
        expected = train(whole, optimizer, 0, 2 * STEPS, rank)[1]

        first = model()
        optimizer = torch.optim.SGD(first.parameters(), lr=0.05, momentum=momentum)
        state, run = lockstep.hook(hook, optimizer=optimizer, **values)
        first.register_comm_hook(state, run)
        train(first, optimizer, 0, STEPS, rank)
        with tempfile.NamedTemporaryFile() as file:
            torch.save({"model": first.module.state_dict(), "optimizer": optimizer.state_dict(),
                        "hook": state.state_dict()}, file.name)
            kept = torch.load(file.name)
        check(kept["hook"]["step"] == STEPS, "the step is not kept")

        second = model()
        second.module.load_state_dict(kept["model"])
        optimizer = torch.optim.SGD(second.parameters(), lr=0.05, momentum=momentum)
        optimizer.load_state_dict(kept["optimizer"])
        state, run = lockstep.hook(hook, optimizer=optimizer, **values)
        state.load_state_dict(kept["hook"])
        second.register_comm_hook(state, run)
        check(train(second, optimizer, STEPS, 2 * STEPS, rank)[1] == expected,
              f"{hook}: weights after a load are not those of 20 steps")

        bare = model()
        optimizer = torch.optim.SGD(bare.parameters(), lr=0.05, momentum=momentum)
        bare.module.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        state, run = lockstep.hook(hook, optimizer=optimizer, **values)
        bare.register_comm_hook(state, run)
        check(train(bare, optimizer, STEPS, 2 * STEPS, rank)[1] != expected,
              f"{hook}: it makes no difference whether its state is loaded")

        other = dict(kept["hook"], rank=1 - rank)
        for damaged, why in ((other, "each rank saves its own"),
                             (dict(kept["hook"], hook="fp16"), "is one of hook 'fp16'"),
                             ({"hook": hook}, "it has no rank"),
                             (dict(kept["hook"], state=kept["hook"]["state"][:-3]), "damaged"),
                             (dict(kept["hook"], state=kept["hook"]["state"][:0]),
                              "holds no state of it")):
            try:
                state.load_state_dict(damaged)
            except lockstep.HookError as error:
                check(why in str(error), f"'{error}' does not say: {why}")
            else:
                raise Wrong(f"a state is taken of which: {why}")
        return True

    on_ranks(2, body)


def case_own(options):
    """A hook that a user built, by its path, by its name, and the second of a library."""
    import lockstep

    def body(rank):
        results = {}
        for name in (str(options.hooks / "my_hook.so"), "my_hook"):
            ddp = model(rebuilds=True)
            optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05)
            state, run = lockstep.hook(name, limit=0.01)
            ddp.register_comm_hook(state, run)
            results[name] = train(ddp, optimizer, 0, STEPS, rank)
            check(state.counters["clipped"] > 0, "what the hook counted is not told")
            check(state.name == "my_hook" and run.__name__ == "lockstep_my_hook", "its name")
        first, second = results.values()
        check(first == second, "by path and by name differ")

        def clipped(_, bucket):
            flat = bucket.buffer().clamp_(-0.01, 0.01).div_(dist.get_world_size())
            return dist.all_reduce(flat, async_op=True).get_future().then(lambda f: f.value()[0])

        ddp = model(rebuilds=True)
        ddp.register_comm_hook(None, clipped)
        optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05)
        check(train(ddp, optimizer, 0, STEPS, rank) == first, "it is not what it does in Python")

        ddp = model()
        ddp.register_comm_hook(*lockstep.hook(f"{options.hooks / 'faulty.so'}:halving"))
        train(ddp, torch.optim.SGD(ddp.parameters(), lr=0.05), 0, 2, rank)
        check("say which one" in refusal(str(options.hooks / "faulty.so")), "two hooks")
        return first[0]

    os.environ["LOCKSTEP_HOOKS"] = str(options.hooks)
    on_ranks(2, body)


def case_live(options):
    """A live parameter changes between steps; another does not."""
    import lockstep

    def body(rank):
        ddp = model()
        optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05)
        state, run = lockstep.hook(f"{options.hooks / 'faulty.so'}:faulty")
        ddp.register_comm_hook(state, run)
        train(ddp, optimizer, 0, 2, rank)
        before = nn.utils.parameters_to_vector(ddp.parameters()).tolist()
        state.set(factor=0.0)
        check(train(ddp, optimizer, 2, 4, rank)[1] == before, "the gradients are not 0")
        for values, why in (({"factor": 9}, "must be a number from 0 to 8, not 9"),
                            ({"rank": 0}, "cannot change during a run")):
            try:
                state.set(**values)
            except lockstep.HookError as error:
                check(why in str(error), f"'{error}' does not say: {why}")
            else:
                raise Wrong(f"{values} is taken")
        return True

    on_ranks(2, body)


def case_refusals(options):
    """One sentence each, before anything is trained."""

    def body(rank):
        several = torch.optim.SGD([{"params": [nn.Parameter(torch.zeros(1))], "lr": 0.1},
                                   {"params": [nn.Parameter(torch.zeros(1))], "lr": 0.2}], lr=0.1)
        one = [nn.Parameter(torch.zeros(1))]
        for name, values, sentence in (
                ("fp61", {}, 'there is no hook "fp61"; did you mean fp16?'),
                ("xyzzy", {}, 'there is no hook "xyzzy"; the hooks are allreduce, '),
                ("/nowhere/it.so", {}, "/nowhere/it.so: there is no such file"),
                (__file__ + ".so", {}, "there is no such file"),
                ("powersgd", {"rank": 0}, "hook 'powersgd': rank must be an integer from 1 to 64, not 0"),
                ("powersgd", {"rank": 2.5}, "not 2.5"),
                ("powersgd", {"rank": "two"}, 'rank must be an integer from 1 to 64, not "two"'),
                ("powersgd", {"warm_start": 1}, "warm_start must be True or False, not 1"),
                ("powersgd", {"rnak": 2}, "there is no parameter rnak; did you mean rank?"),
                ("fp16", {"rank": 2}, 'there is no parameter rank: hook "fp16" has none'),
                ("dgc", {}, "hook 'dgc' has to know the optimizer"),
                ("dgc", {"optimizer": several}, "the parameter groups of this SGD differ"),
                ("dgc", {"optimizer": torch.optim.Adagrad(one)}, "SGD, Adam and AdamW, and not of "
                 "Adagrad"),
                ("dgc", {"optimizer": torch.optim.Adam(one, amsgrad=True)}, "Adam with amsgrad"),
                ("gossip", {}, "on the parameters after each step of the optimizer"),
                ("zero_rs", {}, "on the parameters before each forward"),
                ("onebit", {}, "steps the parameters in the optimizer's place")):
            told = refusal(name, **values)
            check(sentence in told, f"'{told}' does not say: {sentence}")
        told = refusal(f"{options.hooks / 'faulty.so'}:faulty", wrong="nohting")
        check('not "nohting"; did you mean "nothing"?' in told, told)
        return True

    os.environ["LOCKSTEP_HOOKS"] = str(options.bin / "hooks")
    on_ranks(2, body)


def case_missing(options):
    """Where Lockstep's own hooks are not, as beside a wheel."""
    import lockstep

    os.environ["LOCKSTEP_HOOKS"] = "/nowhere/of/mine"
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_DATA_HOME"] = home
        from lockstep import _hook_library
        folders = _hook_library.folders
        _hook_library.folders = lambda: [f for f in folders() if "bin/hooks" not in f]
        told = refusal("fp16")
        check(told.startswith('there is no hook "fp16": no plugin was found in /nowhere/of/mine, '),
              told)
        check(home in told, told)
    _hook_library.folders = folders
    check("no process group yet" in refusal(str(options.hooks / "my_hook.so")), "before init")
    check(lockstep.HookError is not None, "no HookError")


FAULTS = {
    "create": "hook 'faulty' could not be created: it would rather not",
    "throw": "hook 'faulty': bucket 1 of step 2: a matrix of 0 columns",
    "never": f"hook 'faulty': bucket 1 of step 2: it gave no result within {LIMIT} s",
    "hang": f"hook 'faulty': bucket 1 of step 2: it gave no result within {LIMIT} s",
    "twice": "hook 'faulty': it called complete() for bucket 1 of step 2 after that had ended",
    "open": "bucket 1 of step 2: it called complete() while 1 of its operations had not been resumed",
    "beyond": "of step 2, which has ",
    "past_scratch": "3 elements of float64 are bytes 240 to 264 of scratch memory of bucket 1 of step "
                    "2, which has 256",
    "after_no_more": "an operation was queued after no_more()",
    "short": "elements of float32 are not 2 times",
    "stranger": "hook 'faulty': it called fail() with a run that is none",
    "integer_math": "math: multiply: it calculates in floating point, not in int64",
}


def case_fault(options, wrong):
    """What a hook does wrong is one sentence on its rank, and the other rank does not wait for good."""
    import lockstep

    def body(rank):
        ddp = model()
        optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05)
        began = time.monotonic()
        try:
            state, run = lockstep.hook(f"{options.hooks / 'faulty.so'}:faulty", wrong=wrong)
            ddp.register_comm_hook(state, run)
            for step in range(6):
                train(ddp, optimizer, step, step + 1, rank)
                began = time.monotonic()  # of the step that fails
        except RuntimeError as error:
            told = str(error)
            took = time.monotonic() - began
            try:
                state.state_dict()
            except NameError:
                pass  # it was not made
            except lockstep.HookError as again:
                check(str(again) in told or "faulty" in str(again), f"then it says: {again}")
            else:
                raise Wrong("a hook that failed can be used")
            return [told, took]
        return ["", 0.0]

    told = on_ranks(2, body, LIMIT)
    check(FAULTS[wrong] in told[1][0], f"rank 1 says: {told[1][0]!r}")
    check("faulty" in told[1][0].splitlines()[0], "the first line does not name it")
    check(told[0][0] != "", "rank 0 trained on without rank 1")
    for rank, (_, seconds) in enumerate(told):
        check(seconds < 4 * LIMIT, f"rank {rank} ended after {seconds:.1f} s")


def check_phases(file):
    """Powersgd encodes and decodes each bucket, and sends between the two: it says so itself."""
    for rank in range(2):
        for step in (STEPS - 2, STEPS - 1):
            phases = {kind: file.execute(
                "SELECT bucket, start_ns, start_ns + duration_ns, detail FROM spans_ns WHERE rank = ? "
                "AND step = ? AND kind = ? ORDER BY start_ns", (rank, step, kind)).fetchall()
                for kind in ("hook_encode", "hook_communicate", "hook_decode")}
            buckets = {row[0] for row in phases["hook_encode"]}
            check(len(buckets) > 1, f"rank {rank}, step {step}: {phases}")
            for bucket in buckets:
                encode, fly, decode = ([row for row in rows if row[0] == bucket]
                                       for rows in phases.values())
                check(encode and fly and decode, f"bucket {bucket}: {phases}")
                check(encode[0][1] <= fly[0][1] and fly[-1][2] <= decode[-1][2] + 2,
                      f"bucket {bucket}: {phases}")
                check(all(row[3] == 0 for row in encode + fly + decode), "derived")


def case_both(options):
    """lockstep.watch and lockstep.hook in one job, and what they compute is what the hook does."""
    def job(*ways, record=False):
        command = [sys.executable, __file__, "--package", options.package, "--hooks", options.hooks,
                   "--bin", options.bin, "job", *ways]
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder) / "run.lockstep"
            if record:
                command = [options.bin / "lockstep", "record", "--quiet", "--out", run, "--"] + command
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=100)
            check(done.returncode == 0, f"the job ended with {done.returncode}: {done.stderr}")
            check("not observed" not in done.stderr, done.stderr)
            told = sorted(line for line in done.stdout.splitlines() if line.startswith("{"))
            if record:
                info = subprocess.run([options.bin / "lockstep", "info", run, "--json"],
                                      capture_output=True, text=True, timeout=60)
                check(info.returncode == 0, info.stderr)
                import sqlite3
                file = sqlite3.connect(run)
                spans = file.execute(
                    "SELECT count(*) FROM spans_ns WHERE bucket = 1").fetchone()[0]
                check(spans > 0, "the buckets are not in the run")
                check_phases(file)
            return told

    alone = job()
    check(len(alone) == 2, f"{alone}")
    told = job("watch")
    check(told == alone, f"it trains otherwise where nobody records: {told} and {alone}")
    told = job("watch", record=True)
    check(told == alone, f"it trains otherwise under the observer: {told} and {alone}")


def job(options, ways):
    """Two ranks with powersgd, as a script would have it; prints what came out."""
    import lockstep

    children = []
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(2):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous",
                                            rank=rank, world_size=2)
                    ddp = model(rebuilds=True)
                    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05)
                    if "watch" in ways:
                        ddp = lockstep.watch(ddp, optimizer)
                    ddp.register_comm_hook(*lockstep.hook("powersgd", rank=2, start=3))
                    losses, weights = train(ddp, optimizer, 0, STEPS, rank)
                    told = {"rank": rank, "losses": losses, "weights": sum(weights)}
                    os.write(1, (json.dumps(told) + "\n").encode())  # a whole line at once
                    dist.barrier()
                    code = 0
                except BaseException:
                    import traceback
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return max(codes)


def case_several(options):
    """Two models with a hook each, no_sync, gradient_as_bucket_view, and a hook used twice."""
    import lockstep

    def body(rank):
        one, two = model(rebuilds=True), model()
        for ddp in (one, two):
            ddp.register_comm_hook(*lockstep.hook("powersgd", start=2))
        for ddp in (one, two):
            optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05)
            with ddp.no_sync():
                ddp(torch.ones(2, 32)).sum().backward()
            train(ddp, optimizer, 0, 4, rank)
        three, four = model(), model()
        state, run = lockstep.hook("allreduce")
        three.register_comm_hook(state, run)
        four.register_comm_hook(state, run)
        train(three, torch.optim.SGD(three.parameters(), lr=0.05), 0, 1, rank)
        try:
            train(four, torch.optim.SGD(four.parameters(), lr=0.05), 0, 1, rank)
        except RuntimeError as error:
            check("belongs to another model" in str(error), str(error))
        else:
            raise Wrong("a hook serves two models")
        five = model()
        five.register_comm_hook(*lockstep.hook("allreduce"))
        try:
            with five.join():
                train(five, torch.optim.SGD(five.parameters(), lr=0.05), 0, 1, rank)
        except RuntimeError as error:
            check("Join is not offered" in str(error), str(error))
        else:
            raise Wrong("Join is offered")
        return True

    os.environ["LOCKSTEP_HOOKS"] = str(options.bin / "hooks")
    on_ranks(2, body)


CASES = {
    "state.powersgd": lambda options: case_state(options, "powersgd", {"rank": 2, "start": 3}),
    "state.topk": lambda options: case_state(options, "topk", {"density": 0.05}, 0.9),
    "state.dgc": lambda options: case_state(options, "dgc", {"density": 0.05}),
    "state.delayed": lambda options: case_state(options, "delayed", {}),
    "own": case_own, "live": case_live, "refusals": case_refusals, "missing": case_missing,
    "several": case_several, "both": case_both,
    **{f"fault.{wrong}": lambda options, wrong=wrong: case_fault(options, wrong) for wrong in FAULTS},
}


def main():
    parser = argparse.ArgumentParser()
    for name in ("bin", "package", "hooks"):
        parser.add_argument(f"--{name}", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("case", choices=[*CASES, "job"])
    parser.add_argument("ways", nargs="*")
    options = parser.parse_args()
    sys.path.insert(0, str(options.package))
    logging.basicConfig()
    peers.prepare()
    os.environ.setdefault("LOCKSTEP_HOOKS", str(options.bin / "hooks"))
    if options.case == "job":
        sys.exit(job(options, options.ways))
    try:
        CASES[options.case](options)
    except Wrong as error:
        sys.exit(f"{options.case}: {error}")
    print(f"{options.case}: ok")


if __name__ == "__main__":
    main()
