#include "engine/trace/Recorder.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/base/Priority.h"
#include "engine/base/Thread.h"
#include "engine/trace/DivergenceWatch.h"
#include "engine/trace/Event.h"
#include "engine/trace/HostFacts.h"
#include "engine/trace/RankCounters.h"
#include "engine/trace/RankDrain.h"
#include "engine/trace/RankMessages.h"
#include "engine/trace/RecorderClock.h"
#include "engine/trace/RecorderMail.h"
#include "engine/trace/RecorderPace.h"

namespace lockstep::trace {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMsNs = 1'000'000;
constexpr std::int64_t kCommitEveryNs = 20 * kMsNs;
// 30 years: a rate next to nothing gives no time that the clock cannot hold.
constexpr double kSeldomNs = 1e18;
constexpr std::int64_t kRanksEveryNs = 1000 * kMsNs;  // of facts that always change, as bytes do

// Note [A recorder's pass]
//
// One thread does all of it, as often as RecorderPace says, so that no rank ever waits for the disk
// and SQLite has one writer:
//
//   rings of all ranks ──▶ spans and metrics      what ranks emitted
//   messages           ──▶ RankMessages           parameters, layouts, problems, summaries
//   DivergenceWatch    ──▶ problems, RunInfo      what follows from them
//   /proc, wire counts ──▶ metrics                Rates::countersHz times a second
//   mailbox_           ──▶ rows, RunInfo, ranks   what other threads handed in under mutex_
//                      ──▶ COMMIT                 every 20 ms, where there is something new
//
// The order matters where one thing refers to another: a track comes before its spans (RankDrain),
// and the mailbox comes last, so that a state that ends the run is committed with the last rows. A
// reader that sees the end has everything.
//
// Once a write has failed, as on a full disk, nothing more is written, but draining goes on: rings
// that fill up would make the ranks count losses that are the recorder's.
class RecorderThread final : public Recorder {
 public:
  RecorderThread(std::unique_ptr<RunFileWriter> writer, RunInfo info,
                 const std::vector<Segment*>& segments, Rates rates)
      : pace_(std::clamp<std::chrono::milliseconds>(rates.drainEvery, 1ms, 50ms)),
        countersEveryNs_(rates.countersHz > 0 ? std::optional(static_cast<std::int64_t>(
                                                    std::min(1e9 / rates.countersHz, kSeldomNs)))
                                              : std::nullopt),
        writer_(std::move(writer)),
        divergence_(segments.size()),
        info_(std::move(info)),
        liveState_(hasEnded(info_.state) ? RunState::kRunning : info_.state) {
    progress_.startup = name(StartupStage::kSpawn);
    mailbox_.hosts.push_back(
        {kRecordingHost, hostName(), "", std::string(name(base::clockSource()))});
    for (Segment* segment : segments) {
      const int rank = static_cast<int>(drains_.size());
      drains_.emplace_back(rank, *segment);
      RankInfo& rankInfo = ranks_.emplace_back();
      rankInfo.rank = rank;
      rankInfo.state = "starting";
      mailbox_.ranksChanged.insert(rank);
    }
    counters_.resize(drains_.size());
    messagesDropped_.resize(drains_.size());
    progress_.steps.resize(drains_.size());
    thread_ = std::thread([this] { run(); });
  }

  ~RecorderThread() override { (void)finish(); }

  void updateInfo(std::function<void(RunInfo&)> change) override {
    std::lock_guard lock(mutex_);
    change(info_);
    liveState_ = hasEnded(info_.state) ? liveState_ : info_.state;
    mailbox_.infoChanged = true;
  }

  void updateRank(int rank, std::function<void(RankInfo&)> change) override {
    std::lock_guard lock(mutex_);
    changeRank(rank, change);
  }

  void skipProcessCounters(int rank) override {
    std::lock_guard lock(mutex_);
    skipped_.insert(rank);
  }

  void addLog(int rank, std::string text) override {
    std::lock_guard lock(mutex_);
    mailbox_.logs.push_back(LogRow{0, rank, base::ticks(), std::move(text)});
  }

  void addProblem(ProblemRow problem) override {
    std::lock_guard lock(mutex_);
    mailbox_.problems.push_back(std::move(problem));
  }

  void addMetric(MetricRow metric) override {
    std::lock_guard lock(mutex_);
    mailbox_.metrics.push_back(std::move(metric));
  }

  void addHost(HostInfo host) override {
    std::lock_guard lock(mutex_);
    mailbox_.hosts.push_back(std::move(host));
  }

  void updateHostClock(int host, base::ClockCalibration clock, ClockOffset offset) override {
    std::lock_guard lock(mutex_);
    mailbox_.clocks.push_back({host, clock, offset});
  }

  [[nodiscard]] Progress progress() const override {
    std::lock_guard lock(mutex_);
    Progress progress = progress_;
    progress.plannedSteps = info_.plannedSteps;
    return progress;
  }

