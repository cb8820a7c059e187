#include "engine/simulate/CollectiveModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::simulate {
namespace {

constexpr double kMb = 1e6;

Network flat(double latencyNs, double nsPerByte) {
  return {{latencyNs, nsPerByte}, {latencyNs, nsPerByte}, 1, 0};
}

TransferTime timeOf(const Network& network, int ranks, Algorithm algorithm, double bytes) {
  return CollectiveModel(network, ranks, algorithm).allreduce(bytes);
}

TEST(CollectiveModel, RingHasTwoTimesRanksLessOneHopsAndMovesEachByteAlmostTwice) {
  const auto time = timeOf(flat(1000, 2), 8, Algorithm::kRing, kMb);
  EXPECT_DOUBLE_EQ(time.latencyNs, 14 * 1000);
  EXPECT_DOUBLE_EQ(time.bytesNs, 2 * 7.0 / 8 * 2 * kMb);
  EXPECT_EQ(time.by, Algorithm::kRing);
}

TEST(CollectiveModel, RingIsTheLinkModelOfAShapedGroup) {
  cost::LinkOptions options;
  options.link = {10, 25};
  const cost::LinkModel shaped(options, 0, 16);
  const auto expected = shaped.cost(trace::Operation::kAllreduce, 1 << 20);
  const auto time = timeOf(flat(25'000, 0.8), 16, Algorithm::kRing, 1 << 20);
  EXPECT_NEAR(time.bytesNs, static_cast<double>(expected.linkNs), 1);
  EXPECT_NEAR(time.latencyNs, static_cast<double>(expected.latencyNs), 1);
}

// The best number of pieces, by trying them all.
TEST(CollectiveModel, TreeTakesAboutTheBestNumberOfPieces) {
  for (const int ranks : {3, 8, 64, 1000}) {
    const double height = std::ceil(std::log2(ranks));
    for (const double bytes : {1e3, 1e5, 1e7}) {
      double best = std::numeric_limits<double>::infinity();
      for (int pieces = 1; pieces < 20'000; ++pieces) {
        best = std::min(best, 4 * (height + pieces) * (5000 + bytes * 0.1 / (2 * pieces)));
      }
      EXPECT_NEAR(timeOf(flat(5000, 0.1), ranks, Algorithm::kTree, bytes).ns(), best, 0.01 * best)
          << ranks << " ranks, " << bytes << " B";
    }
  }
}

TEST(CollectiveModel, TreeOfManyBytesComesToTheirTimeTwice) {
  const auto time = timeOf(flat(10, 1), 64, Algorithm::kTree, 1e9);
  EXPECT_NEAR(time.ns(), 2e9, 0.01 * 2e9);
  EXPECT_DOUBLE_EQ(time.bytesNs, 2e9);
  EXPECT_NEAR(timeOf(flat(0, 1), 64, Algorithm::kTree, 1e9).ns(), 2e9, 1e5);
}

// 2 nodes of 4 ranks: 2 * 3 hops inside and 2 * 1 between; inside 2 * 3/4, between 2 * 1/2 of the
// bytes.
TEST(CollectiveModel, TwoLevelsReduceInTheNodeAndThenBetweenNodes) {
  const Network network{{10'000, 2}, {1000, 0.5}, 4, 0};
  const auto time = timeOf(network, 8, Algorithm::kTwoLevels, kMb);
  EXPECT_DOUBLE_EQ(time.latencyNs, 6 * 1000 + 2 * 10'000);
  EXPECT_DOUBLE_EQ(time.bytesNs, 1.5 * 0.5 * kMb + 1 * 2 * kMb);
  EXPECT_EQ(time.by, Algorithm::kTwoLevels);
}

TEST(CollectiveModel, RingThroughNodesIsAsFastAsItsSlowestLink) {
  const Network network{{10'000, 2}, {1000, 0.5}, 4, 0};
  EXPECT_DOUBLE_EQ(timeOf(network, 8, Algorithm::kRing, 0).latencyNs, 14 * 10'000);
  EXPECT_DOUBLE_EQ(timeOf(network, 4, Algorithm::kRing, 0).latencyNs, 6 * 1000);
  EXPECT_EQ(timeOf(network, 4, Algorithm::kTwoLevels, kMb).by, Algorithm::kRing);
}

TEST(CollectiveModel, FastestIsTheFastestOfAll) {
  const Network network{{20'000, 0.8}, {2000, 0.1}, 8, 3000};
  for (const int ranks : {8, 16, 512, 4096}) {
    for (const double bytes : {1e2, 1e5, 1e8}) {
      const double fastest = timeOf(network, ranks, Algorithm::kFastest, bytes).ns();
      for (const auto algorithm : {Algorithm::kRing, Algorithm::kTree, Algorithm::kTwoLevels}) {
        EXPECT_LE(fastest, timeOf(network, ranks, algorithm, bytes).ns());
      }
    }
  }
  // 8190 hops are many, and 26 levels few.
  EXPECT_EQ(timeOf(flat(20'000, 0.8), 4096, Algorithm::kFastest, 1e5).by, Algorithm::kTree);
  EXPECT_EQ(timeOf(flat(20'000, 0.8), 4, Algorithm::kFastest, 1e8).by, Algorithm::kRing);
}

TEST(CollectiveModel, NamesOfAlgorithmsAreThoseOfTheCommandLine) {
  for (const auto algorithm :
       {Algorithm::kRing, Algorithm::kTree, Algorithm::kTwoLevels, Algorithm::kFastest}) {
    EXPECT_EQ(algorithmNamed(name(algorithm)), algorithm);
  }
  EXPECT_EQ(algorithmNamed("butterfly"), std::nullopt);
}

TEST(NetworkOf, ARingOfTheRecordedRanksTakesWhatWasFitted) {
  RecordedLink recorded;
  recorded.fit.cost = {60'000, 3, 0};
  recorded.ranks = 4;
  for (const double hopShare : {0.0, 0.4, 1.0}) {
    const auto time = timeOf(networkOf(recorded, hopShare), 4, Algorithm::kRing, kMb);
    EXPECT_NEAR(time.latencyNs, 60'000, 1e-6);
    EXPECT_NEAR(time.bytesNs, 3 * kMb, 1e-3);
  }
  EXPECT_DOUBLE_EQ(networkOf(recorded, 1).link.latencyNs, 10'000);
  EXPECT_DOUBLE_EQ(networkOf(recorded, 0).overheadNs, 60'000);
}

// Two ranks of one node were recorded: what lies between nodes is known from the settings alone.
TEST(NetworkOf, SettingsTellTheLinksThatWereNotRecorded) {
  cost::LinkOptions options;
  options.link = {1, 200};
  options.inside = {8, 10};
  options.ranksPerNode = 2;
  RecordedLink recorded;
  recorded.fit.cost = {2 * 10'000 + 7000, 1, 0};
  recorded.fit.bySettings = true;
  recorded.settings = options;
  recorded.ranks = 2;
  const Network network = networkOf(recorded);
  EXPECT_DOUBLE_EQ(network.link.latencyNs, 200'000);
  EXPECT_DOUBLE_EQ(network.link.nsPerByte, 8);
  EXPECT_DOUBLE_EQ(network.inside.nsPerByte, 1);
  EXPECT_EQ(network.ranksPerNode, 2);
  EXPECT_DOUBLE_EQ(network.overheadNs, 7000);
}

}  // namespace
}  // namespace lockstep::simulate
