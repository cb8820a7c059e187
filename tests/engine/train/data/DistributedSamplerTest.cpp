#include "engine/train/data/DistributedSampler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/engine/train/Python.h"

namespace lockstep::train {
namespace {

std::vector<std::int64_t> deal(DistributedSampler::Options options, std::int64_t epoch = 0) {
  return DistributedSampler(options).indices(epoch);
}

TEST(DistributedSampler, DealsWhatPyTorchDealsSampleForSample) {
  const auto cases = runPython(R"(
import json, itertools
from torch.utils.data.distributed import DistributedSampler
out = []
for n, world, shuffle, drop, seed in itertools.product(
    [1, 2, 3, 10, 11, 12, 1000], [1, 2, 3, 7], [True, False], [True, False], [0, 41]):
  for rank in range(world):
    for epoch in [0, 3]:
      s = DistributedSampler(range(n), world, rank, shuffle, seed, drop)
      s.set_epoch(epoch)
      out.append([n, world, rank, shuffle, drop, seed, epoch, list(s)])
print(json.dumps(out))
)");
  EXPECT_GT(cases.size(), 500u);
  for (const auto& c : cases) {
    DistributedSampler::Options options;
    options.samples = c[0];
    options.worldSize = c[1];
    options.rank = c[2];
    options.shuffle = c[3];
    options.dropLast = c[4];
    options.seed = c[5];
    EXPECT_EQ(deal(options, c[6]), c[7].get<std::vector<std::int64_t>>()) << c.dump();
  }
}

TEST(DistributedSampler, GivesEveryRankTheSameNumberByRepeatingTheBeginning) {
  DistributedSampler::Options options;
  options.samples = 10;
  options.worldSize = 4;
  options.shuffle = false;
  options.rank = 3;
  EXPECT_THAT(deal(options), testing::ElementsAre(3, 7, 1));
  options.dropLast = true;
  EXPECT_THAT(deal(options), testing::ElementsAre(3, 7));
}

TEST(DistributedSampler, ChangesTheOrderWithTheEpochAndCoversTheSet) {
  DistributedSampler::Options options;
  options.samples = 100;
  options.worldSize = 2;
  const auto first = deal(options, 0);
  EXPECT_NE(first, deal(options, 1));
  std::set<std::int64_t> all(first.begin(), first.end());
  options.rank = 1;
  const auto second = deal(options, 0);
  all.insert(second.begin(), second.end());
  EXPECT_EQ(all.size(), 100u);
}

}  // namespace
}  // namespace lockstep::train
