#include "engine/hooks/verify/Replay.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/BuiltFiles.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::hooks {
namespace {

using plugin::PyTorchComparison;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Numbers = std::vector<float>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string bytesOf(const Numbers& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

/// What a training of one step and one bucket has left whose result in PyTorch was `result`, set
/// against what the engine gives: with this hook the gradients themselves.
PyTorchComparison replayed(const Numbers& gradients, const Numbers& result) {
  const support::TemporaryFolder folder;
  for (const int rank : {0, 1}) {
    folder.write(
        fmt::format("rank{}.json", rank),
        fmt::format(R"({{"world": 2, "optimizer": null, "sent_bytes": 0, "buckets": [{{"step": 0,
                         "index": 0, "count": 1, "layout": 0, "ids": [0], "shapes": [[{}]],
                         "dtype": "float32"}}]}})",
                    gradients.size()));
    folder.write(fmt::format("rank{}.bin", rank), bytesOf(gradients) + bytesOf(result));
  }
  return replay({{support::built("hooks/noop.so"), "noop", {}}, folder.path()});
}

TEST(Replay, MeasuresTheLargestDistanceByTheRootMeanSquare) {
  const PyTorchComparison same = replayed({2, -2, 2, -2}, {2, -2, 2, -2});
  EXPECT_THAT(same.problems, IsEmpty());
  EXPECT_EQ(same.distance, 0);
  EXPECT_EQ(same.steps, 1);
  const PyTorchComparison off = replayed({2, -2, 2, -2}, {2, -1, 2, -2.5});
  EXPECT_EQ(off.distance, 0.5);
  EXPECT_THAT(off.problems, ElementsAre(HasSubstr("rank 0: bucket 0 of step 0: its result in "
                                                  "PyTorch is not that of the engine")));
}

TEST(Replay, TakesANanInOneOfTheResultsForADifference) {
  for (const auto& [engine, torch] : {std::pair{Numbers{1, 2, 3}, Numbers{1, kNan, 3}},
                                      {{1, kNan, 3}, {1, 2, 3}},
                                      {{1, 2, 3}, {1, 2, kInfinity}},
                                      {{1, 2, -kInfinity}, {1, 2, kInfinity}}}) {
    const PyTorchComparison outcome = replayed(engine, torch);
    EXPECT_EQ(outcome.distance, std::numeric_limits<double>::infinity());
    EXPECT_THAT(outcome.problems, ElementsAre(HasSubstr("is not that of the engine")));
    const auto read = plugin::pyTorchComparisonFromJson(plugin::toJson(outcome));
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read.value(), outcome);
  }
}

TEST(Replay, ComparesTheRestWhereBothResultsHaveANanOrAnInfinity) {
  // Of another sign, so that not all bits are equal.
  EXPECT_THAT(replayed({2, kNan, -2, kInfinity}, {2, -kNan, -2, kInfinity}).problems, IsEmpty());
  const PyTorchComparison off = replayed({2, kNan, -2, kInfinity}, {2, kNan, -3, kInfinity});
  EXPECT_NEAR(off.distance, 0.7, 0.01) << "1, by the square root of 8 / 4";
  EXPECT_THAT(off.problems, ElementsAre(HasSubstr("is not that of the engine")));
}

}  // namespace
}  // namespace lockstep::hooks
