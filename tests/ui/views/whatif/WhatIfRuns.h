#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "engine/experiment/Parse.h"
#include "engine/trace/Event.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/views/buckets/BucketRun.h"
#include "ui/views/whatif/WhatIfRun.h"

namespace lockstep::ui::test {

inline constexpr double kMiB = 1 << 20;

/// BucketRun, whose step 1 is repeated as steps 2 to `steps`, computing until its last gradients,
/// of which those from step 2 on are replayed. Its second bucket ends 40 later, at 640, and its
/// third goes from 650 and 655 to 740.
inline BucketRun whatIfSteps(std::uint32_t steps,
                             const experiment::Experiment& with = experiment::Experiment()) {
  BucketRun run;
  experiment::Experiment experiment = with;
  experiment.name = "by hand";
  experiment.train.steps = steps + 1;
  experiment.ddp.firstBucketMb = 100.0 / kMiB;
  experiment.ddp.bucketCapMb = 150.0 / kMiB;
  run.update.info->experimentToml = experiment::toToml(experiment);
  run.update.ranks.emplace();
  for (int rank = 0; rank < 2; ++rank) {
    run.update.ranks->emplace_back().rank = rank;
  }
  run.add(0, trace::EventKind::kBackward, 1000, 1410, 1);
  run.add(2, trace::EventKind::kBackward, 1010, 1460, 1);
  for (trace::SpanRow& span : run.update.spans) {
    if (span.step == 1 && span.kind == trace::EventKind::kCollective && span.bucket > 0) {
      (span.bucket == 1 ? span.durationTicks : span.startTicks) += 40;
    }
    if (span.step == 1 && span.kind == trace::EventKind::kCollective && span.bucket == 1) {
      span.value = trace::packCollective(2, 200);  // all of the bucket
    }
  }
  const auto once = run.update.spans;
  for (std::uint32_t step = 2; step <= steps; ++step) {
    for (trace::SpanRow span : once) {
      if (span.step == 1) {
        span.id = run.nextId++;
        span.step = step;
        span.startTicks += 1000 * (step - 1);
        run.update.spans.push_back(span);
      }
    }
  }
  return run;
}

/// What such a run tells to forecasts.
inline std::shared_ptr<const WhatIfRun> whatIfRunOf(const trace::RunUpdate& update) {
  auto run = std::make_shared<AnalysedRun>();
  run->data.take(update);
  run->analysis = analysis::analyse(run->data);
  return whatIfRun(std::move(run), *update.info, *update.ranks, "by hand.lockstep");
}

}  // namespace lockstep::ui::test