  [[nodiscard]] RunInfo info() const override {
    std::lock_guard lock(mutex_);
    return info_;
  }

  [[nodiscard]] base::Status status() const override {
    std::lock_guard lock(mutex_);
    return status_;
  }

  base::Status finish() override {
    std::lock_guard finishing(finishMutex_);
    if (thread_.joinable()) {
      {
        std::lock_guard lock(mutex_);
        stop_ = true;
      }
      wake_.notify_all();
      thread_.join();
    }
    return status();
  }

 private:
  void run() {
    base::nameThisThread("recorder");
    base::stepBehind();  // the rings hold seconds; a rank that waits for a processor loses them
    lastPassNs_ = lastCommitNs_ = lastCountersNs_ = clock_.begin();
    bool last = false;
    while (!last) {
      {
        std::unique_lock lock(mutex_);
        last = wake_.wait_for(lock, untilNextPass(), [this] { return stop_; });
      }
      pass(last);
    }
    if (!failed_) {
      keep(writer_->finish());
    } else {
      (void)writer_->finish();
    }
    updateProgress();
  }

  /// A calm rank's ring may wait for longer than its counters.
  RecorderPace::Duration untilNextPass() const {
    return countersEveryNs_ ? std::min(pace_.wait(), RecorderPace::Duration(*countersEveryNs_))
                            : pace_.wait();
  }

  void pass(bool last) {
    const std::int64_t nowNs = base::monotonicNs();
    std::uint64_t events = 0;
    double fill = 0;
    for (RankDrain& drain : drains_) {
      const std::uint64_t before = drain.events();
      fill = std::max(fill, drain.drain(writer(), nextTrack_, hostOf(drain.rank())));
      events += drain.events() - before;
      notRecorded_ += failed_ ? drain.events() - before : 0;
      // Only now: a living lane may still tell of its loss itself.
      if (last && !failed_) {
        drain.writeLastGaps(*writer_);
      }
    }
    pace_.passed(std::chrono::nanoseconds(nowNs - std::exchange(lastPassNs_, nowNs)), events, fill);
    takeMessages();
    judge(last);
    if (countersEveryNs_ && (nowNs - lastCountersNs_ >= *countersEveryNs_ || last)) {
      sampleCounters(nowNs);
    }
    if (nowNs - lastRanksNs_ >= kRanksEveryNs || last) {
      refreshRanks();
      lastRanksNs_ = nowNs;
    }
    writeClock(nowNs, last);
    emptyMailbox(last);
    if (!failed_ && (nowNs - lastCommitNs_ >= kCommitEveryNs || last)) {
      keep(writer_->commit());
      lastCommitNs_ = nowNs;
    }
    updateProgress();
  }

  /// After the first error nothing is written, and draining goes on.
  void keep(const base::Status& status) {
    if (!status.ok() && !failed_) {
      failed_ = true;
      std::lock_guard lock(mutex_);
      status_ = status;
    }
  }

  RunFileWriter* writer() { return failed_ ? nullptr : writer_.get(); }

  void takeMessages() {
    for (RankDrain& drain : drains_) {
      for (const std::string& text : drain.takeMessages()) {
        messages_.take(drain.rank(), text, writer());
      }
    }
  }

  void problem(ProblemRow row) {
    if (!failed_) {
      writer_->addProblem(std::move(row));
    }
  }

  /// Says of the run that it has diverged; with `last` also how it ends.
  void judge(bool last) {
    for (ProblemRow& row : divergence_.takeProblems()) {
      problem(std::move(row));
    }
    auto divergence = divergence_.first();
    std::lock_guard lock(mutex_);
    // It may change while a rank lags behind: what is reported later may have happened earlier.
    if (divergence != info_.divergence) {
      info_.divergence = std::move(divergence);
      mailbox_.infoChanged = true;
    }
    progress_.diverged = info_.divergence.has_value();
    if (last) {
      endAsDiverged(info_);
    }
  }

  void sampleCounters(std::int64_t nowNs) {
    const double seconds = static_cast<double>(nowNs - lastCountersNs_) / 1e9;
    lastCountersNs_ = nowNs;
    for (std::size_t rank = 0; rank < drains_.size(); ++rank) {
      counters_[rank].sample(drains_[rank], pidOf(rank), seconds, writer());
    }
  }

  /// 0: not known, or no number of this host's.
  std::int64_t pidOf(std::size_t rank) const {
    std::lock_guard lock(mutex_);
    const bool isHere =
        ranks_[rank].host == kRecordingHost && !skipped_.contains(static_cast<int>(rank));
    return isHere ? ranks_[rank].pid : 0;
  }

  int hostOf(int rank) const {
    std::lock_guard lock(mutex_);
    return ranks_[static_cast<std::size_t>(rank)].host;
  }

