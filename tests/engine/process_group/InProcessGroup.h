#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/process_group/Request.h"
#include "engine/process_group/operation/Ledger.h"

namespace lockstep::process_group {

class InProcessHub;

/// "in_process", as small as a backend can be: its ranks are threads of one process, and the last
/// rank to come to a collective does the arithmetic for all, in rank order, so that results are the
/// same in every run. Calls that differ among ranks fail, and say how. It has no send and recv, and
/// keeps no time limits but those of Work::wait().
class InProcessGroup : public ProcessGroup, public std::enable_shared_from_this<InProcessGroup> {
 public:
  InProcessGroup(std::shared_ptr<InProcessHub> hub, int rank, const GroupOptions& options);

  [[nodiscard]] std::string backendName() const override { return "in_process"; }
  [[nodiscard]] std::uint64_t sequenceNumber() const override;
  void abort(const std::string& reason) override;
  [[nodiscard]] GroupState state() const override;

 protected:
  WorkPtr start(Request request) override;

 private:
  friend class InProcessHub;
  void end(OpenCall& open);

  const std::shared_ptr<InProcessHub> hub_;
  const Member member_;
  const Records records_;
  mutable std::mutex mutex_;
  Ledger<OpenCall> ledger_;
};

/// Where the ranks of a group meet.
[[nodiscard]] std::shared_ptr<InProcessHub> makeInProcessHub(int size);

}  // namespace lockstep::process_group
