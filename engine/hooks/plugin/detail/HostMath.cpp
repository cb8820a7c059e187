#include "engine/hooks/plugin/detail/HostMath.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <iterator>
#include <stdexcept>

#include "engine/hooks/plugin/detail/Buffers.h"
#include "engine/hooks/plugin/detail/HostTables.h"
#include "engine/hooks/plugin/detail/PluginSession.h"

namespace lockstep::hooks::detail {

namespace {

/// Makes the call on the hook's stream; what is wrong with it becomes the hook's sentence.
template <typename Body>
lockstep_status calculated(const lockstep_host* host, const char* name,
                           const lockstep_buffer& where, Body body) {
  PluginSession& session = sessionOf(host);
  try {
    const auto onStream = session.onStream(deviceOf(where));
    body();
    return LOCKSTEP_OK;
  } catch (const std::exception& error) {
    return session.refuse(fmt::format("math: {}", name), error);
  }
}

at::Tensor floating(const lockstep_host* host, const lockstep_buffer& buffer) {
  at::Tensor tensor = sessionOf(host).tensorWithin(buffer);
  if (!tensor.is_floating_point()) {
    throw Unsupported(
        fmt::format("it calculates in floating point, not in {}", c10::toString(tensor.scalar_type())));
  }
  return tensor;
}

void requireAlike(const at::Tensor& one, const at::Tensor& other) {
  if (one.scalar_type() != other.scalar_type() || one.device() != other.device()) {
    throw std::invalid_argument(
        fmt::format("one buffer holds {} on {}, another {} on {}", c10::toString(one.scalar_type()),
                    one.device().str(), c10::toString(other.scalar_type()), other.device().str()));
  }
}

void requireCount(const at::Tensor& tensor, std::int64_t count) {
  if (tensor.numel() != count) {
    throw std::invalid_argument(
        fmt::format("a buffer of {} elements, where {} are needed", tensor.numel(), count));
  }
}

lockstep_status allocate(const lockstep_host* host, const lockstep_buffer* like, std::int64_t numel,
                         std::int32_t dtype, lockstep_buffer* out) {
  return calculated(host, "allocate", *like, [&] {
    *out = sessionOf(host).memory().allocate(*like, numel, dtype);
    out->stream = sessionOf(host).streamHandle(deviceOf(*like));
  });
}

lockstep_status copy(const lockstep_host* host, const lockstep_buffer* in,
                     const lockstep_buffer* out) {
  // Between host and device the device's stream orders the copy, whichever way it goes.
  return calculated(host, "copy", in->device == LOCKSTEP_CPU ? *out : *in, [&] {
    const at::Tensor from = sessionOf(host).tensorWithin(*in);
    requireCount(from, out->numel);
    sessionOf(host).tensorWithin(*out).copy_(from);
  });
}

lockstep_status fill(const lockstep_host* host, const lockstep_buffer* out, double value) {
  return calculated(host, "fill", *out, [&] { sessionOf(host).tensorWithin(*out).fill_(value); });
}

lockstep_status multiply(const lockstep_host* host, const lockstep_buffer* inout, double factor) {
  return calculated(host, "multiply", *inout, [&] { floating(host, *inout).mul_(factor); });
}

lockstep_status divide(const lockstep_host* host, const lockstep_buffer* inout, double divisor) {
  return calculated(host, "divide", *inout, [&] { floating(host, *inout).div_(divisor); });
}

lockstep_status addScaled(const lockstep_host* host, const lockstep_buffer* inout,
                          const lockstep_buffer* in, double factor) {
  return calculated(host, "add_scaled", *inout, [&] {
    const at::Tensor sum = floating(host, *inout);
    const at::Tensor added = floating(host, *in);
    requireAlike(sum, added);
    requireCount(added, sum.numel());
    sum.add_(added, factor);
  });
}

at::Tensor matrix(const lockstep_host* host, const lockstep_buffer& buffer, std::int64_t rows,
                  std::int64_t columns, bool transposed) {
  const at::Tensor tensor = floating(host, buffer);
  requireCount(tensor, rows * columns);
  return transposed ? tensor.view({columns, rows}).t() : tensor.view({rows, columns});
}

lockstep_status matmul(const lockstep_host* host, const lockstep_buffer* a,
                       const lockstep_buffer* b, const lockstep_buffer* out, std::int64_t m,
                       std::int64_t k, std::int64_t n, std::uint32_t transposed) {
  return calculated(host, "matmul", *out, [&] {
    if (m < 0 || k < 0 || n < 0) {
      throw std::invalid_argument(fmt::format("matrices of {} by {} and {} by {}", m, k, k, n));
    }
    const at::Tensor left = matrix(host, *a, m, k, (transposed & LOCKSTEP_TRANSPOSED_A) != 0);
    const at::Tensor right = matrix(host, *b, k, n, (transposed & LOCKSTEP_TRANSPOSED_B) != 0);
    at::Tensor product = matrix(host, *out, m, n, false);
    requireAlike(left, right);
    requireAlike(left, product);
    at::mm_out(product, left, right);
  });
}

}  // namespace

lockstep_buffer HookMemory::allocate(const lockstep_buffer& like, std::int64_t numel,
                                     std::int32_t dtype) {
  if (numel < 0) {
    throw std::invalid_argument(fmt::format("{} elements", numel));
  }
  const at::Tensor tensor =
      at::zeros({numel}, at::TensorOptions().dtype(dtypeOf(dtype)).device(deviceOf(like)));
  if (numel > 0) {
    // By address, which is all that a plugin gives back. Without elements there is none to keep.
    kept_[tensor.data_ptr()] = tensor;
  }
  return bufferOf(tensor);
}

void HookMemory::addTo(Extents& extents) const {
  // What it holds does not overlap: only the last piece that begins before the buffer's end can.
  if (const auto after = kept_.lower_bound(extents.end()); after != kept_.begin()) {
    extents.add("memory that it allocated", "", std::prev(after)->second);
  }
}

const lockstep_ext_math* mathTable() {
  static const lockstep_ext_math table{
      sizeof(lockstep_ext_math),
      allocate,
      [](const lockstep_host* host, const lockstep_buffer* buffer) {
        sessionOf(host).memory().release(*buffer);
      },
      copy,
      fill,
      multiply,
      divide,
      addScaled,
      matmul};
  return &table;
}

}  // namespace lockstep::hooks::detail
