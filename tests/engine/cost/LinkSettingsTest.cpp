#include "engine/cost/LinkSettings.h"

#include <gtest/gtest.h>

#include "engine/experiment/LinkPresets.h"

namespace lockstep::cost {
namespace {

TEST(LinkSettings, TakeWhatTheExperimentSays) {
  experiment::LinkConfig config;
  config.bandwidthGbps = 2;
  config.latencyUs = 500;
  config.inFlight = 3;
  config.jitterUs = 7;
  config.slowRanks = {1};
  config.slowBandwidthGbps = 0.5;
  config.slowLatencyUs = 900;
  const LinkOptions options = linkOptions(config);
  EXPECT_EQ(options.link, (LinkSpeed{2, 500}));
  EXPECT_EQ(options.inFlight, 3);
  EXPECT_EQ(options.jitterUs, 7);
  EXPECT_EQ(LinkModel(options, 0, 3).between(0, 1), (LinkSpeed{0.5, 900}));
  EXPECT_EQ(LinkModel(options, 0, 3).between(0, 2), (LinkSpeed{2, 500}));
}

TEST(LinkSettings, APresetStandsForItsBandwidthAndLatency) {
  const experiment::LinkPreset& preset = experiment::linkPresets().front();
  experiment::LinkConfig config;
  config.preset = preset.name;
  EXPECT_EQ(linkOptions(config).link, (LinkSpeed{preset.bandwidthGbps(), preset.latencyUs()}));
}

}  // namespace
}  // namespace lockstep::cost
