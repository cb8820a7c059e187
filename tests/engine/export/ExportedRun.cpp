#include "tests/engine/export/ExportedRun.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/trace/Event.h"
#include "engine/trace/HostFacts.h"

namespace lockstep::exports {

ExportedRun::ExportedRun(const std::filesystem::path& path, int ranks, double nsPerTick)
    : path_(path) {
  auto created = trace::RunFileWriter::create(path);
  EXPECT_TRUE(created.ok()) << created.error().message();
  writer_ = std::move(created).value();
  info.runId = "run-7";
  info.name = "demo";
  info.state = trace::RunState::kRunning;
  info.supervisorPid = getpid();
  info.supervisorStart = trace::processStart(getpid());
  info.hostName = "host";
  info.worldSize = ranks;
  writer_->setInfo(info);
  writer_->addClock({0, 0, nsPerTick});
  for (int rank = 0; rank < ranks; ++rank) {
    trace::RankInfo facts;
    facts.rank = rank;
    facts.pid = 500 + rank;
    facts.state = "running";
    facts.environment["backend"] = "gloo";
    writer_->setRank(facts);
    writer_->addTrack({10 * rank, rank, "step"});
    writer_->addTrack({10 * rank + 1, rank, "gloo 0"});
  }
}

ExportedRun::~ExportedRun() = default;

ExportedRun& ExportedRun::step(int rank, trace::EventKind kind, std::uint64_t begin,
                               std::uint64_t end, std::uint32_t step, std::uint64_t value) {
  trace::Event event;
  event.kind = static_cast<std::uint16_t>(kind);
  event.startTicks = begin;
  event.durationTicks = end - begin;
  event.step = step;
  event.value = value;
  writer_->addEvent(10 * rank, event);
  return *this;
}

ExportedRun& ExportedRun::collective(int rank, std::uint64_t begin, std::uint64_t end,
                                     std::uint64_t sequence, std::uint64_t bytes,
                                     std::uint32_t step, std::uint16_t bucket) {
  trace::Event event;
  event.kind = static_cast<std::uint16_t>(trace::EventKind::kCollective);
  event.startTicks = begin;
  event.durationTicks = end - begin;
  event.step = step;
  event.bucket = bucket;
  event.detail = trace::packOperation(trace::Operation::kAllreduce);
  event.value = trace::packCollective(sequence, bytes);
  writer_->addEvent(10 * rank + 1, event);
  return *this;
}

ExportedRun& ExportedRun::metric(int rank, const std::string& name, std::uint32_t step,
                                 std::uint64_t at, double value) {
  writer_->addMetric({0, rank, name, step, at, value});
  return *this;
}

void ExportedRun::commit() {
  EXPECT_TRUE(writer_->commit().ok());
}

void ExportedRun::finish() {
  info.state = trace::RunState::kFinished;
  writer_->setInfo(info);
  EXPECT_TRUE(writer_->finish().ok());
}

}  // namespace lockstep::exports
