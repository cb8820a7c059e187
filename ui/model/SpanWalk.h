#pragma once

#include <QObject>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ui/model/Span.h"

class QTimer;

namespace lockstep::ui {

/// Spans on their way to another thread.
struct SpanChunk {
  std::uint32_t first = 0;  ///< number of the first: the count of those before it
  std::vector<Span> spans;
  std::vector<double> stepStartNs;  ///< of the iteration of each, NaN if unknown; or empty
};

/// Hands spans to a job on a thread of the pool: the model belongs to the UI thread, which copies
/// a few thousand at a time, for at most 3 ms in a row, and goes on with its events. [ui-thread]
class SpanWalk : public QObject {
  Q_OBJECT

 public:
  static constexpr std::size_t kChunkSpans = 16'384;

  /// What is done with the spans, on a thread of the pool, one call after the other.
  class Job {
   public:
    virtual ~Job() = default;
    /// Returns false when no more are wanted; `finish` follows.
    virtual bool take(const SpanChunk& chunk) = 0;
    /// All spans have been taken, or no more were wanted. Called once.
    virtual void finish() = 0;
    /// Whether nobody waits for the job any more: what takes long should end when it is.
    /// [any-thread]
    [[nodiscard]] bool dropped() const { return dropped_.load(std::memory_order_relaxed); }

   private:
    friend class SpanWalk;
    std::atomic<bool> dropped_{false};
  };
  /// Fills a chunk with what comes next; false: there was nothing left. Called on the UI thread.
  using Source = std::function<bool(SpanChunk& chunk)>;

  explicit SpanWalk(QObject* parent = nullptr);
  ~SpanWalk() override;

  /// Leaves what was going on and begins anew: the new job when the old one has returned, so that
  /// no more than one takes time and memory.
  void start(Source source, std::shared_ptr<Job> job);
  /// The job is dropped (Job::dropped); no signal follows.
  void cancel();
  [[nodiscard]] bool busy() const { return state_ != nullptr; }
  /// Spans handed over so far.
  [[nodiscard]] std::uint64_t handedOver() const { return handedOver_; }

 signals:
  /// More has been handed over.
  void progressed();
  /// The job has finished; `busy` is false.
  void finished();

 private:
  struct State;

  void feed();
  void letWork();
  void taken(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  std::shared_ptr<State> leaving_;  // was cancelled, and a thread is still at it
  Source source_;
  std::uint64_t handedOver_ = 0;
  QTimer* timer_;
};

}  // namespace lockstep::ui
