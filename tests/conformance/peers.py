"""What the comparisons with PyTorch share: PyTorch's ranks, and Lockstep's program beside them."""

import datetime
import inspect
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
    from torch.nn.parallel import distributed
except ImportError as error:
    sys.exit(f"conformance needs Debian's python3-torch and python3-numpy: {error}")

PATIENCE = datetime.timedelta(seconds=100)


def prepare():
    """Call first: Gloo over loopback, one thread a rank."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)


def possible_caps(first, cap):
    """Caps in MiB of the first bucket and of the others that this PyTorch can be given.

    1.13 always gives the first bucket its own. Later a cap that is given holds for the first bucket
    also, and in the versions between, the default, beside which the first has its own, cannot be
    changed: there it is the first's for all.
    """
    between = "bucket_bytes_cap_default" in inspect.getsource(
        distributed.DistributedDataParallel.__init__)
    return (first, first if between and not hasattr(distributed, "_DEFAULT_BUCKET_CAP_MB") else cap)


def bucket_caps(first, cap):
    """Arguments that give PyTorch's DDP buckets of these caps, in MiB, of possible_caps()."""
    dist._DEFAULT_FIRST_BUCKET_BYTES = int(first * 2**20)
    if first != cap and hasattr(distributed, "_DEFAULT_BUCKET_CAP_MB"):
        distributed._DEFAULT_BUCKET_CAP_MB = cap
        return {}
    return {"bucket_cap_mb": cap}


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
