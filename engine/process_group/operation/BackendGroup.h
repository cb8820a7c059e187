#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/process_group/Failure.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/process_group/Request.h"

namespace lockstep::process_group {

/// The ProcessGroup of a backend: start() is its own, and all else it is asked its `Calls` know,
/// which are a GroupCalls.
template <typename Calls>
class BackendGroup : public ProcessGroup {
 public:
  [[nodiscard]] std::string backendName() const final { return name_; }
  [[nodiscard]] std::uint64_t sequenceNumber() const final { return calls_->sequence(); }
  [[nodiscard]] GroupState state() const final { return calls_->state(); }
  [[nodiscard]] bool moved() final { return calls_->moved(); }
  void abort(const std::string& reason) final {
    calls_->breakGroup(Failure{"aborted: " + reason, -1, CommErrorKind::kAborted});
  }

  /// `callee` opens the texts of refusals.
  BackendGroup(std::shared_ptr<Calls> calls, std::string name, std::string callee,
               const GroupOptions& options, Devices devices = Devices::kCpu)
      : ProcessGroup(calls->member().rank, calls->member().size, options.groupName,
                     std::move(callee), devices, options.timeout),
        calls_(std::move(calls)),
        name_(std::move(name)) {}

 protected:
  [[nodiscard]] std::chrono::milliseconds limitOf(const Request& request) const {
    return timeLimit(request.call.options, *this);
  }

  const std::shared_ptr<Calls> calls_;

 private:
  const std::string name_;
};

/// One whose calls carry out requests as they are: submit(Request, limit), and close().
template <typename Calls>
class DispatchedGroup final : public BackendGroup<Calls> {
 public:
  using BackendGroup<Calls>::BackendGroup;
  ~DispatchedGroup() override { this->calls_->close(); }

 protected:
  ProcessGroup::WorkPtr start(Request request) override {
    const auto limit = this->limitOf(request);
    return this->calls_->submit(std::move(request), limit);
  }
};

}  // namespace lockstep::process_group
