"""What DistributedDataParallel's own logger knows, under its names (engine/trace/FORMAT.md)."""

from __future__ import annotations

from typing import Any, Dict

from lockstep._guard import guarded

# Facts of a run, each as text; the values of others are numbers of an iteration, in ns or bytes.
_FACTS = ("module_name", "rank", "world_size", "num_parameter_tensors", "total_parameter_size_bytes",
          "dtypes", "bucket_sizes", "bucket_cap_bytes", "broadcast_buffers", "has_sync_bn",
          "find_unused_parameters", "gradient_as_bucket_view", "static_graph",
          "is_multi_device_module", "backend_name", "comm_hook", "join_uneven_inputs",
          "has_rebuilt_buckets", "rebuilt_bucket_sizes", "rebuilt_per_bucket_param_indices",
          "prev_iteration_grad_ready_order_indices", "can_set_static_graph", "has_error", "error")
_FLAGS = ("broadcast_buffers", "has_sync_bn", "find_unused_parameters", "gradient_as_bucket_view",
          "static_graph", "is_multi_device_module", "join_uneven_inputs", "has_rebuilt_buckets",
          "can_set_static_graph", "has_error")
_NUMBERS = ("forward_compute_time", "backward_compute_time", "backward_comm_time",
            "backward_compute_comm_overlap_time", "forward_compute_time_start",
            "unused_parameter_size")


class DdpLogging:
    """Tells what is new of a model's logging data."""

    def __init__(self, recorder: Any, model: Any) -> None:
        self._recorder = recorder
        self._read = getattr(model, "_get_ddp_logging_data", None)
        self._told: Dict[str, str] = {}

    @staticmethod
    def is_due(iterations: int) -> bool:
        """DDP takes its times in the first ten iterations and in every hundredth from there on."""
        return 2 <= iterations <= 10 or iterations % 100 == 0

    @guarded
    def tell(self, step: int) -> None:
        if self._read is None:
            return
        data = self._read()
        facts = {name: self._text(name, data[name]) for name in _FACTS if name in data}
        new = {name: text for name, text in facts.items() if self._told.get(name) != text}
        self._told.update(new)
        # Counted from an origin of DDP's own; of an iteration that it did not time they are 0.
        numbers = {name: float(data[name]) for name in _NUMBERS
                   if float(data.get(name) or 0) > 0}
        if new or numbers:
            self._recorder.send("ddp_logging", step=step, facts=new, numbers=numbers)

    @staticmethod
    def _text(name: str, value: Any) -> str:
        if name in _FLAGS:
            return "true" if int(value) else "false"
        return str(value)
