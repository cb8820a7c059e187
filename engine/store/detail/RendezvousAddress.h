#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/Result.h"

namespace lockstep::store::detail {

/// "env://", "tcp://host:port" or "file:///path", with "?rank=1&world_size=2&job=name".
struct RendezvousAddress {
  enum class Scheme { kEnvironment, kTcp, kFile };

  Scheme scheme{};
  std::string host;  ///< tcp; without the brackets of an IPv6 address
  std::uint16_t port = 0;
  std::string path;  ///< file; taken as it stands, without %-decoding (c10d)
  std::optional<int> rank;
  std::optional<int> worldSize;
  std::optional<std::string> job;
};

/// Error (kBadInput): the first part that is missing, unknown, given twice or no number.
base::Result<RendezvousAddress> parseRendezvousAddress(const std::string& text);

}  // namespace lockstep::store::detail
