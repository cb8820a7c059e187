"""What ``lockstep hooks --verify --in pytorch`` runs: trains with a hook, and keeps what went in and came
out of it, for the engine to repeat. Note [A training to be repeated] of engine/hooks/verify/Replay.h.

Arguments: LIBRARY HOOK FOLDER SECONDS VALUES; VALUES is a JSON object of numbers and texts. Prints one
JSON object, with "torch", and "missing", "refusal" or "problem" where there is one.
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import sys
from typing import Any, Dict, List, Optional

WORLD = 2
STEPS = 20
RATE = 0.01
CAP_MB = 0.02  # buckets of several parameters, of one, and of less than that
_REFUSED = 3  # exit code of a rank whose hook cannot be had


def main() -> None:
    library, hook, folder, seconds, values = sys.argv[1:]
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a plugin prints must not get between the results
    told = _train(library, hook, pathlib.Path(folder), float(seconds), json.loads(values))
    results.write(json.dumps(told) + "\n")


def _train(library: str, hook: str, folder: pathlib.Path, seconds: float,
           values: Dict[str, Any]) -> Dict[str, str]:
    try:
        import torch
        import torch.distributed as dist
    except ImportError as error:
        return {"missing": f"has no PyTorch ({error}); name one that has by --python"}
    told = {"torch": str(torch.__version__)}
    if not dist.is_available() or not dist.is_gloo_available():
        return {"missing": f"PyTorch {torch.__version__} has no Gloo"}
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    codes = _on_ranks(lambda rank: _rank(rank, library, hook, folder, seconds, values), folder)
    if any(codes):
        kind = "refusal" if _REFUSED in codes else "problem"
        told[kind] = _sentence(folder, codes)
    return told


def _on_ranks(body: Any, folder: pathlib.Path) -> List[int]:
    """In a process each, forked before anything of PyTorch's has made a thread."""
    children = []
    for rank in range(WORLD):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = body(rank)
            except BaseException as error:  # noqa: BLE001 - told by the parent
                _write(folder, rank, str(error) or type(error).__name__)
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def _write(folder: pathlib.Path, rank: int, sentence: str) -> None:
    line = sentence.strip().splitlines()[0]
    marker = "HookError: "  # behind what PyTorch puts before it
    (folder / f"rank{rank}.error").write_text(line[line.find(marker) + len(marker):]
                                              if marker in line else line)


def _sentence(folder: pathlib.Path, codes: List[int]) -> str:
    """Of several ranks that failed, that of the one whose own doing it was."""
    told = []
    for rank, code in enumerate(codes):
        file = folder / f"rank{rank}.error"
        if code and file.exists():
            told.append(file.read_text())
        elif code:
            told.append(f"rank {rank} ended with exit code {code}")
    left = [text for text in told if "losed" not in text and "imed out" not in text]
    return (left or told)[0]


def _rank(rank: int, library: str, hook: str, folder: pathlib.Path, seconds: float,
          values: Dict[str, Any]) -> int:
    import torch
    import torch.distributed as dist

    from lockstep._hooks import HookError

    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank,
                            world_size=WORLD, timeout=datetime.timedelta(seconds=2 * seconds))
    torch.manual_seed(0)
    net = _model()
    dist._DEFAULT_FIRST_BUCKET_BYTES = int(CAP_MB * 2**20)
    ddp = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=CAP_MB)
    try:
        state, run, optimizer = _hook(f"{library}:{hook}", ddp, values)
    except HookError as error:
        _write(folder, rank, str(error))
        return _REFUSED
    recording = _Recording(state, run)
    ddp.register_comm_hook(state, recording.hook)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(STEPS):
        inputs = torch.randn(8, 3, 8, 8, generator=generator)
        targets = torch.randint(10, (8,), generator=generator)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(ddp(inputs), targets).backward()
        optimizer.step()
        recording.end_step()
    dist.barrier()
    state.close()
    recording.save(folder, rank, _facts(optimizer) if state._facts is not None else None)
    return 0


