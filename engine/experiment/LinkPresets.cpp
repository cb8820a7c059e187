#include "engine/experiment/LinkPresets.h"

#include "engine/experiment/Experiment.h"

namespace lockstep::experiment {

// From T(S) = a + b S with T(S) = 2 (n-1) L + 2 (n-1)/n S/B; 8e-9 makes bytes a second Gbit/s.
double LinkPreset::bandwidthGbps() const {
  return 2.0 * (ranks - 1) / ranks / allreduceSecondsPerByte * 8e-9;
}

double LinkPreset::latencyUs() const {
  return allreduceSeconds / (2.0 * (ranks - 1)) * 1e6;
}

const std::vector<LinkPreset>& linkPresets() {
  static const std::vector<LinkPreset> presets{
      {"ethernet_10g_8", "10 Gbit/s Ethernet, 8 ranks", 8, 5.23e-4, 8.57e-10},
      {"ethernet_10g_16", "10 Gbit/s Ethernet, 16 ranks", 16, 9.08e-4, 7.40e-10},
      {"infiniband_56g_4", "56 Gbit/s InfiniBand, 4 ranks", 4, 4.2e-5, 2.06e-10},
      {"infiniband_56g_8", "56 Gbit/s InfiniBand, 8 ranks", 8, 9.75e-5, 3.06e-10},
      {"infiniband_56g_16", "56 Gbit/s InfiniBand, 16 ranks", 16, 2.36e-4, 4.06e-10},
  };
  return presets;
}

const LinkPreset* findLinkPreset(std::string_view name) {
  for (const LinkPreset& preset : linkPresets()) {
    if (preset.name == name) {
      return &preset;
    }
  }
  return nullptr;
}

}  // namespace lockstep::experiment
