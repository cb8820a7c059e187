#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"

namespace lockstep::launch::detail {

/// Where the recorder of a run listens, and under which address the other hosts know it.
struct RecorderAddress {
  std::string bind;
  std::string advertised;
  std::uint16_t port = 0;  ///< 0: any free one
};

/// Takes launch.listen apart, "ADDRESS[:PORT]" or "" for one that suits the launcher: the loopback
/// where mpirun can only start ranks on this host, otherwise this host's first address, which is
/// looked up unless `ownAddress` says it ("": there is none).
/// Error: kBadInput for a text that is none; kEnvironment when several hosts take part and this one
/// has no address.
base::Result<RecorderAddress> recorderAddress(
    const experiment::LaunchConfig& launch,
    const std::optional<std::string>& ownAddress = std::nullopt);

}  // namespace lockstep::launch::detail
