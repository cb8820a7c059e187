// bench_refresh MINUTES: what a refresh of the live analysis, and of the views that show it, costs
// after so much of a run.
//
// A run of two ranks with steps of 50 ms, 15 buckets, a hook, losses, fingerprints and gradient
// checks is made and handed to a model as a reader would; every two seconds of the run it is
// analysed, as the studio does. When MINUTES of it are there, a line of JSON says so: {"minutes",
// "steps", "spans"}. For each line that it reads then the run goes on for two seconds, and another
// line says what that took: {"refresh_ms", "views_ms": {"overlap": ..., ...}}, processor times of
// the refresh and of what each view makes of it. So several of them take turns, and what else the
// machine does meets all of them alike. Where no more lines come, the last one is {"whole_ms"}: an
// analysis of all at once.

#include <fmt/format.h>
#include <time.h>

#include <QCoreApplication>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/analysis/GrowingAnalysis.h"
#include "engine/trace/Event.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"
#include "ui/views/divergence/DivergenceFacts.h"
#include "ui/views/hooks/HooksContent.h"
#include "ui/views/overlap/OverlapContent.h"

namespace {

using namespace lockstep;
using trace::EventKind;

constexpr int kRanks = 2;
constexpr std::uint32_t kBuckets = 15;
constexpr std::uint64_t kStepNs = 50'000'000;
constexpr std::uint32_t kStepsARefresh = 40;  // two seconds
constexpr std::uint32_t kStepsAMinute = 1200;
constexpr std::uint32_t kShownSteps = 8 * kStepsARefresh;  // the views are shown for so many before
constexpr std::uint32_t kParameters = 40;                  // compared every ten steps

double processorMs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e6;
}

/// The run as the studio holds it, step by step.
class MadeRun {
 public:
  MadeRun() {
    trace::RunUpdate update;
    update.clock = base::ClockCalibration{0, 0, 1.0};
    update.tracks.emplace();
    for (int rank = 0; rank < kRanks; ++rank) {
      update.tracks->push_back({2 * rank, rank, "step"});
      update.tracks->push_back({2 * rank + 1, rank, "gloo 0"});
    }
    model_.applyUpdate(update);
  }

  ui::RunModel& model() { return model_; }
  [[nodiscard]] std::uint32_t steps() const { return steps_; }

