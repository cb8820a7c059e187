#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "engine/analysis/Divergence.h"
#include "engine/run/Grown.h"
#include "engine/trace/RunFile.h"
#include "ui/model/Counters.h"
#include "ui/views/divergence/StepSeries.h"

namespace lockstep::ui {

/// Makes the strips of a run that grows, for the price of what is new, but for distances that a
/// hook counts. One thread at a time.
class GrowingStrips {
 public:
  /// Returns those that have values. All goes on with what the last call had: of `divergence` what
  /// was closed, which is now `closed`. `hookDistances`: squared, by rank.
  std::vector<StripData> refresh(const run::Grown<trace::MetricRow>& losses,
                                 const analysis::Divergence& divergence,
                                 const analysis::DivergenceParts& closed,
                                 const std::map<int, std::vector<MetricPoint>>& hookDistances);

 private:
  using Curves = std::map<int, StepSeries>;  // by rank
  struct Samples {
    Curves gradients;
    Curves distances;

    /// Adds what stands between the two.
    void add(const analysis::Divergence& divergence, const analysis::DivergenceParts& from,
             const analysis::DivergenceParts& to);
  };

  void addLosses(const run::Grown<trace::MetricRow>& losses);

  std::size_t lossRows_ = 0;  // that were looked at
  Curves losses_;
  analysis::DivergenceParts closed_;
  Samples samples_;  // of these
};

}  // namespace lockstep::ui
