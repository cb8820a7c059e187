"""The checks of tests/gpu/run, in the order of their worth: the first that fail do not keep the
others from running. Each has a time limit, since a hang is one of the ways in which sharing a GPU
fails."""

import argparse
import contextlib
import importlib.util
import json
import math
import os
import pathlib
import platform
import signal
import subprocess
import sys
import time
import types
from concurrent import futures

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "gpu"
PACKED = ROOT / "tests" / "gpu" / "packed" / "usr"
HOOKS = {"fp16": [], "bf16": [], "powersgd": ["hook.start=2"]}
TARGETS = ["lockstep", "lockstep-rank", "lockstep-hookscan", "test_engine_process_group_nccl",
           "test_engine_device", "conformance_driver", "bench_ddp_step", "lockstep_native",
           "lockstep_nccl_profiler", *HOOKS]
FEWEST_ROUNDS = 4  # that an interval means something of
CLOSING_S = 15  # for the contestants to end
OPTIONS = {"CMAKE_BUILD_TYPE": "Release", "LOCKSTEP_WITH_UI": "OFF", "LOCKSTEP_WITH_GLOO": "OFF", "LOCKSTEP_WITH_MPI": "OFF",
           "LOCKSTEP_WITH_TESTS": "ON"}

sys.path.insert(0, str(ROOT / "tests" / "bench"))
os.environ["LOCKSTEP_PYTORCH"] = sys.executable


class Check:
    """What has been found so far; written anew after each part, so that a kill loses little."""

    def __init__(self, out, minutes):
        self.out = out
        self.end = time.monotonic() + 60 * minutes
        self.report = {"machine": {}, "parts": []}
        out.mkdir(parents=True, exist_ok=True)

    def left(self):
        return self.end - time.monotonic()

    def write(self):
        (self.out / "report.json").write_text(json.dumps(self.report, indent=1) + "\n")

    def add(self, name, passed, seconds, **found):
        self.report["parts"].append({"name": name, "passed": passed, "seconds": round(seconds, 1),
                                     **found})
        self.write()
        print(f"{'ok    ' if passed else 'FAILED'} {name} ({seconds:.0f} s)", flush=True)

    def leave_out(self, name):
        self.report["parts"].append({"name": name, "passed": None, "why": "no time was left"})
        self.write()
        print(f"left out {name}: no time was left", flush=True)

    def command(self, name, command, limit, tells=False):
        """Runs a program to its end; returns whether it ended well. The report has what one that
        fails says, and one that `tells`."""
        if self.left() < 5:
            self.leave_out(name)
            return False
        start = time.monotonic()
        try:
            # A group of its own: its children, too, must leave the GPU to the parts that follow.
            with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", cwd=ROOT,
                                  start_new_session=True) as process:
                try:
                    text, _ = process.communicate(timeout=min(limit, self.left()))
                    code = process.returncode
                except subprocess.TimeoutExpired:
                    code = "ended by its time limit"
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                if process.returncode is None:
                    text, _ = process.communicate()
        except OSError as error:
            text, code = str(error), "could not be started"
        self.add(name, code == 0, time.monotonic() - start,
                 **({} if code == 0 else {"code": code}),
                 **({"output": text[-4000:].splitlines()} if tells or code != 0 else {}))
        if code != 0:
            print(text[-2000:], flush=True)
        return code == 0


def machine():
    """What the figures were taken on. Imports PyTorch, which takes seconds."""
    import torch
    found = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count(),
             "torch": torch.__version__, "cuda": torch.version.cuda,
             "nccl": ".".join(map(str, torch.cuda.nccl.version())), "gpus": []}
    for index in range(torch.cuda.device_count()):
        found["gpus"].append(torch.cuda.get_device_name(index))
    return found


def torch_prefix():
    spec = importlib.util.find_spec("torch")
    if spec is None:
        sys.exit("tests/gpu/run: this python3 has no PyTorch")
    return spec.submodule_search_locations[0]


def build(check):
    if not PACKED.is_dir():
        sys.exit("tests/gpu/run: tests/gpu/packed is not there; run tests/gpu/pack on a Debian 12 "
                 "machine and bring it along")
    prefixes = ";".join([str(PACKED), torch_prefix()])
    configure = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefixes}",
                 f"-DLOCKSTEP_PYTORCH={sys.executable}",
                 *(f"-D{key}={value}" for key, value in OPTIONS.items())]
    return (check.command("configure", configure, 120)
            and check.command("build", ["cmake", "--build", BUILD, "--target", *TARGETS], 420))


