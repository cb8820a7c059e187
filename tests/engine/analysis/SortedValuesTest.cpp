#include "engine/analysis/SortedValues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/cost/Sample.h"

namespace lockstep::analysis {
namespace {

TEST(SortedValuesTest, AreInTheSameOrderWhicheverWayTheyCame) {
  std::mt19937 random(3);
  for (const unsigned most : {1u, 7u, 1'000u}) {
    for (const std::size_t first : {0u, 1u, 2u, 700u, 5'000u}) {
      SortedValues growing;
      std::vector<double> all;
      for (int round = 0; round < 60; ++round) {
        std::vector<double> more(round == 0 ? first : random() % 40);
        for (double& value : more) {
          value = static_cast<double>(random() % most) / 8;
        }
        const SortedValues before = growing;
        const std::size_t size = all.size();
        all.insert(all.end(), more.begin(), more.end());
        const SortedValues copy = growing.with(more);
        growing.add(std::move(more));
        EXPECT_EQ(before.size(), size) << "a copy stays as it is";
        for (const SortedValues* values : {&copy, static_cast<const SortedValues*>(&growing)}) {
          ASSERT_EQ(values->size(), all.size());
          EXPECT_EQ(values->median(), cost::median(all));
          for (const double part : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
            EXPECT_EQ(values->quantile(part), cost::quantile(all, part));
          }
          EXPECT_EQ(values->count([](double value) { return value < 0.5; }),
                    static_cast<std::size_t>(std::count_if(
                        all.begin(), all.end(), [](double value) { return value < 0.5; })));
        }
      }
    }
  }
}

TEST(SortedValuesTest, AreFoundWhereLaterOnesAreUnlikeEarlierOnes) {
  std::mt19937 random(5);
  for (const double drift : {-3.0, 0.5, 40.0, 1e6}) {
    SortedValues growing;
    std::vector<double> all;
    for (int round = 0; round < 500; ++round) {
      std::vector<double> more(1 + random() % 40);
      for (double& value : more) {
        value = drift * round + static_cast<double>(random() % 1'000);
      }
      all.insert(all.end(), more.begin(), more.end());
      growing.add(std::move(more));
    }
    std::sort(all.begin(), all.end());
    for (std::size_t index = 0; index < all.size(); index += 1 + random() % 20) {
      ASSERT_EQ(growing.at(index), all[index]) << index << ", drift " << drift;
    }
    EXPECT_EQ(growing.at(all.size() - 1), all.back());
    for (int part = 0; part <= 1'000; ++part) {
      ASSERT_EQ(growing.quantile(part / 1e3), cost::sortedQuantile(all, part / 1e3));
    }
  }
}

SortedValues::Lists listsOf(const std::vector<SortedValues>& values) {
  SortedValues::Lists lists;
  for (const SortedValues& list : values) {
    lists.push_back(&list);
  }
  return lists;
}

// A rank that comes later, one that is unlike the others, values that drift away from the marks,
// and a single value unlike all.
TEST(SortedValuesTest, OfSeveralRanksAreFoundFromTheMarksWhereverTheseHaveCome) {
  std::mt19937 random(11);
  const std::vector<double> parts = {0.0, 0.3, 0.5, 0.9, 0.95, 0.99, 1.0};
  for (const double drift : {-5.0, 0.0, 0.3, 50.0}) {
    for (const unsigned most : {1u, 3u, 100'000u}) {
      std::vector<double> all;
      std::vector<SortedValues> ofRanks(1, SortedValues::marking({0.5, 0.9, 0.95, 0.99}));
      SortedValues joined = ofRanks.front();
      for (int round = 0; round < 200; ++round) {
        if (round == 20 || round == 100) {
          ofRanks.resize(ofRanks.size() + 1, SortedValues::marking({0.5, 0.9, 0.95, 0.99}));
        }
        const auto valuesOf = [&](std::size_t rank) {
          std::vector<double> more(20 + random() % 20);
          for (double& value : more) {
            value =
                drift * round + (rank == 2 ? 700.0 : 0.0) + static_cast<double>(random() % most);
          }
          more.front() = round % 2 == 0 ? 1e9 : -1e9;
          return more;
        };
        std::vector<double> added;
        for (std::size_t rank = 0; rank < ofRanks.size(); ++rank) {
          std::vector<double> more = valuesOf(rank);
          added.insert(added.end(), more.begin(), more.end());
          ofRanks[rank].add(std::move(more));
        }
        all.insert(all.end(), added.begin(), added.end());
        joined.join(listsOf(ofRanks), std::move(added));
        if (round % 20 != 19) {
          continue;
        }
        std::vector<double> sorted = all;
        std::vector<SortedValues> open = ofRanks;
        double sum = 0;
        for (std::size_t rank = 0; rank < open.size(); ++rank) {
          std::vector<double> more = valuesOf(rank);
          sorted.insert(sorted.end(), more.begin(), more.end());
          open[rank].addApart(std::move(more));
          sum += open[rank].sum();
        }
        const SortedValues now = joined.joined(listsOf(open));
        std::ranges::sort(sorted);
        ASSERT_EQ(now.size(), sorted.size());
        for (const double part : parts) {
          ASSERT_EQ(now.quantile(part), cost::sortedQuantile(sorted, part))
              << part << " after round " << round << ", drift " << drift;
        }
        EXPECT_EQ(now.median(), cost::median(sorted));
        EXPECT_EQ(now.sum(), sum);
        EXPECT_EQ(now.greatest(), sorted.back());
      }
    }
  }
}

TEST(SortedValuesTest, AQuantileOfManyRanksIsToldWithoutTheirRuns) {
  std::mt19937 random(19);
  const auto valuesOf = [&](std::size_t count) {
    std::vector<double> values(count);
    for (double& value : values) {
      value = static_cast<double>(random());
    }
    return values;
  };
  for (const std::size_t ranks : {2u, 8u, 60u}) {
    std::vector<SortedValues> ofRanks(ranks);
    SortedValues joined;
    std::size_t unmarked = 0;
    std::size_t searchesOfFirst = 0;
    constexpr int kRounds = 300;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> added;
      std::vector<SortedValues> open;
      for (SortedValues& of : ofRanks) {
        std::vector<double> more = valuesOf(40);
        added.insert(added.end(), more.begin(), more.end());
        of.add(std::move(more));
        open.push_back(of.with(valuesOf(80)));
      }
      joined.join(listsOf(ofRanks), std::move(added));
      unmarked += joined.joined(listsOf(open)).isMarked(0.5) ? 0 : 1;
      searchesOfFirst = round < kRounds / 2 ? joined.searches() : searchesOfFirst;
    }
    EXPECT_LT(unmarked, kRounds / 20) << ranks << " ranks";
    EXPECT_LT(joined.searches() - searchesOfFirst, kRounds / 10) << ranks << " ranks";
  }
}

TEST(SortedValuesTest, AQuantileThatIsAskedAgainAndAgainIsToldWithoutTheRuns) {
  std::mt19937 random(17);
  const auto valuesOf = [&](std::size_t count, unsigned most) {
    std::vector<double> values(count);
    for (double& value : values) {
      value = static_cast<double>(random() % most);
    }
    return values;
  };
  // Of one sort, and of many that are equal.
  for (const unsigned most : {1'000'000u, 3u}) {
    SortedValues growing = SortedValues::marking({0.5, 0.95});
    std::size_t unmarked = 0;
    std::size_t searchesOfFirst = 0;
    constexpr int kRounds = 1'000;
    for (int round = 0; round < kRounds; ++round) {
      growing.add(valuesOf(40, most));
      const SortedValues all = growing.with(valuesOf(80, most));
      unmarked += all.isMarked(0.5) ? 0 : 1;
      unmarked += all.isMarked(0.95) ? 0 : 1;
      searchesOfFirst = round < kRounds / 2 ? growing.searches() : searchesOfFirst;
    }
    EXPECT_LT(unmarked, kRounds / 50);
    EXPECT_LT(growing.searches() - searchesOfFirst, kRounds / 10) << "of so many in each half";
  }
}

TEST(SortedValuesTest, AreFoundBesideTheMarksByWhatOnlyACopyHas) {
  std::mt19937 random(23);
  for (const unsigned most : {1u, 5u, 100'000u}) {
    SortedValues growing = SortedValues::marking({0.5, 0.9});
    std::vector<double> all;
    for (int round = 0; round < 60; ++round) {
      std::vector<double> more(round == 0 ? 1'000 : 25);
      for (double& value : more) {
        value = static_cast<double>(random() % most);
      }
      all.insert(all.end(), more.begin(), more.end());
      growing.add(std::move(more));
      // Below all, above all, around a quantile, and so many that it is far from its mark.
      for (const double of : {-1e9, 1e9, growing.quantile(0.5), growing.quantile(0.9)}) {
        for (const std::size_t count : {1u, 60u, 300u}) {
          std::vector<double> own(count, of);
          own.front() += 0.25;
          std::vector<double> sorted = all;
          sorted.insert(sorted.end(), own.begin(), own.end());
          std::ranges::sort(sorted);
          const SortedValues copy = growing.with(std::move(own));
          for (const double part : {0.0, 0.5, 0.9, 1.0}) {
            ASSERT_EQ(copy.quantile(part), cost::sortedQuantile(sorted, part)) << of << ' ' << part;
          }
          ASSERT_EQ(copy.median(), cost::median(sorted));
          ASSERT_EQ(copy.greatest(), sorted.back());
        }
      }
    }
  }
}

TEST(SortedValuesTest, OfSeveralAreThoseOfAll) {
  std::vector<SortedValues> lists(2);
  lists[0].add({10, 0});
  lists[1].add({3, 1, 2});
  const SortedValues all = SortedValues().joined(listsOf(lists));
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(all.median(), 2);
  EXPECT_EQ(all.sum(), 16);
  EXPECT_EQ(all.greatest(), 10);
  lists[0] = SortedValues();
  lists[0].add({-3, -1});
  lists[1] = SortedValues();
  EXPECT_EQ(SortedValues().joined(listsOf(lists)).greatest(), -1);
  EXPECT_EQ(SortedValues().joined({}).median(), std::nullopt);
  EXPECT_EQ(SortedValues().quantile(0.5), 0);
}

TEST(GrowingMediansTest, AreThoseOfWhatIsSettledAndWhatIsNot) {
  GrowingMedians<2> medians;
  medians.add(1, 4);
  EXPECT_EQ(medians.median(0), std::nullopt);
  medians.settle();
  GrowingMedians<2> copy = medians;
  copy.add(1, 8);
  EXPECT_EQ(copy.median(1), 6);
  EXPECT_EQ(medians.median(1), 4);
}

}  // namespace
}  // namespace lockstep::analysis
