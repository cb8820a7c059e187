#include "engine/trace/RunFilePacked.h"

#include <algorithm>
#include <optional>
#include <string>

#include "engine/trace/Event.h"
#include "engine/trace/RunFileSchema.h"

namespace lockstep::trace {

using sqlite::Database;
using sqlite::Statement;

PackedStepsWriter::PackedStepsWriter(Database& database)
    : insert_(database,
              "INSERT INTO packed_steps(rank, track, step, unit, steps) VALUES(?, ?, ?, ?, ?)") {}

void PackedStepsWriter::add(std::int32_t track, const Event& step, const StepSumsRow& sums) {
  Kept& kept = ranks_[sums.rank];
  if (!kept.steps.empty() &&
      (kept.track != track || kept.steps.back().sums.step + 1 != sums.step)) {
    write(kept);
  }
  if (kept_ == 0) {
    since_ = std::chrono::steady_clock::now();
  }
  kept.track = track;
  kept.steps.push_back({step.startTicks, step.durationTicks, sums});
  ++kept_;
  if (kept.steps.size() == kPackedTogether) {
    write(kept);
  }
}

void PackedStepsWriter::writeAll() {
  for (auto& [rank, kept] : ranks_) {
    if (!kept.steps.empty()) {
      write(kept);
    }
  }
}

bool PackedStepsWriter::isDue() const {
  return kept_ > 0 && std::chrono::steady_clock::now() - since_ >= std::chrono::seconds(1);
}

void PackedStepsWriter::write(Kept& kept) {
  const std::uint64_t unit = unitOf(kept.steps);
  const std::string bytes = packSteps(kept.steps, unit);
  insert_.bind(1, kept.steps.front().sums.rank);
  insert_.bind(2, kept.track);
  insert_.bind(3, kept.steps.front().sums.step);
  insert_.bind(4, unit);
  insert_.bindBlob(5, bytes);
  insert_.run();
  kept_ -= kept.steps.size();
  kept.steps.clear();
}

void PackedStepsReader::read(Database& database, std::size_t most, std::vector<SpanRow>& spans,
                             std::vector<StepSumsRow>& sums) {
  if (!schema::hasPackedSteps(database)) {
    return;
  }
  Statement select(database,
                   "SELECT id, rank, track, step, unit, steps FROM packed_steps WHERE id > ? "
                   "ORDER BY id");
  select.bind(1, last_);
  while (spans.size() < most && select.row()) {
    last_ = select.integer(0);
    const auto track = static_cast<std::int32_t>(select.integer(2));
    const std::int64_t unit = select.integer(4);
    const auto steps = unpackSteps(select.blob(5), static_cast<int>(select.integer(1)),
                                   static_cast<std::uint32_t>(select.integer(3)),
                                   static_cast<std::uint64_t>(unit));
    if (!steps || unit < 1) {
      database.note(SQLITE_CORRUPT);
      return;
    }
    for (const SummedStep& step : *steps) {
      SpanRow& span = spans.emplace_back();
      span.track = track;
      span.kind = EventKind::kStep;
      span.startTicks = step.startTicks;
      span.durationTicks = step.durationTicks;
      span.step = step.sums.step;
      sums.push_back(step.sums);
    }
  }
}

}  // namespace lockstep::trace
