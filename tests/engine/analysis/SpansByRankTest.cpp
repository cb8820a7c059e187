#include "engine/analysis/SpansByRank.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "engine/run/SpanStore.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using Ids = std::map<int, std::vector<std::int64_t>>;  // by rank

bool isAny(EventKind) {
  return true;
}

bool isStep(EventKind kind) {
  return kind == EventKind::kStep;
}

template <typename Wanted>
Ids byRank(const RunData& data, const Wanted& wanted, std::uint32_t first) {
  const SpansByRank spans(data);
  Ids ids;
  for (std::size_t place = 0; place < spans.size(); ++place) {
    spans.eachOf(place, wanted, first,
                 [&](const trace::SpanRow& span) { ids[spans.rank(place)].push_back(span.id); });
  }
  return ids;
}

template <typename Wanted>
Ids allAtOnce(const RunData& data, const Wanted& wanted, std::uint32_t first) {
  Ids ids;
  data.eachSpanOf(wanted, first,
                  [&](int rank, const trace::SpanRow& span) { ids[rank].push_back(span.id); });
  return ids;
}

HandMadeRun threeRanks() {
  HandMadeRun run(3);
  for (std::uint32_t step = 0; step < 1000; ++step) {
    for (const int rank : {2, 0, 1}) {
      run.add(rank, EventKind::kStep, 1000 * step, 1000 * step + 900, step);
      run.add(rank, EventKind::kData, 1000 * step, 1000 * step + 100, step);
      run.addCollective(rank, 1000 * step + 500, 1000 * step + 600, step, step);
    }
  }
  return run;
}

TEST(SpansByRank, AreThoseOfTheRunInTheSameOrder) {
  const RunData data = threeRanks().data();
  EXPECT_EQ(byRank(data, isAny, 0), allAtOnce(data, isAny, 0));
  EXPECT_EQ(byRank(data, isStep, 0), allAtOnce(data, isStep, 0));
  EXPECT_EQ(byRank(data, isStep, 990), allAtOnce(data, isStep, 990));
  EXPECT_EQ(byRank(data, isStep, 990).at(1).size(), 10u);
}

TEST(SpansByRank, LeaveOutSpansThatAreNobodysAndRanksWithoutSpans) {
  HandMadeRun run = threeRanks();
  run.tables.tracks.push_back({90, 9, "step"});
  std::erase_if(run.tables.tracks, [](const trace::TrackInfo& track) { return track.rank == 1; });
  const RunData data = run.data();
  const SpansByRank spans(data);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans.rank(0), 0);
  EXPECT_EQ(spans.rank(1), 2);
  EXPECT_EQ(byRank(data, isAny, 0), allAtOnce(data, isAny, 0));
}

/// Blocks in which spans of several ranks lie, as no store makes them, are taken apart all the
/// same.
TEST(SpansByRank, AreTakenApartWhereABlockHasSeveralRanks) {
  const HandMadeRun run = threeRanks();
  run::SpanStore store;
  std::uint64_t ticks = 0;
  for (const trace::SpanRow& span : run.spans) {
    run::SpanRecord record = run::recordOf(span, static_cast<std::uint16_t>(span.track / 10));
    record.startTicks = ticks += 2;
    record.durationTicks = 1;
    ASSERT_TRUE(store.insert(record));
  }
  RunData data = run.tables;
  data.spans = run::Spans({store.share()}, {0, 10, 20});
  EXPECT_EQ(byRank(data, isAny, 0), allAtOnce(data, isAny, 0));
  EXPECT_EQ(byRank(data, isStep, 500), allAtOnce(data, isStep, 500));
}

}  // namespace
}  // namespace lockstep::analysis
