#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::launch::detail {

/// Where the recorder of a run listens, and under which address the other hosts know it.
struct RecorderAddress {
  std::string bind;
  std::string advertised;
  std::uint16_t port = 0;  ///< 0: any free one
};

/// Takes launch.listen apart, "ADDRESS[:PORT]" or "" for one that suits `hosts` hosts: the loopback
/// for one, this host's first address for more.
/// Error: kBadInput for a text that is none; kEnvironment when this host has no address.
base::Result<RecorderAddress> recorderAddress(const std::string& listen, int hosts);

/// "ranks 0, 2 and 3", "rank 1".
std::string rankList(const std::vector<int>& ranks);

}  // namespace lockstep::launch::detail
