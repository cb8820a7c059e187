"""A job of PyTorch without DistributedDataParallel, on Gloo.

Usage: loop.py WORLD STEPS [WAY ...]

As job.py. Ways: watch, which hands the model to lockstep.watch; sharded, by fully_shard over a mesh
(otherwise the script averages gradients itself); groups, four more groups with a collective each a
step; alone, without torch.distributed; phases, of its own; stall, a second half of rank 1 that
sleeps; leave, without destroy_process_group. JOB_LEAVES_AT_ONCE is as job.py's.
"""

import hashlib
import json
import os
import sys
import time

import job


def train(steps, ways):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    rank, world = 0, 1
    if "alone" not in ways:
        dist.init_process_group("gloo")
        rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
                                for _ in range(2)], torch.nn.Linear(64, 10))
    if "sharded" in ways:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("dp",))
        for block in net[:2]:
            fully_shard(block, mesh=mesh)
        fully_shard(net, mesh=mesh)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    phase = None
    if "watch" in ways:
        import lockstep

        net = lockstep.watch(net, optimizer)
        phase = lockstep.phase
    groups = [dist.new_group(list(range(world))) for _ in range(4)] if "groups" in ways else []
    generator = torch.Generator().manual_seed(rank)
    losses = []
    for step in range(steps):
        x = torch.randn(8, 64, generator=generator)
        y = torch.randint(10, (8,), generator=generator)
        if phase is not None and "phases" in ways:
            with phase("tokenise ü"):
                with phase("pad"):
                    time.sleep(0.001)
            with phase("checkpoint"):
                pass
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        if "sharded" not in ways and world > 1:
            for parameter in net.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= world
        for group in groups:
            dist.all_reduce(torch.ones(3), group=group)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if "stall" in ways and rank == 1 and step == steps // 2:
            sleep_without_an_end()
    weights = hashlib.sha256()
    for parameter in net.parameters():
        local = parameter.to_local() if hasattr(parameter, "to_local") else parameter
        weights.update(local.detach().numpy().tobytes())
    print(json.dumps({"rank": rank, "losses": losses, "weights": weights.hexdigest()}) + "\n",
          end="", flush=True)
    if "JOB_LEAVES_AT_ONCE" in os.environ:
        os._exit(0)
    if "leave" not in ways and "alone" not in ways:
        dist.destroy_process_group()


def sleep_without_an_end():
    time.sleep(4)


if __name__ == "__main__":
    if "RANK" in os.environ:
        train(int(sys.argv[2]), sys.argv[3:])
    elif "alone" in sys.argv:
        train(int(sys.argv[2]), sys.argv[3:])
    else:
        sys.exit(job.launch(int(sys.argv[1])))
