#include "tests/bench/timeline/MadeFile.h"

#include <fmt/format.h>

namespace lockstep::bench {

void MadeFile::begin(const std::string& name, int ranks) {
  info_.runId = "made";
  info_.name = name;
  info_.state = trace::RunState::kRunning;
  info_.startedAt = "2026-01-01T00:00:00Z";
  info_.worldSize = ranks;
  writer_.setInfo(info_);
  writer_.addClock({kOrigin, 0, 1 / kTicksPerNs});
}

void MadeFile::addRank(int rank, int host) {
  trace::RankInfo facts;
  facts.rank = rank;
  facts.state = "finished";
  facts.host = host;
  writer_.setRank(facts);
  writer_.addTrack({stepTrack(rank), rank, "step"});
  writer_.addTrack({stepTrack(rank) + 1, rank, "gloo 0"});
}

void MadeFile::setParameters(int count, std::int64_t bytes,
                             const std::vector<std::int64_t>& shape) {
  trace::ParametersMessage parameters;
  for (int i = 0; i < count; ++i) {
    trace::ParametersMessage::Parameter parameter;
    parameter.name = fmt::format("layer{}.weight", i);
    parameter.bytes = bytes;
    parameter.shape = shape;
    parameters.parameters.push_back(parameter);
  }
  writer_.setParameters(parameters);
}

void MadeFile::put(int track, trace::EventKind kind, std::uint64_t start, std::uint64_t end,
                   std::uint32_t step, int bucket, std::uint64_t value, std::uint16_t detail) {
  trace::Event event;
  event.startTicks = start;
  event.durationTicks = end - start;
  event.kind = static_cast<std::uint64_t>(kind);
  event.step = step;
  event.bucket = bucket < 0 ? trace::kNoBucket : static_cast<std::uint16_t>(bucket);
  event.detail = detail;
  event.value = value;
  writer_.addEvent(track, event);
  ++spans_;
}

base::Status MadeFile::commitSome() {
  constexpr std::uint64_t kMany = 50'000;
  if (spans_ - committed_ < kMany) {
    return {};
  }
  committed_ = spans_;
  return writer_.commit();
}

base::Result<std::uint64_t> MadeFile::finish() {
  info_.state = trace::RunState::kFinished;
  info_.finishedAt = "2026-01-01T00:10:00Z";
  writer_.setInfo(info_);
  if (base::Status done = writer_.finish(); !done.ok()) {
    return done.error();
  }
  return spans_;
}

}  // namespace lockstep::bench
