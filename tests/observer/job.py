"""A job of PyTorch: trains a small model with DistributedDataParallel on Gloo.

Usage: job.py WORLD STEPS [WAY ...]

Starts WORLD ranks, or this host's share of them where NNODES and NODE_RANK say that there are more
hosts, and MASTER_ADDR and MASTER_PORT where they meet; ends with the first exit code of theirs that
is not 0. Each prints one JSON object: its rank, the losses, the hash of its weights, and what DDP's
own logging says of its buckets.
Ways: watch, which hands the model and its optimizer to lockstep.watch, model_alone, the model alone; view, no_sync, unused, static, workers,
two_models, own_hook, scheduler, amp, compile: what their names say of PyTorch; throw and leave, the end
of rank 1; throw_3, of rank 3; fail_once, of its first life under torchrun; flip, a parameter of rank 1
that changes; nccl, a fake NCCL that reduces each bucket again; waits, which holds at step 3 until the file of
JOB_MAY_GO_ON is there; profiler, the job's own in steps 4 and 5; late, a thread of Gloo's that comes late
to what it calls of the last step; norms, which prints how large the rank's own gradients were; another, a collective of the script's own in the
backward of step 9 alone; broadcasts, before the forwards of steps 3 and 6, and prints in which steps
the observer gave its group a post-hook, and took it; one_core, which all ranks share, and which prints how long the training thread waited for it.
With JOB_LEAVES_AT_ONCE in its environment a rank leaves without the end of the interpreter.
"""

import contextlib
import copy
import hashlib
import json
import os
import socket
import subprocess
import sys
import time


