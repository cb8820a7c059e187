#include "engine/process_group/ProcessGroup.h"

#include <ATen/ops/empty.h>

#include "engine/base/Check.h"

namespace lockstep::process_group {

std::string_view name(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return "sum";
    case ReduceOp::kAverage: return "average";
    case ReduceOp::kProduct: return "product";
    case ReduceOp::kMin: return "min";
    case ReduceOp::kMax: return "max";
    case ReduceOp::kBitwiseAnd: return "bitwise_and";
    case ReduceOp::kBitwiseOr: return "bitwise_or";
    case ReduceOp::kBitwiseXor: return "bitwise_xor";
  }
  return "unknown";
}

at::Tensor ProcessGroup::allocate(std::int64_t bytes) {
  LOCKSTEP_CHECK(bytes >= 0, "a bucket of {} bytes", bytes);
  // libtorch's CPU allocator aligns to 64 bytes.
  return at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(at::kCPU));
}

}  // namespace lockstep::process_group
