"""First on the path under ``lockstep record --attach auto``: watches every DistributedDataParallel
that the job makes, and every optimizer of its parameters, without a line in the job."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_MODULES = {"torch.nn.parallel.distributed", "torch.optim.optimizer",
            "torch.distributed.distributed_c10d"}


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, and then lets what it makes be watched."""

    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        try:
            from lockstep import _auto

            _auto.install(module)
        except Exception as error:  # the job goes on unobserved
            print(f"lockstep: this process is not observed: {error}", file=sys.stderr)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in _MODULES:
            return None
        _MODULES.remove(name)  # or this one would be asked again
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _run_the_next():
    """This file hides the sitecustomize that the job would have had."""
    paths = [path for path in sys.path if os.path.abspath(path or ".") != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, _Finder())
_run_the_next()
