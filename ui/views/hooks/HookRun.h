#pragma once

#include <QPointF>
#include <QString>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/HookBuckets.h"
#include "engine/base/Result.h"
#include "engine/trace/RunFile.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"
#include "ui/panels/hooks/HookChange.h"

namespace lockstep::ui {

/// A number that a hook reports each step, or a live parameter since it was changed; by rank.
struct HookCurve {
  QString key;             ///< "kept", "density"
  bool parameter = false;  ///< a parameter, whose value holds until the next change
  /// (step, value), by step: at most about 2,000 a rank, the extremes of what lies between.
  std::map<int, std::vector<QPointF>> ranks;
};

/// Bytes that the backend of a rank counted in all of the run, start-up and evaluation included.
struct HookWire {
  int rank = 0;
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

/// What the view needs of a run beside its spans.
struct HookFacts {
  trace::RunInfo info;
  std::vector<trace::RankInfo> ranks;
  std::map<std::string, std::map<int, std::vector<MetricPoint>>> metrics;  ///< "hook.…" alone
  std::uint32_t steps = 0;                                                 ///< finished by rank 0
};

/// All that the hooks view shows of one run; never changed once made, so any thread may read it.
struct HookRun {
  QString run;     ///< name of the experiment, or of the file
  QString hook;    ///< "topk", "fp16 + powersgd"; "unknown" where the experiment cannot be read
  QString values;  ///< "density = 0.01, momentum = 0.9"; empty: all as the hook begins with
  bool observed = false;   ///< of a job that was only recorded
  bool simulated = false;  ///< nothing was measured (trace::RunKind::kSimulated)
  bool plugin = false;  ///< a hook was loaded; else the engine's own allreduce or noop, or no DDP
  int ranks = 0;
  std::uint32_t steps = 0;
  analysis::HookCalls calls;
  std::vector<trace::BucketsMessage> layouts;
  std::optional<double> stepMs;     ///< median over ranks and steps
  std::optional<double> exposedMs;  ///< of the rank with most; none: nothing was in flight
  std::vector<HookCurve> curves;
  std::vector<HookChange> changes;  ///< by step
  std::vector<HookWire> wire;       ///< by rank; empty until the ranks have reported it
};

/// Takes the facts of a run in memory. [ui-thread]
HookFacts hookFactsOf(const RunModel& model);

/// Puts together what the view shows. [any-thread]
std::shared_ptr<const HookRun> makeHookRun(const HookFacts& facts, const AnalysedRun& run);

/// The same of a run that grows, for the price of what is new. [any-thread]
class GrowingHookRun {
 public:
  /// `run` goes on with that of the last call.
  std::shared_ptr<const HookRun> refresh(const HookFacts& facts, const AnalysedRun& run);

 private:
  std::mutex mutex_;
  analysis::GrowingHookTimes times_;
  analysis::HookCalls closed_;
  std::map<int, std::size_t> steps_;  // how many of each rank are closed
  analysis::SortedValues ticks_;      // that those took which are measured
};

/// The same from a run file. Blocks while it is read. [any-thread]
/// Errors: those of RunFileReader.
base::Result<std::shared_ptr<const HookRun>> readHookRun(const std::filesystem::path& path);

}  // namespace lockstep::ui