def suite(check):
    check.command("nccl backend on the GPU",
                  [BUILD / "bin" / "test_engine_process_group_nccl", "--gtest_filter=*OnGpu*"], 150)
    check.command("nccl backend on the test double",
                  [BUILD / "bin" / "test_engine_process_group_nccl", "--gtest_filter=-*OnGpu*"], 60)
    check.command("spans of a device", [BUILD / "bin" / "test_engine_device"], 60)


def conformance(check):
    for model in ("mlp", "cnn"):
        for world in (1, 2):
            for view in ([], ["--view"]):
                name = f"conformance of {model}, {world} ranks{', view' if view else ''}"
                check.command(name, [sys.executable, "-B", ROOT / "tests/conformance/conformance.py",
                                     "--driver", BUILD / "bin" / "conformance_driver", "--device",
                                     "cuda", "--model", model, "--world", world, *view], 90)


def observer(check):
    """A job of PyTorch over NCCL, and what the observer says of it."""
    for world in (1, 2):
        for case in ("same", "times", "capture"):
            if (world, case) != (1, "times"):  # NCCL has no kernel for one rank
                check.command(f"observer, {case}, {world} ranks",
                              [sys.executable, "-B", ROOT / "tests/gpu/observed.py", "--bin",
                               BUILD / "bin", "--world", world, case], 120, tells=True)


def measure(check, name, least_s, measured, *arguments):
    """A measurement that is left out where less time is left, and whose contestants may fail."""
    if check.left() < least_s:
        check.leave_out(name)
        return
    try:
        measured(check, name, *arguments)
    except SystemExit as error:
        check.add(name, False, 0, why=str(error))


def observer_steps(check):
    """What the observer takes of a step of such a job: of one whose GPU waits for Python, and of one
    whose GPU is never idle."""
    for ranks, batch, most in ((1, 512, 1.02), (2, 128, 1.02), (1, 128, None)):
        name = f"step of resnet18, batch {batch}, {ranks} ranks, observed"
        measure(check, name, 45, observed_step, ranks, batch, most)


def observed_step(check, name, ranks, batch, most, starts=3, rounds=6, steps=8):
    import observer as bench
    begin = time.monotonic()
    options = types.SimpleNamespace(bin=BUILD / "bin")
    command = [sys.executable, "-B", ROOT / "tests/bench/observer_peer.py", "resnet18", "--batch",
               batch, "--device", "cuda"]
    times = {}
    with contextlib.ExitStack() as stack, futures.ThreadPoolExecutor() as pool:
        stacks = [stack.enter_context(contextlib.ExitStack()) for _ in range(starts)]
        for sides in list(pool.map(
                lambda of: bench.sides_of(of, options, command, ranks), stacks)):
            bench.warm_up(sides)
            for label, rows in bench.rounds_of(sides, rounds, steps).items():
                times.setdefault(label, []).append([step for step, _ in rows])
    found = bench.result_of(name, name, times, most or math.inf)
    check.add(name, most is None or found["interval"][1] <= most, time.monotonic() - begin,
              starts=starts, rounds=rounds, ratio=found["ratio"], interval=found["interval"],
              ms={label: side["median"] for label, side in found["sides"].items()},
              without=found["lines"][0])


def run(check, file, device, *settings, experiment="demo"):
    """A run file that the studio opens. Returns the last loss; None when the run failed."""
    lockstep = BUILD / "bin" / "lockstep"
    file.unlink(missing_ok=True)
    chosen = [f"processes.device={device}", "processes.backend=shared_memory", *settings]
    if not check.command(f"run of {file.stem} on {device}",
                         [lockstep, "run", ROOT / "experiments" / "first_steps" / f"{experiment}.toml",
                          "--out", file,
                          *(word for setting in chosen for word in ("--set", setting))], 90):
        return None
    told = subprocess.run([lockstep, "info", "--json", file], capture_output=True, text=True,
                          check=False)
    loss = json.loads(told.stdout)["loss"] if told.returncode == 0 else None
    if loss is None:
        check.add(f"loss of {file.name}", False, 0, why=told.stderr or "it is not a number")
    return loss


def beside_the_cpu(check, name, *settings, experiment="demo"):
    """The same run on the GPU and on the CPU, whose losses hardly differ after few steps: later on a
    difference in the last bits has grown to percents."""
    start = time.monotonic()
    losses = {device: run(check, check.out / f"{name}_{device}.lockstep", device,
                          "processes.world_size=2", "train.steps=12", *settings,
                          experiment=experiment)
              for device in ("cuda", "cpu")}
    if None not in losses.values():
        near = abs(losses["cuda"] - losses["cpu"]) <= 0.02 * abs(losses["cpu"])
        check.add(f"loss with {name} beside the CPU's", near, time.monotonic() - start,
                  losses=losses)


