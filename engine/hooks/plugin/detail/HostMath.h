#pragma once

#include <ATen/core/Tensor.h>

#include <map>

#include "engine/hooks/plugin/detail/Extents.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::hooks::detail {

/// What a hook keeps by lockstep_ext_math::allocate. One thread at a time.
class HookMemory {
 public:
  /// All zeros. Throws std::invalid_argument for what cannot be allocated.
  lockstep_buffer allocate(const lockstep_buffer& like, std::int64_t numel, std::int32_t dtype);
  /// Does nothing where the buffer is none of these.
  void release(const lockstep_buffer& buffer) { kept_.erase(buffer.data); }
  void releaseAll() { kept_.clear(); }
  /// What of it the buffer may lie in.
  void addTo(Extents& extents) const;

 private:
  std::map<const void*, at::Tensor> kept_;
};

/// "lockstep.math/1", by libtorch on the stream of the hook.
const lockstep_ext_math* mathTable();

}  // namespace lockstep::hooks::detail
