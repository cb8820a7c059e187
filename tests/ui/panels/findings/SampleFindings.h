#pragma once

#include <memory>

#include "engine/diagnosis/Diagnose.h"

namespace lockstep::ui::test {

/// A late rank with its place, and buckets with a setting that mends them.
inline std::shared_ptr<const diagnosis::Diagnosis> twoFindings() {
  auto found = std::make_shared<diagnosis::Diagnosis>();
  found->stepMs = 28.1;
  found->measuredSteps = 40;
  diagnosis::Finding& late = found->findings.emplace_back();
  late.rule = "late_rank";
  late.weight = diagnosis::Weight::kCost;
  late.title = "rank 2 is late";
  late.sentence = "Rank 2 comes 21.00 ms a step later to its collectives than the others.";
  late.remedy = "Look at what rank 2 does there and the others do not.";
  late.savingMs = cost::MeanInterval{20.4, 19.8, 20.9};
  late.place.rank = 2;
  late.place.step = 20;
  late.place.bucket = 3;
  late.place.parameter = 7;
  late.place.parameterName = "layers.12.weight";
  late.place.phase = "backward";
  diagnosis::Finding& buckets = found->findings.emplace_back();
  buckets.rule = "buckets";
  buckets.weight = diagnosis::Weight::kCost;
  buckets.title = "buckets are too small";
  buckets.sentence = "With a cap of 25 MiB the replayed steps have 1 bucket in place of 8.";
  buckets.remedy = "Set ddp.bucket_cap_mb = 25.";
  buckets.savingMs = cost::MeanInterval{3, 2.5, 3.5};
  buckets.atMost = true;
  buckets.settings = {{"ddp.bucket_cap_mb", "25"}};
  return found;
}

}  // namespace lockstep::ui::test
