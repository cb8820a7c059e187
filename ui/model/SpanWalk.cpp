#include "ui/model/SpanWalk.h"

#include <QElapsedTimer>
#include <QPointer>
#include <QTimer>
#include <deque>
#include <mutex>
#include <utility>

#include "ui/model/BackgroundJob.h"

namespace lockstep::ui {
namespace {

constexpr qint64 kWalkSliceMs = 3;
constexpr std::size_t kWaitingAtMost = 4;  // chunks: more would only take memory

}  // namespace

// Note [A walk on two threads]
//
// The model belongs to the UI thread, so only that can read spans; what is done with them takes
// long, so only the pool may do it. A walk hands copies from one to the other:
//
//    UI thread                      State (mutex)            a thread of the pool
//    feed: source_ fills a chunk ──▶ waiting (at most 4) ──▶ work: job->take(chunk)
//          for at most 3 ms            │                          │ tell
//    taken: feed goes on  ◀────────────┴──────────────────────────┘
//
// `working` is true from the moment a thread is asked for until it found nothing to do, so at most
// one is at a job. It is set and cleared under the mutex: a chunk that feed puts down is either
// seen by the thread that is about to leave, or finds `working` false and starts another.
//
// cancel() cannot stop a job in the middle of take(). It marks the job dropped and remembers its
// state as `leaving_`; a new walk may fill its queue meanwhile, but gets a thread only when the old
// job has returned. So there is never more than one `leaving_`: a walk that had no thread yet can
// be dropped at once.
//
// SpanWalk::State is what both threads know of one walk.
struct SpanWalk::State {
  std::shared_ptr<Job> job;

  std::mutex mutex;
  std::deque<SpanChunk> waiting;
  bool ended = false;     // no more chunks will come, or are wanted
  bool working = false;   // a thread of the pool is at it
  bool finished = false;  // the job is

  // Works until nothing waits. [any-thread]
  void work(const QPointer<SpanWalk>& walk, const std::shared_ptr<State>& self);
  static void tell(const QPointer<SpanWalk>& walk, const std::shared_ptr<State>& self);
};

void SpanWalk::State::tell(const QPointer<SpanWalk>& walk, const std::shared_ptr<State>& self) {
  onUiThread(walk, [walk, self] { walk->taken(self); });
}

void SpanWalk::State::work(const QPointer<SpanWalk>& walk, const std::shared_ptr<State>& self) {
  for (;;) {
    SpanChunk chunk;
    bool over = false;
    {
      const std::lock_guard lock(mutex);
      // Under the lock, so that cancel() sees either `working` or that this thread is gone.
      if (job->dropped()) {
        working = false;
        tell(walk, self);
        return;
      }
      if (waiting.empty() && !ended) {
        working = false;
        return;
      }
      over = waiting.empty();
      if (!over) {
        chunk = std::move(waiting.front());
        waiting.pop_front();
      }
    }
    // Without the lock: a take may last long, and feed shall find the queue.
    if (!over && job->take(chunk)) {
      tell(walk, self);
      continue;
    }
    // Nothing waits and nothing will come, or take() wanted no more.
    job->finish();
    const std::lock_guard lock(mutex);
    waiting.clear();
    ended = true;
    finished = true;
    working = false;
    tell(walk, self);
    return;
  }
}

SpanWalk::SpanWalk(QObject* parent) : QObject(parent), timer_(new QTimer(this)) {
  timer_->setSingleShot(true);
  connect(timer_, &QTimer::timeout, this, &SpanWalk::feed);
}

SpanWalk::~SpanWalk() {
  cancel();
}

void SpanWalk::cancel() {
  timer_->stop();
  source_ = nullptr;
  if (state_) {
    state_->job->dropped_ = true;
    const std::lock_guard lock(state_->mutex);
    if (state_->working) {
      leaving_ = state_;
    }
  }
  state_.reset();
}

void SpanWalk::start(Source source, std::shared_ptr<Job> job) {
  cancel();
  source_ = std::move(source);
  handedOver_ = 0;
  state_ = std::make_shared<State>();
  state_->job = std::move(job);
  timer_->start(0);
}

void SpanWalk::feed() {
  if (!state_) {
    return;
  }
  QElapsedTimer clock;
  clock.start();
  const std::uint64_t before = handedOver_;
  bool more = true;
  while (more && clock.elapsed() < kWalkSliceMs) {
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->ended || state_->waiting.size() >= kWaitingAtMost) {
        more = false;  // until one is taken
        break;
      }
    }
    // Not under the lock: reading the model takes most of the 3 ms.
    SpanChunk chunk;
    chunk.first = static_cast<std::uint32_t>(handedOver_);
    const bool any = source_(chunk);
    handedOver_ += chunk.spans.size();
    {
      const std::lock_guard lock(state_->mutex);
      if (!any) {
        state_->ended = true;
      } else if (!state_->ended) {  // the job may have had enough meanwhile
        state_->waiting.push_back(std::move(chunk));
      }
      more = !state_->ended;
    }
    letWork();
  }
  if (more) {
    timer_->start(0);
  }
  if (handedOver_ != before) {
    emit progressed();
  }
}

// Gives what waits to a thread, unless one is at it or the job before it has not returned.
void SpanWalk::letWork() {
  const std::lock_guard lock(state_->mutex);
  if (leaving_ || state_->working || state_->finished ||
      (state_->waiting.empty() && !state_->ended)) {
    return;
  }
  state_->working = true;
  startInBackground(
      [state = state_, walk = QPointer<SpanWalk>(this)] { state->work(walk, state); });
}

// A report of a state that is neither `leaving_` nor `state_` is of a walk that was dropped before
// it had a thread.
void SpanWalk::taken(const std::shared_ptr<State>& state) {
  if (state == leaving_) {
    bool returned = false;
    {
      const std::lock_guard lock(state->mutex);
      returned = !state->working;
    }
    if (returned) {
      leaving_.reset();
      if (state_) {
        letWork();
      }
    }
    return;
  }
  if (state != state_) {
    return;
  }
  bool over = false;
  {
    const std::lock_guard lock(state->mutex);
    over = state->finished;
  }
  if (over) {
    state_.reset();
    source_ = nullptr;
    emit finished();
  } else if (!timer_->isActive()) {
    timer_->start(0);
  }
}

}  // namespace lockstep::ui