  void refreshRanks() {
    for (std::size_t rank = 0; rank < drains_.size(); ++rank) {
      const RankDrain& drain = drains_[rank];
      const std::uint64_t lost = drain.messagesDropped();
      if (lost > messagesDropped_[rank]) {
        problem({0, "warning", drain.rank(), drain.currentStep(),
                 fmt::format("{} messages of rank {} did not fit into the message memory and are "
                             "lost",
                             lost - messagesDropped_[rank], rank)});
        messagesDropped_[rank] = lost;
      }
      const std::uint64_t dropped = drain.dropped();
      const std::uint64_t bytes = drain.wire().sentBytes.load(std::memory_order_relaxed);
      const std::uint64_t messages = drain.wire().sentMessages.load(std::memory_order_relaxed);
      std::lock_guard lock(mutex_);
      RankInfo& info = ranks_[rank];
      if (info.eventsDropped != dropped || info.wireBytes != bytes ||
          info.wireMessages != messages) {
        info.eventsDropped = dropped;
        info.wireBytes = bytes;
        info.wireMessages = messages;
        mailbox_.ranksChanged.insert(static_cast<int>(rank));
      }
    }
  }

  void writeClock(std::int64_t nowNs, bool last) {
    if (!failed_ && clock_.isDue(nowNs, last)) {
      writer_->addClock(clock_.calibrate(last));
    }
  }

  void emptyMailbox(bool last) {
    RecorderMail mail;
    RunInfo info;
    std::vector<RankInfo> changed;
    {
      std::lock_guard lock(mutex_);
      mailbox_.infoChanged |= last;
      std::swap(mail, mailbox_);
      mailbox_.infoChanged = false;
      if (mail.infoChanged) {
        info = info_;
        // An ended state waits for the last pass, with which its rows are complete.
        info.state = last ? info_.state : liveState_;
      }
      for (const int rank : mail.ranksChanged) {
        changed.push_back(ranks_[static_cast<std::size_t>(rank)]);
      }
    }
    if (failed_) {
      if (last) {
        writer_->setInfo(info);  // the one thing a failed writer still tries to write
      }
      return;
    }
    if (mail.infoChanged) {
      writer_->setInfo(info);
    }
    for (const RankInfo& rank : changed) {
      writer_->setRank(rank);
    }
    mail.writeRows(*writer_);
  }

  void updateProgress() {
    std::lock_guard lock(mutex_);
    progress_.events = progress_.dropped = 0;
    auto stage = StartupStage::kSpawn;
    bool stepping = false;
    for (std::size_t rank = 0; rank < drains_.size(); ++rank) {
      const RankDrain& drain = drains_[rank];
      progress_.steps[rank] = drain.stepsDone();
      progress_.events += drain.events();
      progress_.dropped += drain.dropped();
      stage = std::max(stage, drain.startupStage());
      stepping |= drain.stepsDone() > 0;
    }
    progress_.startup = stepping ? std::string() : std::string(name(stage));
    progress_.notRecorded = notRecorded_;
    if (!drains_.empty()) {
      progress_.loss = drains_[0].loss().value_or(progress_.loss);
    }
  }

  /// With `mutex_` held.
  void changeRank(int rank, const std::function<void(RankInfo&)>& change) {
    LOCKSTEP_CHECK(rank >= 0 && rank < static_cast<int>(ranks_.size()), "rank {} of {}", rank,
                   ranks_.size());
    change(ranks_[static_cast<std::size_t>(rank)]);
    mailbox_.ranksChanged.insert(rank);
  }

  // Of the recorder thread alone.
  RecorderPace pace_;
  const std::optional<std::int64_t> countersEveryNs_;  // none: no counters are taken
  std::unique_ptr<RunFileWriter> writer_;
  std::vector<RankDrain> drains_;
  std::vector<RankCounters> counters_;
  std::vector<std::uint64_t> messagesDropped_;  // already in a problem, by rank
  DivergenceWatch divergence_;
  RankMessages messages_{*this, divergence_};
  RecorderClock clock_;
  std::int64_t lastPassNs_ = 0;
  std::int64_t lastCommitNs_ = 0;
  std::int64_t lastCountersNs_ = 0;
  std::int64_t lastRanksNs_ = 0;
  std::int32_t nextTrack_ = 0;
  std::uint64_t notRecorded_ = 0;
  bool failed_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  bool stop_ = false;
  RunInfo info_;
  RunState liveState_;  // what the file says until `finish`
  std::vector<RankInfo> ranks_;
  std::set<int> skipped_;  // ranks whose processes are not looked at
  RecorderMail mailbox_;
  Progress progress_;
  base::Status status_;

  std::mutex finishMutex_;  // taken before mutex_
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Recorder> Recorder::start(std::unique_ptr<RunFileWriter> writer, RunInfo info,
                                          std::vector<Segment*> segments, Rates rates) {
  return std::make_unique<RecorderThread>(std::move(writer), std::move(info), segments, rates);
}

}  // namespace lockstep::trace
