"""What the comparisons with PyTorch share: PyTorch's ranks, and Lockstep's program beside them."""

import datetime
import json
import os
import pathlib
import subprocess
import sys
import time
import traceback

try:
    import numpy  # noqa: F401
    import torch
    import torch.distributed as dist
except ImportError as error:
    sys.exit(f"conformance needs Debian's python3-torch and python3-numpy: {error}")

PATIENCE = datetime.timedelta(seconds=100)


def prepare():
    """Call first: Gloo over loopback, one thread a rank."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)


def run_torch(world, folder, body):
    """Runs body(rank) in a process a rank, in one process group.

    Forks, so that libtorch is loaded once; no thread of it may run yet.
    """
    children = []
    for rank in range(world):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous",
                                        rank=rank, world_size=world, timeout=PATIENCE)
                body(rank)
                dist.barrier()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        sys.exit(f"PyTorch's ranks ended with exit codes {codes}")


def run_lockstep(driver, kind, folder, spec, timeout, processes=False):
    """Runs the driver's ranks as threads of one process, or each as a process."""
    write(folder, "spec.json", spec)
    ranks = [[str(rank)] for rank in range(spec["world"])] if processes else [[]]
    started = [subprocess.Popen([driver, kind, folder] + rank,
                                env={**os.environ, "LOCAL_RANK": rank[0] if rank else "0",
                                     "LOCAL_WORLD_SIZE": str(len(ranks))}) for rank in ranks]
    end = time.monotonic() + timeout
    try:
        codes = [process.wait(end - time.monotonic()) for process in started]
    finally:
        for process in started:
            process.kill()  # one that has ended feels nothing
            process.wait()
    if any(codes):
        sys.exit(f"{driver} ended with exit codes {codes}")


def write(folder, name, content):
    pathlib.Path(folder, name).write_text(json.dumps(content))


def read(folder, name):
    return json.loads(pathlib.Path(folder, name).read_text())


def read_both(folder, suffix):
    """Returns what Lockstep and what PyTorch wrote under one name."""
    return tuple(read(folder, side + suffix + ".json") for side in ("lockstep", "torch"))
