#pragma once

#include <memory>
#include <vector>

#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"
#include "engine/diagnosis/UnlikeRanks.h"
#include "engine/trace/RunFile.h"

namespace lockstep::ui {

/// A run's analysis and what it was made of; never changed once made, so any thread may read it.
struct AnalysedRun {
  analysis::RunData data;
  analysis::RunAnalysis analysis;
  std::vector<trace::RankInfo> ranks;  ///< number and host alone
  std::vector<trace::HostState> hosts;

  /// Which ranks are unlike the rest. Who asks first has it worked out, and whoever asks meanwhile
  /// waits: of a thousand ranks not for the UI thread.
  [[nodiscard]] const diagnosis::RankLikeness& likeness() const;

 private:
  struct Likeness;

  std::shared_ptr<Likeness> likeness_ = makeLikeness();

  static std::shared_ptr<Likeness> makeLikeness();
};

/// Of each rank what an AnalysedRun keeps.
std::vector<trace::RankInfo> placesOf(const std::vector<trace::RankInfo>& ranks);

}  // namespace lockstep::ui
