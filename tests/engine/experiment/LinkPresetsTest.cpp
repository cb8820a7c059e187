#include "engine/experiment/LinkPresets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/experiment/Parse.h"

namespace lockstep::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> linkMistakes(const std::string& link) {
  std::vector<std::string> texts;
  for (const Mistake& mistake :
       parseText("[train]\nsteps = 1\n[link]\n" + link, "e.toml", "").mistakes) {
    texts.push_back(mistake.message());
  }
  return texts;
}

TEST(LinkPresets, TakeTheMeasuredTimeAgainInTheRingModel) {
  const LinkPreset* preset = findLinkPreset("infiniband_56g_8");
  ASSERT_NE(preset, nullptr);
  const double hops = 14;
  EXPECT_NEAR(hops * preset->latencyUs() * 1e-6, 9.75e-5, 1e-12);
  const double secondsPerByte = 1.75 * 8e-9 / preset->bandwidthGbps();
  EXPECT_NEAR(secondsPerByte, 3.06e-10, 1e-18);
  EXPECT_EQ(findLinkPreset("none"), nullptr);
}

TEST(LinkPresets, StandAmongTheChoicesOfTheKey) {
  for (const LinkPreset& preset : linkPresets()) {
    EXPECT_THAT(linkMistakes("preset = \"" + preset.name + "\"\n"), IsEmpty());
  }
  EXPECT_THAT(linkMistakes("preset = \"infiniband_56g_9\"\n"),
              ElementsAre(HasSubstr("must be one of none, ethernet_10g_8")));
}

TEST(LinkKeys, OfTheLinkItselfContradictAPreset) {
  EXPECT_THAT(linkMistakes("preset = \"ethernet_10g_8\"\nbandwidth_gbps = 3\n"),
              ElementsAre(HasSubstr("e.toml:5:1: link.bandwidth_gbps: has no meaning with "
                                    "link.preset = \"ethernet_10g_8\", only with none")));
}

TEST(LinkKeys, NeedWhatTheyBelongTo) {
  EXPECT_THAT(linkMistakes("inside_latency_us = 3\n"),
              ElementsAre(HasSubstr("needs link.ranks_per_node above 1")));
  EXPECT_THAT(linkMistakes("slow_latency_us = 3\n"), ElementsAre(HasSubstr("needs link.slow_ranks")));
  EXPECT_THAT(linkMistakes("slow_ranks = [1, 2]\n"),
              ElementsAre("e.toml:4:14: link.slow_ranks: there is no rank 2 among 2"));
  EXPECT_THAT(linkMistakes("slow_ranks = [1]\nslow_among = true\n"),
              ElementsAre(HasSubstr("needs at least two link.slow_ranks")));
}

TEST(LinkKeys, TellWhetherTheLinkIsShapedAtAll) {
  LinkConfig link;
  EXPECT_FALSE(link.shapes());
  link.seed = 3;
  EXPECT_FALSE(link.shapes());
  link.jitterUs = 1;
  EXPECT_TRUE(link.shapes());
}

}  // namespace
}  // namespace lockstep::experiment
