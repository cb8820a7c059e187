#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::experiment {

/// A measured network. The literature gives the time of a whole allreduce of S bytes over n ranks
/// as a + b S; in a ring of 2 (n-1) hops that is a link of latency a / (2 (n-1)) and bandwidth
/// 2 (n-1) / n / b. With that link and n ranks the shaper takes the measured time again.
struct LinkPreset {
  std::string name;
  std::string what;                    ///< "10 Gbit/s Ethernet, 8 ranks"
  int ranks = 0;                       ///< n
  double allreduceSeconds = 0;         ///< a
  double allreduceSecondsPerByte = 0;  ///< b

  [[nodiscard]] double bandwidthGbps() const;
  [[nodiscard]] double latencyUs() const;
};

/// Figures of MG-WFBP's repository (Shi, Chu, Li: INFOCOM 2019).
const std::vector<LinkPreset>& linkPresets();

/// Returns the preset of this name, or nullptr.
const LinkPreset* findLinkPreset(std::string_view name);

}  // namespace lockstep::experiment
