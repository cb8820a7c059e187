#include "engine/process_group/checked/CheckedGroup.h"

#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "engine/process_group/operation/Drain.h"
#include "engine/trace/Event.h"

namespace lockstep::process_group {

using checked::CheckRecord;
using checked::Field;
using std::chrono::milliseconds;

namespace {

// What is compared in words is cut to this, so that the second gather has one size.
constexpr std::size_t kDetailBytes = 512;

/// What a device's operation is ordered behind; of one without tensors, on the device that the
/// calling thread has chosen. Nothing: it is of the CPU.
std::optional<c10::Stream> currentStream(const std::vector<at::Tensor>& tensors) {
  using c10::impl::VirtualGuardImpl;
  // Of the first device tensor: all tensors of a call are on one device type.
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_cpu()) {
      return VirtualGuardImpl(tensor.device().type()).getStream(tensor.device());
    }
  }
  if (tensors.empty() && c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) {
    const VirtualGuardImpl cuda(c10::DeviceType::CUDA);
    if (cuda.deviceCount() > 0) {
      return cuda.getStream(cuda.getDevice());
    }
  }
  return std::nullopt;
}

at::Tensor bytesOf(std::size_t size) {
  return at::empty({static_cast<std::int64_t>(size)}, at::TensorOptions().dtype(at::kByte));
}

std::vector<at::Tensor> perRank(int ranks, std::size_t size) {
  std::vector<at::Tensor> tensors;
  for (int rank = 0; rank < ranks; ++rank) {
    tensors.push_back(bytesOf(size));
  }
  return tensors;
}

std::string callText(const Call& call) {
  std::string text = fmt::format("{} #{}", trace::name(call.operation), call.sequence);
  if (call.options.bucket != trace::kNoBucket) {
    text += fmt::format(", bucket {}", call.options.bucket);
  }
  return text;
}

struct Reason {
  std::string text;
  CommErrorKind kind = CommErrorKind::kBackend;
  int peer = -1;
  std::vector<int> culprits = {};
};

Reason reasonOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const CommError& failure) {
    return {failure.reason(), failure.kind(), failure.where().peer, failure.where().culprits};
  } catch (const std::exception& failure) {
    return {failure.what(), CommErrorKind::kBackend, -1};
  }
}

std::exception_ptr errorFor(const WorkState& work, const Reason& reason) {
  CommError::Where where = work.where();
  where.kind = reason.kind;
  where.timedOut = reason.kind == CommErrorKind::kTimeout;
  where.peer = reason.peer;
  where.culprits = reason.culprits;
  return std::make_exception_ptr(CommError(std::move(where), reason.text));
}

}  // namespace

CheckedGroup::CheckedGroup(std::shared_ptr<ProcessGroup> inner,
                           std::shared_ptr<ProcessGroup> checks, Options options)
    : ProcessGroup(inner->rank(), inner->size(), inner->groupName(), inner->backendName(),
                   Devices::kAny),
      inner_(std::move(inner)),
      checks_(std::move(checks)),
      options_(options),
      tracer_(options.tracer != nullptr ? options.tracer : &silent_),
      lane_(&tracer_->lane(options.groupNumber == 0 ? "check"
                                                    : fmt::format("check ({})", groupName()))),
      off_(options.mode == CheckMode::kOff || inner_->size() == 1),
      record_(bytesOf(sizeof(CheckRecord))),
      records_(perRank(inner_->size(), sizeof(CheckRecord))) {
  if (checks_->rank() != inner_->rank() || checks_->size() != inner_->size()) {
    throw std::invalid_argument(fmt::format(
        "CheckedGroup: the group of the checks is rank {} of {}, group {} is rank {} of {}; they "
        "must be alike",
        checks_->rank(), checks_->size(), groupName(), inner_->rank(), inner_->size()));
  }
}

CheckedGroup::~CheckedGroup() {
  const auto ended = [this] { return inFlight_ == 0 && pending_.empty(); };
  std::unique_lock lock(mutex_);
  if (!idle_.wait_for(lock, kDrain, ended)) {
    lock.unlock();
    abort(kDestroyed);
    lock.lock();
    LOCKSTEP_CHECK(idle_.wait_for(lock, kDrain, ended),
                   "group {} did not end its operations when it was aborted", groupName());
  }
}

std::uint64_t CheckedGroup::sequenceNumber() const {
  std::lock_guard lock(mutex_);
  return sequence_;
}

GroupState CheckedGroup::state() const {
  const GroupState inner = inner_->state();
  std::lock_guard lock(mutex_);
  return broken_.empty() ? inner : stateAfter(brokenBy_);
}

void CheckedGroup::abort(const std::string& reason) {
  breakGroup("aborted: " + reason, CommErrorKind::kAborted);
}

