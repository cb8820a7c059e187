#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::hooks::detail {

/// The states of the hooks of one rank, as a checkpoint keeps them: for each its id, the schema
/// and the bytes that the plugin gave. Numbers are little-endian.
struct HookStates {
  struct Entry {
    std::string id;
    std::uint32_t schema = 0;
    std::string bytes;
  };
  std::vector<Entry> entries;

  [[nodiscard]] const Entry* find(std::string_view id) const;
  [[nodiscard]] std::string toBytes() const;
  /// Throws HookError for bytes that toBytes() did not make.
  static HookStates fromBytes(std::string_view bytes);
};

}  // namespace lockstep::hooks::detail
