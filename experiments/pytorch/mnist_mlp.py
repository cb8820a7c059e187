"""A plain script that trains with DistributedDataParallel: the twin of first_steps/mnist_mlp.toml.

    lockstep record -- python3 mnist_mlp.py                         # two ranks by mp.spawn
    lockstep record -- torchrun --nproc-per-node 4 mnist_mlp.py     # as many as torchrun says

Same layers, batch, buckets and optimizer as the experiment, so that `lockstep compare` can set what
PyTorch does beside what Lockstep's engine does.
"""

import argparse
import os
import socket

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lockstep  # 1
from digits import digits


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", default="784,256,128,10", help="sizes; 784 is that of a digit")
    parser.add_argument("--batch-size", type=int, default=64, help="samples of a rank and step")
    parser.add_argument("--bucket-cap-mb", type=float, default=25)
    parser.add_argument("--steps", type=int, default=310)
    parser.add_argument("--ranks", type=int, default=2, help="where nobody else starts them")
    return parser.parse_args()


def mlp(sizes):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def batches(options, inputs):
    """The rank's share of the digits over and over, or of noise where a sample is no digit."""
    data = digits() if inputs == 784 else torch.utils.data.TensorDataset(
        torch.randn(4096, inputs), torch.randint(10, (4096,)))
    sampler = torch.utils.data.DistributedSampler(data)
    loader = torch.utils.data.DataLoader(data, options.batch_size, sampler=sampler, drop_last=True)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def train(options):
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    torch.set_num_threads(1)
    sizes = [int(size) for size in options.layers.split(",")]
    model = DistributedDataParallel(mlp(sizes), bucket_cap_mb=options.bucket_cap_mb)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model = lockstep.watch(model, optimizer)  # 2
    for _, (images, labels) in zip(range(options.steps), batches(options, sizes[0])):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"loss {loss.item():.4f} after {options.steps} steps", flush=True)
    dist.destroy_process_group()


def spawned(rank, options, port):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(options.ranks),
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    train(options)


def main():
    options = arguments()
    if "RANK" in os.environ:
        train(options)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(spawned, (options, port), nprocs=options.ranks)


if __name__ == "__main__":
    main()