ProcessGroup::WorkPtr CheckedGroup::start(Request request) {
  if (isDirect(request.call.operation)) {
    return inner_->call(std::move(request));
  }
  const CallOptions& options = request.call.options;
  const milliseconds limit = timeLimit(options, *inner_);
  std::unique_lock lock(mutex_);
  request.call.sequence = ++sequence_;
  const bool barrier = request.call.operation == trace::Operation::kBarrier;
  // Nothing is checked any more, and nothing that was queued is before it: straight to the inner
  // group. A barrier must not pass operations that are on their way there.
  if (off_ && !busy_ && pending_.empty() && !(barrier && inFlight_ > 0)) {
    lock.unlock();
    return inner_->call(std::move(request));
  }
  CommError::Where where;
  where.group = groupName();
  where.rank = rank();
  where.operation = request.call.operation;
  where.sequence = request.call.sequence;
  where.bucket = options.bucket;
  WorkState::Backend backend;
  // By its name, since a work that held itself would never end.
  backend.abort = [this, name = callText(request.call)] {
    breakGroup(fmt::format("{} was aborted by its caller", name), CommErrorKind::kAborted);
  };
  auto work = std::make_shared<WorkState>(where, request.outputs, limit, std::move(backend));
  if (!broken_.empty()) {
    const Reason reason{"the group is broken: " + broken_, brokenBy_, -1};
    lock.unlock();
    work->fail(errorFor(*work, reason));
    return work;
  }
  // Taken here, on the caller's thread.
  auto stream = currentStream(request.described());
  pending_.push_back(Pending{std::move(request), work, limit, std::move(stream)});
  lock.unlock();
  pump();
  return work;
}

// Goes on with the queue unless somebody is at it.
void CheckedGroup::pump() {
  std::unique_lock lock(mutex_);
  while (!busy_ && !pending_.empty()) {
    busy_ = true;
    current_ = std::move(pending_.front());
    pending_.pop_front();
    ++inFlight_;
    const bool compare = !off_;
    lock.unlock();
    if (compare) {
      startCheck();
    } else {
      issueCurrent();
    }
    lock.lock();
  }
}

void CheckedGroup::startCheck() {
  const Call& call = current_.request.call;
  startTicks_ = base::ticks();
  trace::LastWords& words = tracer_->lastWords();
  // Unless another operation of this rank is open: that has been open longer.
  inLastWords_ = words.operation.load(std::memory_order_relaxed) == 0;
  if (inLastWords_) {
    words.bucket.store(call.options.bucket, std::memory_order_relaxed);
    words.sequence.store(static_cast<std::uint32_t>(call.sequence), std::memory_order_relaxed);
    words.sinceTicks.store(startTicks_, std::memory_order_relaxed);
    words.operation.store(static_cast<std::uint8_t>(call.operation), std::memory_order_relaxed);
  }
  const CheckRecord mine = checked::makeRecord(call, rank());
  std::memcpy(record_.data_ptr(), &mine, sizeof(mine));
  CallOptions options;
  options.timeout = current_.limit;
  checks_->allgather(records_, record_, options)
      ->future()
      .whenComplete([this](const Gathered& gathered) { recordsGathered(gathered); });
}

void CheckedGroup::leaveLastWords() {
  if (inLastWords_) {
    tracer_->lastWords().operation.store(0, std::memory_order_relaxed);
  }
}

void CheckedGroup::recordsGathered(const Gathered& gathered) {
  const Call& call = current_.request.call;
  {
    std::lock_guard lock(mutex_);
    ++inFlight_;  // this callback, which outlives the operation's turn
    lane_->span(trace::EventKind::kChecked, startTicks_, call.options.step, call.options.bucket,
                trace::packCollective(call.sequence, call.bytes),
                trace::packOperation(call.operation, options_.groupNumber));
  }
  judge(gathered);
  leave();
}

void CheckedGroup::judge(const Gathered& gathered) {
  const Call& call = current_.request.call;
  if (const std::exception_ptr error = gathered.exception()) {
    checkFailed(error);
    return;
  }
  std::vector<CheckRecord> records(records_.size());
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    std::memcpy(&records[rank], records_[rank].data_ptr(), sizeof(CheckRecord));
  }
  const Field field = checked::firstDifference(records);
  if (needsDetails(field)) {
    gatherDetails(field, std::move(records));
    return;
  }
  if (field != Field::kNone) {
    refuse(field, records, {});
    return;
  }
  leaveLastWords();
  {
    std::lock_guard lock(mutex_);
    lastCall_ = callText(call);
    // Decided by records that all ranks have, so all stop with the same call.
    off_ = options_.mode == CheckMode::kFirst &&
           std::any_of(records.begin(), records.end(), [this](const CheckRecord& record) {
             return record.step >= options_.steps;
           });
  }
  issueCurrent();
  pump();
}

// All ranks have the same records, so all come here or none does: the second gather needs no
// agreement.
void CheckedGroup::gatherDetails(Field field, std::vector<CheckRecord> records) {
  const at::Tensor mine = bytesOf(kDetailBytes);
  std::memset(mine.data_ptr(), 0, kDetailBytes);
  const Request& request = current_.request;
  const std::string text =
      checked::details(field, request.call, request.described(), kDetailBytes - 1);
  std::memcpy(mine.data_ptr(), text.data(), text.size());
  CallOptions options;
  options.timeout = current_.limit;
  checks_->allgather(perRank(size(), kDetailBytes), mine, options)
      ->future()
      .whenComplete([this, field, records = std::move(records)](const Gathered& gathered) {
        if (const std::exception_ptr error = gathered.exception()) {
          checkFailed(error);
          return;
        }
        std::vector<std::string> texts;
        for (const at::Tensor& tensor : gathered.value()) {
          const char* const text = static_cast<const char*>(tensor.data_ptr());
          texts.emplace_back(text, strnlen(text, kDetailBytes));
        }
        refuse(field, records, texts);
      });
}