def _model() -> Any:
    """A convolution, matrices, vectors and odd lengths, in several buckets once they are rebuilt."""
    from torch import nn

    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 256), nn.ReLU(),
                         nn.Linear(256, 65), nn.ReLU(), nn.Linear(65, 33), nn.ReLU(),
                         nn.Linear(33, 10))


def _hook(name: str, ddp: Any, values: Dict[str, Any]) -> Any:
    """The hook, with the first of these optimizers that it takes."""
    import torch

    from lockstep import _hook_library
    from lockstep._hooks import HookError, hook

    _, description = _hook_library.find(name)
    given = {key: _typed(description, key, value) for key, value in values.items()}
    offered = [torch.optim.SGD(ddp.parameters(), lr=RATE, momentum=0.9),
               torch.optim.SGD(ddp.parameters(), lr=RATE),
               torch.optim.Adam(ddp.parameters(), lr=RATE),
               torch.optim.AdamW(ddp.parameters(), lr=RATE)]
    first: Optional[HookError] = None
    for optimizer in offered:
        try:
            return (*hook(name, optimizer=optimizer, **given), optimizer)
        except HookError as error:
            if "configure" not in str(error):
                raise
            first = first or error
    assert first is not None
    raise first


def _typed(description: Any, key: str, value: Any) -> Any:
    """A number as lockstep.hook takes it: JSON's are all of one kind."""
    from lockstep import _hook_library

    kinds = {param["key"]: param["type"] for param in description.params}
    if kinds.get(key) == _hook_library.BOOL:
        return bool(value)
    return int(value) if kinds.get(key) == _hook_library.INT else value


def _facts(optimizer: Any) -> Dict[str, Any]:
    group = optimizer.param_groups[0]
    betas = group.get("betas", (0.0, 0.0))
    return {"kind": type(optimizer).__name__.lower(), "learning_rate": group["lr"],
            "momentum": group.get("momentum", 0.0), "weight_decay": group["weight_decay"],
            "beta1": betas[0], "beta2": betas[1], "epsilon": group.get("eps", 0.0)}


class _Recording:
    """Stands between DDP and the hook, and copies what passes through."""

    def __init__(self, state: Any, run: Any) -> None:
        self._state = state
        self._run = run
        self._buckets: List[Dict[str, Any]] = []
        self._step: List[Dict[str, Any]] = []

    def hook(self, state, bucket):  # DDP reads annotations, and takes none for right
        told: Dict[str, Any] = {"step": state._step, "index": bucket.index(),
                                "dtype": str(bucket.buffer().dtype)[6:],
                                "before": bucket.buffer().clone()}
        future = self._run(state, bucket)
        told["ids"], told["shapes"] = state._layout._seen[-1]
        self._step.append(told)

        def keep(done):
            told["after"] = done.value().clone()
            return done.value()

        return future.then(keep)

    def end_step(self) -> None:
        for told in self._step:
            told["count"] = len(self._step)
            told["layout"] = self._state._layout._number
        self._buckets += self._step
        self._step = []

    def save(self, folder: pathlib.Path, rank: int, optimizer: Optional[Dict[str, Any]]) -> None:
        with open(folder / f"rank{rank}.bin", "wb") as file:
            for told in self._buckets:
                for tensor in (told.pop("before"), told.pop("after")):
                    file.write(_bytes(tensor))
        (folder / f"rank{rank}.json").write_text(json.dumps(
            {"world": WORLD, "optimizer": optimizer, "sent_bytes": self._state.sent_bytes,
             "buckets": self._buckets}))


def _bytes(tensor: Any) -> bytes:
    from lockstep import _hook_host

    tensor = tensor.contiguous()
    return _hook_host.memory(tensor.data_ptr(), tensor.numel() * tensor.element_size()).tobytes()