  void addSteps(std::uint32_t count) {
    trace::RunUpdate update;
    for (const std::uint32_t end = steps_ + count; steps_ < end; ++steps_) {
      for (int rank = 0; rank < kRanks; ++rank) {
        addStep(update.spans, rank);
        update.metrics.push_back({0, rank, "loss", steps_, (steps_ + 2) * kStepNs, 1.0});
        for (std::uint32_t parameter = 0; steps_ % 10 == 0 && parameter < kParameters;
             ++parameter) {
          update.fingerprints.push_back({0, rank, steps_, parameter, steps_ + parameter, 1.0});
        }
        for (std::uint16_t bucket = 0; steps_ % 10 == 0 && bucket < kBuckets; ++bucket) {
          trace::GradientsMessage::Bucket gradients;
          gradients.bucket = bucket;
          gradients.norm = 1.0 + static_cast<double>(noise(1'000)) / 1e3;
          update.gradients.push_back({0, rank, steps_, gradients});
        }
      }
    }
    std::stable_sort(update.spans.begin(), update.spans.end(), [](const auto& a, const auto& b) {
      return a.startTicks + a.durationTicks < b.startTicks + b.durationTicks;
    });
    for (trace::SpanRow& span : update.spans) {
      span.id = ++lastId_;
    }
    model_.applyUpdate(update);
  }

 private:
  void addStep(std::vector<trace::SpanRow>& spans, int rank) {
    const std::uint64_t begin = (steps_ + 1) * kStepNs + noise(100'000);
    const auto add = [&](EventKind kind, std::uint64_t from, std::uint64_t to,
                         std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0) {
      const bool call = kind == EventKind::kCollective;
      trace::SpanRow span;
      span.track = 2 * rank + (call ? 1 : 0);
      span.kind = kind;
      span.startTicks = begin + from;
      span.durationTicks = to - from;
      span.step = steps_;
      span.bucket = bucket;
      span.value = value;
      span.detail = call ? trace::packOperation(trace::Operation::kAllreduce) : std::uint16_t{0};
      spans.push_back(span);
    };
    add(EventKind::kForward, 0, 12'000'000);
    std::uint64_t linkFree = 0;
    std::uint64_t waited = 34'000'000;
    for (std::uint16_t bucket = 0; bucket < kBuckets; ++bucket) {
      const std::uint64_t ready = 13'000'000 + 1'300'000 * bucket + noise(300'000);
      const std::uint64_t from = std::max(ready + 150'000, linkFree);
      const std::uint64_t to = linkFree = from + 1'000'000 + noise(400'000);
      add(EventKind::kGradientReady, ready, ready, bucket, bucket);
      add(EventKind::kHookEncode, ready, ready + 50'000, bucket);
      add(EventKind::kBucketLaunched, ready + 60'000, ready + 60'000, bucket);
      add(EventKind::kCollective, from, to, bucket,
          trace::packCollective(steps_ * std::uint64_t{kBuckets} + bucket, 1 << 20));
      add(EventKind::kHookCommunicate, from - 50'000, to + 10'000, bucket);
      const std::uint64_t over = std::max(waited, to);
      add(EventKind::kWait, waited, over, bucket);
      waited = over + 30'000;
      add(EventKind::kHookDecode, over, waited, bucket);
    }
    add(EventKind::kBackward, 12'000'000, waited);
    add(EventKind::kFinalize, 34'000'000, waited);
    add(EventKind::kOptimizer, waited, waited + 2'000'000);
    add(EventKind::kStep, 0, 48'500'000 + noise(1'000'000));
  }

  std::uint64_t noise(std::uint64_t most) {
    random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
    return (random_ >> 33) % most;
  }

  ui::RunModel model_;
  std::uint32_t steps_ = 0;
  std::int64_t lastId_ = 0;
  std::uint64_t random_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  const auto minutes = static_cast<std::uint32_t>(argc < 2 ? 1 : std::max(1, std::atoi(argv[1])));
  MadeRun run;
  analysis::GrowingAnalysis growing;
  std::shared_ptr<const ui::AnalysedRun> latest;  // as the studio holds it: it goes when the next
  ui::GrowingDivergenceFacts divergence;          // is there
  ui::GrowingHookRun hooks;
  ui::GrowingOverlapContent overlap;
  const std::map<std::string, std::function<void()>> views = {
      {"divergence", [&] { divergence.refresh(ui::factsInput(run.model(), latest)); }},
      {"hooks",
       [&] { ui::makeHooksContent({hooks.refresh(ui::hookFactsOf(run.model()), *latest)}, {}); }},
      {"overlap", [&] { overlap.refresh(*latest); }}};
  const auto refresh = [&] {
    run.addSteps(kStepsARefresh);
    const double begin = processorMs();
    auto next = std::make_shared<ui::AnalysedRun>();
    next->data = run.model().snapshot();
    next->analysis = growing.refresh(next->data);
    latest = std::move(next);
    return processorMs() - begin;
  };
  while (run.steps() < minutes * kStepsAMinute) {
    refresh();
    for (const auto& [name, show] : views) {
      if (run.steps() + kShownSteps > minutes * kStepsAMinute) {
        show();
      }
    }
  }
  std::cout << fmt::format(R"({{"minutes": {}, "steps": {}, "spans": {}}})", minutes, run.steps(),
                           run.model().spanCount())
            << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const double refreshMs = refresh();
    std::string shown;
    for (const auto& [name, show] : views) {
      const double begin = processorMs();
      show();
      shown +=
          fmt::format(R"({}"{}": {:.3f})", shown.empty() ? "" : ", ", name, processorMs() - begin);
    }
    std::cout << fmt::format(R"({{"refresh_ms": {:.3f}, "views_ms": {{{}}}}})", refreshMs, shown)
              << std::endl;
  }
  const double begin = processorMs();
  const bool same = analysis::analyse(latest->data).exposedMs == latest->analysis.exposedMs;
  const double wholeMs = processorMs() - begin;
  if (!same) {
    std::cerr << "bench_refresh: the refreshes have led elsewhere\n";
    return 1;
  }
  std::cout << fmt::format(R"({{"whole_ms": {:.3f}}})", wholeMs) << std::endl;
  return 0;
}