def train(steps, ways):
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    if "fail_once" in ways:  # a second life must not find the addresses of the first
        life = os.environ["TORCHELASTIC_RESTART_COUNT"]
        dist.init_process_group("gloo", init_method=f"file://{os.environ['MEETING']}.{life}",
                                rank=int(os.environ["RANK"]),
                                world_size=int(os.environ["WORLD_SIZE"]))
    else:
        dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(64, 96), torch.nn.ReLU(), torch.nn.Linear(96, 96), torch.nn.ReLU(),
        torch.nn.Linear(96, 96), torch.nn.ReLU(), torch.nn.Linear(96, 10))
    if "unused" in ways:
        net.add_module("never", torch.nn.Linear(4, 4))
        forward = net.forward
        net.forward = lambda x: torch.nn.Sequential.forward(net[:7], x)
        del forward
    model = DistributedDataParallel(
        net, bucket_cap_mb=25 if "compile" in ways else 0.05, gradient_as_bucket_view="view" in ways,
        find_unused_parameters="unused" in ways, static_graph="static" in ways)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = None
    if "scheduler" in ways:
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
    second = None
    if "two_models" in ways:
        second = DistributedDataParallel(torch.nn.Linear(8, 8))
    nccl = None
    if "nccl" in ways:  # its first communicator is made with the model
        import fake_nccl

        nccl = fake_nccl.Communicator(dist.get_world_size(), rank)
        assert nccl.mask == 0, nccl.mask
    if "watch" in ways:
        import lockstep

        model = lockstep.watch(model, None if "model_alone" in ways else optimizer)
        if second is not None:
            second = lockstep.watch(second)
    hooks = []
    if "watch" in ways and ("broadcasts" in ways or "unseen" in ways):
        tell_hooks(lambda what: hooks.append([what, len(losses)]))
    if "compile" in ways:
        model = torch.compile(model, backend="eager")
    if "own_hook" in ways:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

        model.register_comm_hook(dist.group.WORLD, default_hooks.fp16_compress_hook)
    generator = torch.Generator().manual_seed(rank)
    count = 8 * steps
    data = torch.utils.data.TensorDataset(torch.randn(count, 64, generator=generator),
                                          torch.randint(10, (count,), generator=generator))
    loader = torch.utils.data.DataLoader(data, batch_size=8,
                                         num_workers=2 if "workers" in ways else 0)
    profiler = None
    losses, norms = [], []
    if "one_core" in ways:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    waited = core_wait()
    for step, (x, y) in enumerate(loader):
        if "waits" in ways and step == 3:
            wait_for_leave(rank)
        if "profiler" in ways and step == 4:
            profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
            profiler.start()
        if profiler is not None and step == 6:
            profiler.stop()
            assert any("addmm" in event.name for event in profiler.events())
            profiler = None
        if "late" in ways and step == steps - 1:
            be_late()
        if "broadcasts" in ways and step in (3, 6):
            dist.broadcast(torch.ones(3), 0)
        another = None
        if "another" in ways and step == 9:
            another = net[2].weight.register_hook(
                lambda gradient: dist.all_reduce(gradient.abs().max()))
        if "norms" in ways:
            norms.append(own_norm(net, x, y))
        part = "no_sync" in ways and step % 3 != 2
        with model.no_sync() if part else contextlib.nullcontext():
            with torch.autocast("cpu", torch.bfloat16, enabled="amp" in ways):
                loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
        if another is not None:
            another.remove()
        losses.append(loss.item())
        if nccl is not None:
            for size in bucket_bytes(model):
                nccl.all_reduce(size // 4)
        if second is not None:
            second(x[:, :8]).sum().backward()
        if not part:
            optimizer.step()
            optimizer.zero_grad()
            if scheduler is not None:
                scheduler.step()
        if rank == 1 and step == steps // 2 and "flip" in ways:
            net[2].weight.data[3, 5] += 1
        if (rank == 1 and step == steps // 2 and "fail_once" in ways
                and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"):
            raise ValueError("boom")
        throws = f"throw_{rank}" in ways or rank == 1 and "throw" in ways
        if throws and step == steps // 2:
            raise ValueError("boom")
    waited = core_wait() - waited
    weights = hashlib.sha256()
    for parameter in net.parameters():
        weights.update(parameter.detach().numpy().tobytes())
    if nccl is not None:
        assert nccl.mask != 0
        nccl.finalize()
    logging = model._get_ddp_logging_data()
    print(json.dumps({"rank": rank, "losses": losses, "weights": weights.hexdigest(),
                      "norms": norms, "waited_ns": waited, "hooks": hooks,
                      "parameters": [name for name, _ in net.named_parameters()],
                      "bucket_sizes": logging.get("rebuilt_bucket_sizes")
                      or logging.get("bucket_sizes")}) + "\n", end="", flush=True)
    if "JOB_LEAVES_AT_ONCE" in os.environ:
        os._exit(0)
    if "own_hook" in ways:
        # Where a thread of Gloo's still has to let go of a Python hook's future, PyTorch 1.13 waits
        # for that thread for ever as the group ends: both of them come here first.
        for work in [dist.barrier(async_op=True) for _ in range(8)]:
            work.wait()
    if "leave" not in ways:
        dist.destroy_process_group()


def tell_hooks(tell):
    """Calls with "given" or "taken" as the observer gives its group a post-hook or takes it, with
    "unseen" or "seen" as it gives it a pre-hook, and with "by Python" as the first one is called by
    Python after all."""
    import lockstep._collectives
    import lockstep._session

    class Told:
        def __init__(self, group):
            self._group = group

        def __getattr__(self, name):
            told = {"register_post_hook": "given", "unregister_post_hook": "taken"}.get(name)
            if told is not None:
                tell(told)
            return getattr(self._group, name)

        def register_pre_hook(self, number, hook):
            tell("unseen" if hook is hooks._unseen else "seen")
            self._group.register_pre_hook(number, hook)

    hooks, = lockstep._session.session().groups._hooks
    if hooks._unseen is not None:
        hooks._unseen = lockstep._collectives.unseen_hook(hooks._flights, hooks._group,
                                                          lambda _: tell("by Python"))
    hooks._group = Told(hooks._group)
    hooks._take_turns()


def core_wait():
    """For how many ns this thread was ready and had no core, by the kernel."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1])


def own_norm(net, x, y):
    """Of the gradients that this rank alone has of a batch."""
    import torch

    twin = copy.deepcopy(net)
    twin.zero_grad()
    torch.nn.functional.cross_entropy(twin(x), y).backward()
    return sum(float(p.grad.double().norm()) ** 2 for p in twin.parameters()) ** 0.5


def be_late():
    """From here on DDP has a bucket's result 0.1 s before Gloo's thread is done with what it calls,
    and lets go of that."""
    from lockstep._comm_hook import CommHook

    follow = CommHook._follow

    def late(self, *args):
        follow(self, *args)
        args[-1].add_done_callback(lambda _: time.sleep(0.1))

    CommHook._follow = late


def wait_for_leave(rank):
    """Says that this rank is here, and holds until it may go on, at most a minute."""
    leave = os.environ["JOB_MAY_GO_ON"]
    with open(f"{leave}.{rank}", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    for _ in range(6000):
        if os.path.exists(leave):
            return
        time.sleep(0.01)
    raise TimeoutError("nobody let the job go on")


def bucket_bytes(model):
    """Of each bucket, in the order in which they are reduced."""
    buckets = sorted(model.reducer._get_zeros_like_grad_buckets(), key=lambda b: b.index())
    return [bucket.buffer().numel() * 4 for bucket in buckets]


def launch(world):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = world // int(os.environ.get("NNODES", "1"))
    first = here * int(os.environ.get("NODE_RANK", "0"))
    met = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={
        **met, **os.environ, "RANK": str(first + rank), "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(here), "WORLD_SIZE": str(world)}) for rank in range(here)]
    return next((code for code in [rank.wait() for rank in ranks] if code != 0), 0)


if __name__ == "__main__":
    if "RANK" in os.environ:
        train(int(sys.argv[2]), sys.argv[3:])
    else:
        sys.exit(launch(int(sys.argv[1])))
