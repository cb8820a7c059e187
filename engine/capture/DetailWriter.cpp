#include "engine/capture/DetailWriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/Check.h"
#include "engine/base/Clock.h"
#include "engine/base/NumberText.h"
#include "engine/capture/HeldSteps.h"
#include "engine/capture/KeptMetrics.h"
#include "engine/capture/KeptSamples.h"
#include "engine/capture/LeftOut.h"
#include "engine/capture/PhasesOnly.h"
#include "engine/capture/RankSums.h"
#include "engine/capture/RoomAhead.h"
#include "engine/capture/UnlikeSteps.h"
#include "engine/trace/Event.h"

namespace lockstep::capture {
namespace {

using trace::KeptDetail;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr double kSumsFromPart = 0.9;       // of the limit
constexpr std::size_t kDecisionsKept = 64;  // for what comes late

// Note [What is kept]
//
//   recorder ──▶ HeldSteps ──▶ RankSums ──▶ sums of the step ─────────────┐
//                  │  all ranks have ended   UnlikeSteps ──▶ how much ──▶ │ run file
//                  └───────────────── events, metrics ───────────────────▶┘
//
// A step is decided on as a whole: where one rank is unlike the rest, all is kept of it and the
// phases and collectives of its peers, so that who waited for whom can be seen. Of each collective
// either all ranks' records are kept or none: a record that one rank alone lacks would look as if
// it had not come. A step that some rank began and never ended is unlike any other.
//
// Steps that are kept whole have no sums in the file, since they can be measured: with them stand
// those that are unlike, to tell them from the samples that the first ones and every hundredth are.
//
// Of numbers that belong to a step (losses, what c10d's Logger has), every LeftOut::kLossEvery-th
// step with sums alone keeps the loss of rank 0, by which a run is judged, and so does the last
// one. Counters, which have their own clock, are thinned to one in two seconds, and of samples of
// parameters and gradients Note [Samples that are kept] says which.
//
// A step with sums alone is written packed (Note [Packed steps] in trace/PackedSteps.h), before the
// next one of which more is kept.
//
// The limit of the file: with nine tenths of it written, steps that begin are summed up and nothing
// more, samples neither; with all of it, only facts are written, and what the run came to. No rank
// notices. Steps that have begun are finished, so what ranks have still to tell of these counts as
// written (RoomAhead), and it is looked at as rows come: a fast run writes many steps a commit.
class DetailWriter final : public trace::RunFileWriter {
 public:
  DetailWriter(std::unique_ptr<trace::RunFileWriter> file, const DetailOptions& options)
      : file_(std::move(file)), options_(options), leftOut_(options) {}

  void setInfo(const trace::RunInfo& info) override {
    info_ = info;
    ahead_.setRanks(static_cast<std::size_t>(std::max(info.worldSize, 0)));
    if (!info.driftingHook.empty()) {
      samples_.allowDifferent();
    }
    if (hasEnded(info.state)) {
      decideAll();
      // The last rows stand in the same commit as the end.
      file_->writeSummedSteps();
    }
    writeInfo();
  }
  void setRank(const trace::RankInfo& rank) override {
    hostOfRank_[rank.rank] = rank.host;
    if (rank.environment.contains(trace::kIgnoredParameters)) {
      samples_.allowDifferent();
    }
    file_->setRank(rank);
  }
  void addTrack(const trace::TrackInfo& track) override {
    rankOfTrack_[track.id] = track.rank;
    file_->addTrack(track);
  }
  void setParameters(const trace::ParametersMessage& parameters) override {
    file_->setParameters(parameters);
  }
  void addLayout(const trace::BucketsMessage& layout) override { file_->addLayout(layout); }
  void addHost(const trace::HostInfo& host) override { file_->addHost(host); }
  void addClock(const base::ClockCalibration& clock) override {
    nsPerTick_[trace::kRecordingHost] = clock.nsPerTick;
    file_->addClock(clock);
  }
  void addClock(int host, const base::ClockCalibration& clock,
                const trace::ClockOffset& offset) override {
    nsPerTick_[host] = clock.nsPerTick;
    file_->addClock(host, clock, offset);
  }

  void addEvent(std::int32_t track, const trace::Event& event) override {
    if (room_ == Room::kNone) {
      steps_.noteHighest(event.step);
      return;
    }
    const int rank = rankOfTrack_[track];
    if (isSummed()) {
      sumsOf(rank).add(event, nsPerTickOf(rank));
    }
    if (!isHeld(event.step) || !isOfStep(event)) {
      steps_.noteHighest(event.step);
      file_->addEvent(track, event);
      noteWritten(rank, event);
    } else if (steps_.isOver(event.step)) {
      addLate(rank, track, event);
    } else {
      steps_.add(rank, track, event, nowNs_);
    }
  }

