#include "engine/cost/LinkSettings.h"

#include "engine/experiment/LinkPresets.h"

namespace lockstep::cost {

LinkOptions linkOptions(const experiment::LinkConfig& config) {
  LinkOptions options;
  options.link = {config.bandwidthGbps, config.latencyUs};
  if (const auto* preset = experiment::findLinkPreset(config.preset)) {
    options.link = {preset->bandwidthGbps(), preset->latencyUs()};
  }
  options.inside = {config.insideBandwidthGbps, config.insideLatencyUs};
  options.ranksPerNode = config.ranksPerNode;
  options.jitterUs = config.jitterUs;
  options.inFlight = config.inFlight;
  options.seed = static_cast<std::uint64_t>(config.seed);
  const LinkSpeed slow{config.slowBandwidthGbps, config.slowLatencyUs};
  for (const std::int64_t rank : config.slowRanks) {
    if (!config.slowAmong) {
      options.exceptions.push_back({static_cast<int>(rank), -1, slow});
      continue;
    }
    for (const std::int64_t peer : config.slowRanks) {
      if (rank < peer) {
        options.exceptions.push_back({static_cast<int>(rank), static_cast<int>(peer), slow});
      }
    }
  }
  return options;
}

}  // namespace lockstep::cost
