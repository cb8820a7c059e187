#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::hooks::detail {

// Note [How far a buffer may reach]
// A plugin names memory by address and length. Where a buffer begins or ends in memory that the
// host handed out (a bucket, scratch(), a parameter, what lockstep_ext_math allocated) but is not
// inside it, an operation would write over its neighbours, which shows steps later, in another
// bucket, or not at all. The host knows where its own memory ends and refuses such a buffer. Memory
// of the plugin's own it does not know.

/// Looks for a buffer in the memory that a hook was handed. One thread at a time.
class Extents {
 public:
  explicit Extents(const at::Tensor& buffer);

  /// Where the buffer ends.
  [[nodiscard]] const void* end() const { return reinterpret_cast<const void*>(end_); }

  /// A piece of that memory, which `what` and `whose` name.
  void add(const char* what, std::string_view whose, const at::Tensor& memory);
  void add(const char* what, std::string_view whose, const lockstep_buffer& memory);

  /// Throws std::invalid_argument, with both extents, where the buffer reaches out of a piece and
  /// lies in no other.
  void check() const;

 private:
  void add(const char* what, std::string_view whose, const void* data, std::uint64_t bytes);

  const std::int64_t elements_;
  const char* const dtype_;
  const std::uintptr_t begin_;
  const std::uintptr_t end_;
  bool inside_ = false;
  std::string wrong_;  ///< about the first piece that it reaches out of; "" = none
};

}  // namespace lockstep::hooks::detail