  void addMetric(const trace::MetricRow& metric) override {
    if (room_ == Room::kNone && !isOfEnd(metric)) {
      return;
    }
    if (isOfStep(metric) && isHeld(metric.step)) {
      if (steps_.isOver(metric.step)) {
        writeMetric(metric, keptOf(metric.step, metric.rank));
      } else {
        steps_.add(metric);
      }
    } else if (!isCounter(metric) || !thinsCounters() || isDue(metric)) {
      file_->addMetric(metric);
      ahead_.addRows(1);
    }
  }

  void addLog(const trace::LogRow& row) override {
    if (room_ != Room::kNone) {
      file_->addLog(row);
    }
  }
  void addProblem(const trace::ProblemRow& problem) override {
    constexpr std::size_t kMostWithoutRoom = 100;
    if (room_ != Room::kNone || ++problemsWithoutRoom_ <= kMostWithoutRoom) {
      file_->addProblem(problem);
    }
  }
  void addFingerprint(int rank, const trace::FingerprintMessage& fingerprint) override {
    if (thinsSamples(fingerprint.step)) {
      steps_.add(rank, fingerprint);
    } else if (room_ == Room::kAll) {
      file_->addFingerprint(rank, fingerprint);
      ahead_.addRows(fingerprint.hashes.size());
    }
  }
  void addGradients(int rank, const trace::GradientsMessage& gradients) override {
    if (thinsSamples(gradients.step)) {
      steps_.add(rank, gradients);
    } else if (room_ == Room::kAll) {
      file_->addGradients(rank, gradients);
    }
  }
  void addStepSums(const trace::StepSumsRow& sums) override { file_->addStepSums(sums); }
  void addSummedStep(std::int32_t track, const trace::Event& step,
                     const trace::StepSumsRow& sums) override {
    file_->addSummedStep(track, step, sums);
  }
  void writeSummedSteps() override { file_->writeSummedSteps(); }
  [[nodiscard]] std::uint64_t bytes() const override { return file_->bytes(); }

  base::Status commit() override {
    nowNs_ = base::monotonicNs();
    while (steps_.ready(nowNs_)) {
      decide();
      measureRoom();
    }
    ahead_.evenOut();
    measureRoom();
    if (nowNs_ - infoNs_ >= kSecondNs && leftOut_.text() != writtenText_) {
      writeInfo();
    }
    return file_->commit();
  }

  base::Status finish() override {
    decideAll();
    if (leftOut_.text() != writtenText_) {
      writeInfo();
    }
    return file_->finish();
  }

 private:
  enum class Room { kAll, kSums, kNone };
  /// How much is kept of a step: of some ranks all, of the others the same.
  struct Decision {
    std::set<int> unlike;
    KeptDetail others = KeptDetail::kWhole;

    [[nodiscard]] KeptDetail of(int rank) const {
      return unlike.contains(rank) ? KeptDetail::kUnlike : others;
    }
  };

  [[nodiscard]] bool isSummed() const {
    return options_.detail != Detail::kFull || room_ != Room::kAll;
  }
  [[nodiscard]] bool isHeld(std::uint32_t step) const { return isSummed() && step >= heldFrom_; }
  [[nodiscard]] bool thinsCounters() const {
    return options_.detail == Detail::kOutliers || room_ != Room::kAll;
  }

  [[nodiscard]] bool thinsSamples(std::uint32_t step) const {
    return options_.detail == Detail::kOutliers && room_ == Room::kAll && !steps_.isOver(step);
  }

  /// Whether two seconds have gone by since the last of this rank and name.
  bool isDue(const trace::MetricRow& metric) {
    constexpr std::int64_t kEveryNs = 2 * kSecondNs;
    std::int64_t& last = counterNs_[{metric.rank, metric.name}];
    if (last != 0 && nowNs_ - last < kEveryNs) {
      return false;
    }
    last = nowNs_;
    return true;
  }

  double nsPerTickOf(int rank) const {
    const auto host = hostOfRank_.find(rank);
    const auto clock =
        nsPerTick_.find(host == hostOfRank_.end() ? trace::kRecordingHost : host->second);
    return clock == nsPerTick_.end() ? 1 : clock->second;
  }

  RankSums& sumsOf(int rank) { return sums_.try_emplace(rank, rank).first->second; }

  [[nodiscard]] KeptDetail keptOf(std::uint32_t step, int rank) const {
    const auto decision = decisions_.find(step);
    return decision == decisions_.end() ? KeptDetail::kSums : decision->second.of(rank);
  }

  void addLate(int rank, std::int32_t track, const trace::Event& event) {
    const KeptDetail kept = keptOf(event.step, rank);
    if (kept >= KeptDetail::kWhole || (kept != KeptDetail::kSums && isPhase(event, 0))) {
      file_->addEvent(track, event);
    }
  }