// Makes the call on the inner group. Ends the turn, not the operation.
void CheckedGroup::issueCurrent() {
  const Pending current = std::move(current_);
  WorkPtr inner;
  try {
    // Another thread than the caller's, which works on another stream.
    std::optional<c10::StreamGuard> onCallers;
    if (current.stream) {
      onCallers.emplace(*current.stream);
    }
    inner = inner_->call(current.request);
  } catch (...) {
    endTurn();
    current.work->fail(std::current_exception());
    leave();
    return;
  }
  const std::uint64_t sequence = current.request.call.sequence;
  const bool barrier = current.request.call.operation == trace::Operation::kBarrier;
  {
    std::lock_guard lock(mutex_);
    issued_.emplace(sequence, current.work);
  }
  endTurn();
  inner->future().whenComplete(
      [this, sequence, barrier, work = current.work](const Gathered& done) {
        if (const std::exception_ptr error = done.exception()) {
          // An operation may fail alone; only a broken inner group breaks this one.
          if (inner_->state() != GroupState::kSuccess) {
            const Reason reason = reasonOf(error);
            breakGroup(reason.text, reason.kind);
          }
          work->fail(error);
        } else if (barrier) {
          passBarrier(sequence, work);
          return;
        } else {
          work->succeed();
        }
        endIssued(sequence);
      });
}

// The inner group's barrier came after all calls there, but of those some may not have been
// completed here yet: that is done by other threads.
void CheckedGroup::passBarrier(std::uint64_t sequence, const std::shared_ptr<WorkState>& work) {
  std::shared_ptr<WorkState> earlier;
  {
    std::lock_guard lock(mutex_);
    const auto open = std::find_if(issued_.begin(), issued_.end(), [](const auto& entry) {
      return !entry.second->isCompleted();
    });
    if (open != issued_.end() && open->first < sequence) {
      earlier = open->second;
    }
  }
  if (earlier != nullptr) {
    earlier->future().whenComplete(
        [this, sequence, work](const Gathered&) { passBarrier(sequence, work); });
    return;
  }
  work->succeed();
  endIssued(sequence);
}

void CheckedGroup::endIssued(std::uint64_t sequence) {
  std::lock_guard lock(mutex_);
  issued_.erase(sequence);
  --inFlight_;
  idle_.notify_all();
}

void CheckedGroup::refuse(Field field, const std::vector<CheckRecord>& records,
                          const std::vector<std::string>& texts) {
  leaveLastWords();
  const Pending current = std::move(current_);
  // The turn ends first: callbacks of the failed work may call this group.
  endTurn();
  current.work->fail(errorFor(
      *current.work,
      Reason{describeDifference(field, records, texts), CommErrorKind::kMismatch,
             differingPeer(field, records, texts, rank()), differingRanks(field, records, texts)}));
  pump();
  leave();
}

void CheckedGroup::checkFailed(const std::exception_ptr& error) {
  leaveLastWords();
  const Pending current = std::move(current_);
  Reason reason = reasonOf(error);
  {
    std::lock_guard lock(mutex_);
    if (!broken_.empty()) {
      // It failed because the group was broken: that reason is the one to tell.
      reason = Reason{broken_, brokenBy_, reason.peer};
    } else {
      reason.text = fmt::format("before its data moved: {}", reason.text);
      if (reason.peer >= 0) {
        reason.text += fmt::format("; the last call rank {} took part in was {}", reason.peer,
                                   lastCall_.empty() ? "none yet" : lastCall_);
      }
    }
  }
  breakGroup(
      fmt::format("given up because {} failed: {}", callText(current.request.call), reason.text),
      reason.kind);
  endTurn();
  current.work->fail(errorFor(*current.work, reason));
  leave();
}

void CheckedGroup::breakGroup(const std::string& reason, CommErrorKind kind) {
  std::deque<Pending> waiting;
  {
    std::lock_guard lock(mutex_);
    if (!broken_.empty()) {
      return;
    }
    broken_ = reason;
    brokenBy_ = kind;
    waiting.swap(pending_);
  }
  // Without the lock: callbacks run in here.
  for (const Pending& pending : waiting) {
    pending.work->fail(errorFor(*pending.work, Reason{reason, kind, -1}));
  }
  // Both, or a rank that waits in the other would wait for its time limit.
  checks_->abort(reason);
  inner_->abort(reason);
}

void CheckedGroup::endTurn() {
  std::lock_guard lock(mutex_);
  busy_ = false;
}

void CheckedGroup::leave() {
  std::lock_guard lock(mutex_);
  --inFlight_;
  idle_.notify_all();
}

}  // namespace lockstep::process_group
