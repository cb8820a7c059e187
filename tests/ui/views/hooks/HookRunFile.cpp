#include "tests/ui/views/hooks/HookRunFile.h"

#include "engine/experiment/Experiment.h"
#include "engine/experiment/Parse.h"
#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"

namespace lockstep::ui::test {
namespace {

using trace::EventKind;

constexpr std::uint64_t kMs = 1'000;  // ticks: one is a microsecond
constexpr int kRanks = 2;

class Writer {
 public:
  Writer(trace::RunFileWriter& file, const HookRunOptions& options)
      : file_(file), options_(options) {}

  void step(std::uint32_t number) {
    const std::uint64_t begin = 10 * kMs + number * 40 * kMs;
    const std::uint64_t encode = static_cast<std::uint64_t>(options_.encodeMs) * kMs;
    const std::uint64_t ready = begin + 2 * kMs + encode + 2 * kMs;  // of rank 1, the last
    const std::uint64_t done = ready + static_cast<std::uint64_t>(options_.transferMs) * kMs;
    for (int rank = 0; rank < kRanks; ++rank) {
      add(rank, EventKind::kStep, begin, begin + 30 * kMs, number, trace::kNoBucket);
      add(rank, EventKind::kBackward, begin + kMs, begin + 25 * kMs, number, trace::kNoBucket);
      if (!options_.calls) {
        continue;
      }
      const std::uint64_t arrives = rank == 0 ? ready - 2 * kMs : ready;
      const bool own = options_.hook == "allreduce";
      if (!own) {
        add(rank, EventKind::kHookEncode, begin + 2 * kMs, arrives, number, 0, 40'000);
      }
      add(rank, EventKind::kHookCommunicate, arrives, done, number, 0, 4'000);
      add(rank, EventKind::kCollective, arrives, done, number, 0,
          trace::packCollective(number, 4'000));
      if (!own) {
        add(rank, EventKind::kHookDecode, done, done + kMs, number, 0, 40'000);
      }
    }
    for (int rank = 0; rank < kRanks && options_.calls && options_.hook != "allreduce"; ++rank) {
      file_.addMetric({0, rank, "hook.kept", number, begin, 100.0 + number});
      if (options_.changed && number >= 3) {
        file_.addMetric({0, rank, "hook.density", number, begin, 0.01});
      }
    }
  }

 private:
  void add(int rank, EventKind kind, std::uint64_t begin, std::uint64_t end, std::uint32_t step,
           std::uint16_t bucket, std::uint64_t value = 0) {
    trace::Event event;
    event.startTicks = begin;
    event.durationTicks = end - begin;
    event.kind = static_cast<std::uint64_t>(kind);
    event.step = step;
    event.bucket = bucket;
    event.value = value;
    if (kind == EventKind::kCollective) {
      event.detail = trace::packOperation(trace::Operation::kAllreduce);
    }
    file_.addEvent(rank + 1, event);
  }

  trace::RunFileWriter& file_;
  const HookRunOptions& options_;
};

trace::RunInfo infoOf(const HookRunOptions& options) {
  experiment::Experiment made;
  made.name = "with " + options.hook;
  made.hook.name = options.hook;
  if (options.hook == "topk") {
    made.hook.values["density"] = 0.1;
  }
  trace::RunInfo info;
  info.runId = "hooks";
  info.name = made.name;
  if (options.observed) {
    info.kind = trace::RunKind::kObserved;
  } else {
    info.experimentToml = experiment::toToml(made);
  }
  info.state = trace::RunState::kFinished;
  info.worldSize = kRanks;
  info.plannedSteps = options.steps;
  return info;
}

}  // namespace

base::Status writeHookRun(const std::filesystem::path& path, const HookRunOptions& options) {
  auto created = trace::RunFileWriter::create(path);
  if (!created.ok()) {
    return created.error();
  }
  trace::RunFileWriter& file = *created.value();
  file.setInfo(infoOf(options));
  file.addClock({0, 0, 1'000.0});
  for (int rank = 0; rank < kRanks; ++rank) {
    file.addTrack({rank + 1, rank, "hook"});
    trace::RankInfo info;
    info.rank = rank;
    info.state = "finished";
    info.wireBytes = options.steps * 5'000;
    info.wireMessages = options.steps;
    if (rank == 0 && options.changed && options.hook == "topk") {
      info.environment = {{"set.3.hook.density", "0.01"}};
    }
    file.setRank(info);
  }
  trace::BucketsMessage layout;
  layout.reason = "construction";
  layout.buckets.push_back({{0}, {0}, 40'000, 0, "float32"});
  file.addLayout(layout);
  Writer writer(file, options);
  for (std::uint32_t step = 0; step < options.steps; ++step) {
    writer.step(step);
  }
  return file.finish();
}

}  // namespace lockstep::ui::test