  void writeMetric(const trace::MetricRow& metric, KeptDetail kept) {
    const bool isLoss = metric.name == "loss";
    const bool lossIsDue = kept != KeptDetail::kSums || metric.step % LeftOut::kLossEvery == 0;
    const bool writes = kept >= KeptDetail::kWhole || (isLoss && kept == KeptDetail::kPhases) ||
                        (isLoss && metric.rank == 0 && lossIsDue) ||
                        (isLoss && !std::isfinite(metric.value));
    if (writes) {
      file_->addMetric(metric);
    }
    if (isLoss && metric.rank == 0) {
      lastLoss_ = writes ? std::nullopt : std::optional(metric);
    }
  }

  void decideAll() {
    while (steps_.first()) {
      decide();
    }
    if (lastLoss_) {  // of a run that ends, or has no room for more
      file_->addMetric(*std::exchange(lastLoss_, std::nullopt));
    }
  }

  /// Sums up the first step that is held, decides how much of it is kept, and writes that.
  void decide() {
    const std::uint32_t step = *steps_.first();
    std::map<int, RankSums::Summed> summed;
    double longestNs = 0;
    for (auto& [rank, sums] : sums_) {
      if (const auto made = sums.take(step)) {
        longestNs =
            std::max(longestNs, static_cast<double>(made->durationTicks) * nsPerTickOf(rank));
        summed.emplace(rank, *made);
      }
    }
    const HeldStep held = steps_.take(static_cast<std::int64_t>(longestNs));
    const Decision decision = decisionOn(held, summed);
    for (auto& [rank, made] : summed) {
      made.row.kept = decision.of(rank);
    }
    write(held, decision, summed);
    for (const auto& [rank, made] : summed) {
      if (made.row.kept != KeptDetail::kWhole && made.row.kept != KeptDetail::kSums) {
        file_->addStepSums(made.row);
      }
    }
    if (!summed.empty()) {
      leftOut_.count(step, {decision.unlike.begin(), decision.unlike.end()},
                     decision.others == KeptDetail::kSums);
    }
    decisions_[step] = decision;
    if (decisions_.size() > kDecisionsKept) {
      decisions_.erase(decisions_.begin());
    }
  }

  Decision decisionOn(const HeldStep& held, const std::map<int, RankSums::Summed>& summed) {
    Decision decision;
    if (room_ != Room::kAll) {
      decision.others = KeptDetail::kSums;
      return decision;
    }
    if (options_.detail == Detail::kSteps) {
      decision.others = KeptDetail::kPhases;
      return decision;
    }
    std::vector<StepFigures> figures;
    for (const auto& [rank, made] : summed) {
      figures.push_back({rank, static_cast<double>(made.durationTicks),
                         static_cast<double>(made.row.computing),
                         static_cast<double>(made.row.inFlight - made.row.overlap)});
    }
    decision.unlike = unlike_.judge(figures);
    const std::uint64_t number = decided_++;
    std::set<int> began;
    for (const HeldStep::HeldEvent& one : held.events) {
      began.insert(one.rank);
    }
    if (began.size() > summed.size()) {
      decision.unlike = began;
    } else if (number < LeftOut::kFirst) {
      decision.unlike.clear();  // they are what others are compared with
    } else if (number % LeftOut::kEvery != 0) {
      decision.others = decision.unlike.empty() ? KeptDetail::kSums : KeptDetail::kPeer;
    }
    return decision;
  }

  void write(const HeldStep& held, const Decision& decision,
             const std::map<int, RankSums::Summed>& summed) {
    if (decision.others != KeptDetail::kSums || !decision.unlike.empty()) {
      file_->writeSummedSteps();
    }
    std::map<int, std::uint64_t> lastGradient;
    if (decision.others == KeptDetail::kPhases || decision.others == KeptDetail::kPeer) {
      for (const auto& [rank, track, event] : held.events) {
        if (static_cast<trace::EventKind>(event.kind) == trace::EventKind::kGradientReady) {
          lastGradient[rank] = std::max(lastGradient[rank], event.startTicks);
        }
      }
    }
    for (const auto& [rank, track, event] : held.events) {
      const KeptDetail kept = decision.of(rank);
      const bool isStep = static_cast<trace::EventKind>(event.kind) == trace::EventKind::kStep;
      const auto sums = summed.find(rank);
      if (isStep && kept == KeptDetail::kSums && sums != summed.end()) {
        file_->addSummedStep(track, event, sums->second.row);
      } else if (isStep || kept >= KeptDetail::kWhole ||
                 (kept != KeptDetail::kSums && isPhase(event, lastGradient[rank]))) {
        file_->addEvent(track, event);
      }
    }
    for (const trace::MetricRow& metric : held.metrics) {
      writeMetric(metric, decision.of(metric.rank));
    }
    if (samples_.keeps(held, !decision.unlike.empty()) && room_ == Room::kAll) {
      for (const auto& [rank, fingerprint] : held.fingerprints) {
        file_->addFingerprint(rank, fingerprint);
      }
      for (const auto& [rank, gradients] : held.gradients) {
        file_->addGradients(rank, gradients);
      }
    }
  }

