#include "engine/hooks/plugin/detail/PluginSession.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/base/CrashNote.h"
#include "engine/hooks/HookError.h"
#include "engine/hooks/plugin/HookRefusal.h"
#include "engine/hooks/plugin/detail/HostTables.h"
#include "engine/trace/Event.h"

namespace lockstep::hooks::detail {

namespace {

constexpr std::size_t kRemembered = 64;  // ended runs

std::string textOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

}  // namespace

// Note [The life of a run]
//
// A run is one call of the plugin for a bucket or around a step, with all that follows from it. All
// of it happens on the strand, except where the picture says otherwise:
//
//   begin()  [backward]     posts ─▶ enter(run): hook->run(...)
//                                      queue(): all_reduce, stage 1      into run->operations
//                                    startOperations(): it is its turn ─▶ start() ─▶ the group
//   whenDone [the group's]  posts ─▶ ended(): no work of it is open any more
//                                    resumeEnded() ─▶ enter(run): hook->resume(stage 1)
//                                      complete() ─▶ finish(): out of runs_ and line_
//                                    deliverAll() ─▶ the future has its value
//
// A failure, of the plugin, of an operation or of the host, ends all runs of the hook (breakDown):
// ranks that disagree on which bucket failed would wait for each other for ever.
//
// Ended runs are remembered for a while (graveyard_): a call for one of them is an error that names
// it. And as long as one is remembered, its address cannot be a new run's.
HostCall::HostCall(const PluginSession& session, const std::string& call) : note_(session, call) {
  if (session.watch() != nullptr) {
    doing_.emplace(*session.watch(), 0, fmt::format("hook '{}': {}", session.info().id, call));
  }
}

struct PluginSession::Group {
  HostGroup tables;
};

PluginSession::PluginSession(SessionOptions options)
    : options_(std::move(options)),
      info_(*options_.library->find(options_.id)),
      host_(hostTable(this)) {
  wrap(options_.groups->world());
}

PluginSession::~PluginSession() = default;

const lockstep_group* PluginSession::world() const {
  return &groups_.front()->tables.table;
}

const lockstep_group* PluginSession::wrap(std::shared_ptr<process_group::ProcessGroup> group) {
  auto& entry = groups_.emplace_back(std::make_unique<Group>());
  fillGroup(entry->tables, std::move(group));
  return &entry->tables.table;
}

std::string PluginSession::noteOf(const std::string& doing) const {
  return options_.ranksShareProcess ? fmt::format("in hook '{}', rank {}: {}", options_.id,
                                                  options_.groups->world()->rank(), doing)
                                    : fmt::format("in hook '{}', {}", options_.id, doing);
}

void PluginSession::create() {
  const HostCall call(*this, "create");
  lockstep_hook* hook = nullptr;
  const lockstep_status status =
      options_.library->create(&host_, options_.id.c_str(), options_.values.data(),
                               static_cast<std::uint32_t>(options_.values.size()), &hook);
  const std::string reason = takeReason();
  if (status != LOCKSTEP_OK) {
    const std::string why = reason.empty() ? fmt::format("status {}", status) : reason;
    const std::string text = fmt::format("hook '{}' could not be created: {}", options_.id, why);
    if (status == LOCKSTEP_E_UNSUPPORTED) {
      throw HookRefusal(text, why);
    }
    throw HookError(text);
  }
  if (!plugin::isWhole(hook)) {
    throw HookError(fmt::format(
        "hook '{}' could not be created: its table lacks run, resume or destroy", options_.id));
  }
  hook_ = hook;
}

bool PluginSession::close() {
  const base::Future<bool> closed;
  options_.strand->post([self = shared_from_this(), closed] {
    const auto open = self->runs_;
    for (const RunPtr& run : open) {
      self->breakDown(run, "the run has ended", true);
    }
    self->closed_ = closed;
    self->destroyIfIdle();
  });
  // The strand may be inside a call that hangs, and operations may not have ended.
  if (closed.waitFor(std::chrono::seconds(1))) {
    return true;
  }
  // Operations may yet write into memory of the hook's and of this.
  static std::mutex mutex;
  static std::vector<std::shared_ptr<PluginSession>> leftBehind;
  const std::lock_guard lock(mutex);
  leftBehind.push_back(shared_from_this());
  return false;
}

void PluginSession::destroyIfIdle() {
  if (!closed_ || outstanding_ > 0) {
    return;
  }
  if (hook_ != nullptr) {
    const CallNote note(*this, "destroy");
    hook_->destroy(std::exchange(hook_, nullptr));
    memory_.releaseAll();
  }
  std::exchange(closed_, std::nullopt)->setValue(true);
}

base::Future<at::Tensor> PluginSession::begin(const RunPtr& run, Call call) {
  run->session = this;
  run->note = noteOf(run->place);
  // Here, on the thread of the backward: up to this point its stream has filled the bucket.
  run->begun = StreamPoint(run->device);
  options_.strand->post([self = shared_from_this(), run, call = std::move(call)] {
    // Not an error of this run: but nothing of the hook is right any more.
    if (self->broken_ != nullptr) {
      run->ended = true;
      run->future.setException(self->broken_);
      return;
    }
    self->runs_.push_back(run);
    self->line_.push_back(run);
    self->carryOut(run, [&] {
      {
        const auto entered = self->onStream(run->device);
        run->begun.orderCurrent();
      }
      self->enter(run, [&] { return call(self->hook_, run.get(), self->world()); });
    });
  });
  return run->future;
}

std::string PluginSession::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

std::string PluginSession::inside() const {
  std::lock_guard lock(mutex_);
  return inside_;
}

void PluginSession::setInside(const std::string& place) {
  std::lock_guard lock(mutex_);
  inside_ = place;
}

std::string PluginSession::takeReason() {
  std::lock_guard lock(mutex_);
  return std::exchange(reason_, {});
}

std::map<std::string, double> PluginSession::takeCounters() {
  std::lock_guard lock(mutex_);
  return std::exchange(counters_, {});
}

process_group::CallOptions PluginSession::callOptions(const lockstep_run& run) const {
  process_group::CallOptions options;
  options.bucket = run.bucket;
  options.step = run.step;
  return options;
}

void PluginSession::record(lockstep_run& run, trace::EventKind kind,
                           const HookTrace::Moment& begun) {
  options_.trace->phase(kind, begun, options_.trace->now(run.device), run.step, run.bucket,
                        run.bytes);
}

/// Null for a run that has ended, or is none.
PluginSession::RunPtr PluginSession::open(const lockstep_run* run) const {
  const auto found = std::find_if(runs_.begin(), runs_.end(),
                                  [run](const RunPtr& other) { return other.get() == run; });
  return found == runs_.end() ? nullptr : *found;
}

/// Returns the run if it may be used; else the hook has misbehaved and is done with.
PluginSession::RunPtr PluginSession::live(lockstep_run* run, const char* function) {
  if (RunPtr found = open(run); found != nullptr) {
    return found;
  }
  const auto dead = std::find_if(graveyard_.begin(), graveyard_.end(),
                                 [run](const RunPtr& other) { return other.get() == run; });
  breakDown(
      nullptr,
      dead == graveyard_.end()
          ? fmt::format("it called {}() with a run that is none", function)
          : fmt::format("it called {}() for {} after that had ended", function, (*dead)->place),
      false);
  return nullptr;
}

void PluginSession::enter(const RunPtr& run, const std::function<lockstep_status()>& call) {
  run->queuedInCall = false;
  setInside(run->place);
  inCall_ = true;
  const lockstep_status status = [&] {
    const auto entered = onStream(run->device);
    const base::CrashNote note(run->note.c_str());
    run->callBegun = options_.trace->now(run->device);
    const lockstep_status returned = call();
    // A plugin that marks nothing gets phases by its calls: what it does before it first queues an
    // operation encodes, and what it does before complete() decodes.
    if (returned == LOCKSTEP_OK && !run->ended && !run->queuedInCall && !run->marked) {
      record(*run, trace::EventKind::kHookEncode, run->callBegun);
    }
    return returned;
  }();
  inCall_ = false;
  setInside("");
  const std::string reason = takeReason();
  if (!run->ended && status != LOCKSTEP_OK) {
    breakDown(run,
              fmt::format("{}: {}", run->place,
                          reason.empty() ? fmt::format("it returned status {}", status) : reason),
              false);
  }
  deliverAll();
  startOperations();
}

void PluginSession::carryOut(const RunPtr& run, const std::function<void()>& task) {
  try {
    task();
  } catch (const std::exception&) {
    inCall_ = false;
    breakDown(run, std::current_exception(), true);
  }
}

void PluginSession::startOperations() {
  while (!line_.empty()) {
    const RunPtr run = line_.front();
    bool all = true;
    for (QueuedOperation& operation : run->operations) {
      if (!operation.started) {
        start(run, operation);
        // start() has failed, and broken the line down that is walked here.
        if (run->ended) {
          return;
        }
      }
      // The hook inside has collectives of its own; those after it wait, on every rank alike.
      if (operation.exclusive && operation.open > 0 && &operation != &run->operations.back()) {
        all = false;
        break;
      }
    }
    if (!all || !(run->noMore || run->ended)) {
      return;
    }
    line_.pop_front();
  }
}

void PluginSession::start(const RunPtr& run, QueuedOperation& operation) {
  operation.started = true;
  // Runs on a thread of the group, which must not be the one to end the group: it holds nothing
  // that owns one.
  const auto whenDone = [strand = std::weak_ptr(options_.strand), weakSelf = weak_from_this(),
                         weakRun = std::weak_ptr(run),
                         number = operation.number](const std::exception_ptr& error) {
    if (const auto onto = strand.lock()) {
      onto->post([weakSelf, weakRun, number, error] {
        const auto self = weakSelf.lock();
        if (self == nullptr) {
          return;
        }
        // Counted even of a run that has ended: the hook is not destroyed before every work has let
        // go of its memory.
        --self->outstanding_;
        if (const auto run = weakRun.lock(); run != nullptr) {
          self->carryOut(run, [&] { self->ended(run, number, error); });
        }
        self->destroyIfIdle();
      });
    }
  };
  try {
    const auto entered = onStream(run->device);
    operation.begun = options_.trace->now(run->device);
    if (operation.startInner) {
      operation.open = 1;
      operation.startInner(whenDone);
      ++outstanding_;
      return;
    }
    const auto works = operation.start();
    // An exchange is two works, a send and a receive; with nobody to exchange with it is none.
    operation.open = std::max<std::size_t>(works.size(), 1);
    if (works.empty()) {
      whenDone(nullptr);  // an exchange with nobody
    }
    for (const auto& work : works) {
      work->future().whenComplete(
          [whenDone](const auto& future) { whenDone(future.exception()); });
    }
    outstanding_ += operation.open;  // their ends are posted, and come later
  } catch (const std::exception&) {
    breakDown(run, std::current_exception(), true);
  }
}

void PluginSession::ended(const RunPtr& run, std::uint64_t number, std::exception_ptr error) {
  if (run->ended) {
    return;
  }
  if (error != nullptr) {
    breakDown(run, error, true);
    return;
  }
  const auto operation =
      std::find_if(run->operations.begin(), run->operations.end(),
                   [number](const QueuedOperation& other) { return other.number == number; });
  LOCKSTEP_CHECK(operation != run->operations.end(), "operation {} of {}", number, run->place);
  // The time of a hook inside is recorded as its own phases.
  if (--operation->open == 0 && !operation->startInner) {
    options_.trace->phase(trace::EventKind::kHookCommunicate, operation->begun,
                          HookTrace::learnt(), run->step, run->bucket, operation->bytes);
  }
  resumeEnded(run);
}

void PluginSession::resumeEnded(const RunPtr& run) {
  while (!run->ended && !run->operations.empty() && run->operations.front().started &&
         run->operations.front().open == 0) {
    const std::uint32_t stage = run->operations.front().stage;
    run->operations.pop_front();
    enter(run, [&] { return hook_->resume(hook_, run.get(), stage); });
  }
}

/// Takes the run out of everything and completes its future.
void PluginSession::finish(const RunPtr& run, std::exception_ptr error) {
  run->ended = true;
  std::erase(runs_, run);
  // A run that completes has none left.
  if (error != nullptr || run->operations.empty()) {
    std::erase(line_, run);
  }
  graveyard_.push_back(run);
  if (graveyard_.size() > kRemembered) {
    graveyard_.pop_front();
  }
  if (run->operations.empty()) {
    run->scratch.clear();  // else operations may still be at work in it
  }
  if (!run->delivered) {
    run->delivered = true;
    if (error != nullptr) {
      run->future.setException(error);
    } else {
      deliver(run);
    }
  }
}

/// Ends the run, and all others, with the error: the hook is done with. `cancel`: whether the
/// hook has to hear of `run`'s end.
void PluginSession::breakDown(const RunPtr& run, std::exception_ptr error, bool cancel) {
  if (broken_ == nullptr) {
    broken_ = error;
    std::lock_guard lock(mutex_);
    failure_ = textOf(error);
  }
  const auto open = std::exchange(runs_, {});
  line_.clear();
  for (const RunPtr& other : open) {
    // The run in whose call the hook itself reports the failure needs no call to cancel it.
    if ((other != run || cancel) && hook_->cancel != nullptr) {
      const auto entered = onStreamIfUsable(other->device);
      hook_->cancel(hook_, other.get());
    }
    finish(other, error);
  }
}

void PluginSession::breakDown(const RunPtr& run, const std::string& why, bool cancel) {
  breakDown(run, std::make_exception_ptr(HookError(why)), cancel);
}

/// A device that has failed takes no stream any more.
HookStream::Guard PluginSession::onStreamIfUsable(const c10::Device& device) {
  try {
    return onStream(device);
  } catch (const std::exception&) {
    return HookStream::Guard(std::nullopt);
  }
}

/// Whoever gets the result may call the hook, so that no call of it may be going on.
void PluginSession::deliver(const RunPtr& run) {
  deliveries_.push_back(run);
  if (!inCall_) {
    deliverAll();
  }
}

void PluginSession::deliverAll() {
  for (const RunPtr& run : std::exchange(deliveries_, {})) {
    const auto entered = onStream(run->device);
    *run->done = StreamPoint(run->device);
    run->future.setValue(std::exchange(run->flat, {}));
  }
}

}  // namespace lockstep::hooks::detail