def runs(check):
    for world in (1, 2):
        run(check, check.out / f"gpu_{world}.lockstep", "cuda", f"processes.world_size={world}")
    beside_the_cpu(check, "allreduce")
    for hook, settings in HOOKS.items():
        beside_the_cpu(check, hook, f"hook.name={hook}", *settings)
    beside_the_cpu(check, "char_gpt", experiment="char_gpt")
    checkpoint = check.out / "checkpoint.safetensors"
    for name, *settings in (("kept", "train.steps=10"),
                            ("resumed", "train.steps=20", f"train.resume_from={checkpoint}")):
        run(check, check.out / f"gpu_{name}.lockstep", "cuda", "processes.world_size=2",
            f"train.checkpoint={checkpoint}", *settings, experiment="char_gpt")


def figures(check, name, ranks, model, batch, rounds=12, steps=20):
    """A step of ours over NCCL against PyTorch's DDP over NCCL on the same GPU, in turns, in as
    many rounds as there is time for."""
    from contestants import Contestant, alternate
    from figures import mean_step, paired
    start = time.monotonic()
    ours = [BUILD / "bin" / "bench_ddp_step", model, batch, "shared_memory", "--cuda"]
    peer = [sys.executable, ROOT / "tests/bench/ddp_step_peer.py", model, batch, "ddp", "--device",
            "cuda"]
    commands = {"ours": ours, "ours, view": [*ours, "--view"],
                "ours, recorded": [*ours, "--record"], "PyTorch": peer,
                "PyTorch, view": [*peer, "--view"]}
    with contextlib.ExitStack() as stack, futures.ThreadPoolExecutor() as pool:
        sides = dict(zip(commands, pool.map(
            lambda side: Contestant(side, commands[side], ranks, deadline=check.end), commands)))
        for side in sides.values():
            stack.enter_context(side)
        for side in sides.values():
            side.turn(5)
        round_s = sum(mean_step(side.turn(5)) for side in sides.values()) * steps / 1e3
        rounds = min(rounds, int((check.left() - CLOSING_S) / round_s))
        if rounds < FEWEST_ROUNDS:
            check.leave_out(name)
            return
        times = alternate(sides, rounds, lambda side: mean_step(sides[side].turn(steps)))
    rate = paired(name, times["ours, view"], times["PyTorch, view"])
    plain = paired(name, times["ours"], times["PyTorch"])
    traced = paired(name, times["ours, recorded"], times["ours"])
    check.add(name, rate["ratio"] >= 1.0, time.monotonic() - start, rounds=rounds,
              ms={side: sorted(values)[len(values) // 2] for side, values in times.items()},
              rate_against_pytorch=plain["ratio"], rate_interval=plain["interval"],
              rate_against_pytorch_view=rate["ratio"], rate_view_interval=rate["interval"],
              traced_over_untraced=1 / traced["ratio"])


def bench(check):
    for ranks, model, batch in ((1, "mlp", 256), (2, "mlp", 256), (1, "resnet18", 128),
                                (2, "resnet18", 128)):
        name = f"step of {model}, batch {batch}, {ranks} ranks"
        measure(check, name, 30, figures, ranks, model, batch)


PARTS = {part.__name__: part
         for part in (suite, observer, runs, conformance, observer_steps, bench)}


def main():
    parser = argparse.ArgumentParser(prog="tests/gpu/run")
    parser.add_argument("--out", type=pathlib.Path, default=BUILD / "report")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--built", action="store_true")
    parser.add_argument("--only", action="append", choices=PARTS)
    options = parser.parse_args()
    # Ranks that share a GPU are told so, unless each seems to have been given one of its own.
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    check = Check(options.out.resolve(), options.minutes)
    if (options.built or build(check)) and not options.build_only:
        check.report["machine"] = machine()
        check.write()
        if not check.report["machine"]["gpus"]:
            sys.exit("tests/gpu/run: PyTorch sees no GPU here; --build-only proves the rest")
        for name in options.only or PARTS:
            PARTS[name](check)
    failed = [part["name"] for part in check.report["parts"] if not part["passed"]]
    print(f"{check.out / 'report.json'}: {len(check.report['parts'])} parts"
          + (f", of which not passed: {', '.join(failed)}" if failed else ", all passed"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