  /// An event of which the step is not held was written.
  void noteWritten(int rank, const trace::Event& event) {
    if (isOfStep(event)) {
      ahead_.add(rank, event.step);
    } else {
      ahead_.addRows(1);
    }
    if (room_ == Room::kAll && ahead_.bytes() >= sumsFromBytes()) {
      measureRoom();
    }
  }

  [[nodiscard]] double sumsFromBytes() const {
    return options_.limitBytes == 0 ? std::numeric_limits<double>::infinity()
                                    : kSumsFromPart * static_cast<double>(options_.limitBytes);
  }

  void measureRoom() {
    if (options_.limitBytes == 0) {
      return;
    }
    const std::uint64_t written = file_->bytes();
    const auto bytes = static_cast<double>(written);
    const auto limit = static_cast<double>(options_.limitBytes);
    ahead_.measured(written);
    if (room_ == Room::kAll && ahead_.bytes() >= sumsFromBytes()) {
      // Steps that some rank may have begun are finished as they were begun.
      heldFrom_ = options_.detail == Detail::kFull ? steps_.highest() + 2 : heldFrom_;
      const std::uint32_t from =
          options_.detail == Detail::kFull ? heldFrom_ : steps_.first().value_or(steps_.highest());
      room_ = Room::kSums;
      leftOut_.sumsFrom(from);
      sayOf(from, fmt::format("the run file has come near its limit of {} (capture.limit_mb): from "
                              "step {} on only sums of steps are written",
                              base::bytesText(limit), from));
    } else if (room_ == Room::kSums && bytes >= limit) {
      decideAll();
      const std::uint32_t from = steps_.highest() + 1;
      room_ = Room::kNone;
      leftOut_.nothingFrom(from);
      sayOf(from,
            fmt::format("the run file has come to its limit of {} (capture.limit_mb): nothing "
                        "is written of steps from {} on; training is not affected",
                        base::bytesText(limit), from));
    }
  }

  void sayOf(std::uint32_t step, const std::string& text) {
    file_->addProblem({0, "warning", -1, step, text});
    file_->addLog({0, -1, base::ticks(), text});
  }

  void writeInfo() {
    if (!info_) {
      return;
    }
    trace::RunInfo info = *info_;
    writtenText_ = leftOut_.text();
    if (options_.detail != Detail::kFull) {
      info.environment[trace::kDetail] = options_.detail == Detail::kSteps ? "steps" : "outliers";
    }
    if (!writtenText_.empty()) {
      info.environment[trace::kLeftOut] = writtenText_;
    }
    file_->setInfo(info);
    infoNs_ = nowNs_;
  }

  const std::unique_ptr<trace::RunFileWriter> file_;
  const DetailOptions options_;
  LeftOut leftOut_;
  HeldSteps steps_;
  RoomAhead ahead_;
  UnlikeSteps unlike_;
  KeptSamples samples_;
  std::optional<trace::MetricRow> lastLoss_;  // of rank 0, where it was left out
  std::map<int, RankSums> sums_;
  std::map<std::uint32_t, Decision> decisions_;  // the latest
  std::uint64_t decided_ = 0;
  Room room_ = Room::kAll;
  std::uint32_t heldFrom_ = 0;
  std::size_t problemsWithoutRoom_ = 0;

  std::optional<trace::RunInfo> info_;
  std::string writtenText_;
  std::int64_t infoNs_ = 0;
  std::int64_t nowNs_ = base::monotonicNs();  // of the last commit
  std::map<std::int32_t, int> rankOfTrack_;
  std::map<int, int> hostOfRank_;
  std::map<int, double> nsPerTick_;                                // by host
  std::map<std::pair<int, std::string>, std::int64_t> counterNs_;  // when each was written last
};

}  // namespace

Detail detailNamed(std::string_view name) {
  LOCKSTEP_CHECK(name == "full" || name == "steps" || name == "outliers", "no detail is called {}",
                 name);
  return name == "full" ? Detail::kFull : name == "steps" ? Detail::kSteps : Detail::kOutliers;
}

std::unique_ptr<trace::RunFileWriter> writeDetail(std::unique_ptr<trace::RunFileWriter> file,
                                                  const DetailOptions& options) {
  if (options.detail == Detail::kFull && options.limitBytes == 0) {
    return file;
  }
  return std::make_unique<DetailWriter>(std::move(file), options);
}

}  // namespace lockstep::capture
