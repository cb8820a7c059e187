#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/ProcessGroupFactory.h"

namespace lockstep::process_group {

/// A process group over Gloo's TCP transport: CPU tensors, any number of hosts.
///
/// Operations run in the order of the calls on `threads` workers, so several are in flight at
/// once; a barrier waits for all before it. The first failure breaks the group (a dead or
/// stopped peer, a passed time limit, ranks that call different things, abort): everything in
/// flight and every later call fails with a CommError, on all ranks.
///
/// Differs from c10d's ProcessGroupGloo: elements are reduced in rank order, half and bfloat16
/// sums are rounded once; average is there; a mismatch of operation, size, dtype, reduction or
/// root between ranks is an error that names them about a second later, and never ends the
/// process or mixes data; errors name ranks. send and recv are matched by source and tag, and a
/// recv of another size or dtype fails alone, on both sides, without breaking the group.
/// Construction ignores SIGPIPE where the program has not chosen otherwise.
class ProcessGroupGloo final : public ProcessGroup {
 public:
  static base::Result<std::shared_ptr<ProcessGroupGloo>> make(std::shared_ptr<store::Store> store,
                                                              int rank, int size,
                                                              const GroupOptions& options);
  /// Lets operations in flight finish for up to five seconds. Not from a callback of its own.
  ~ProcessGroupGloo() override;

  [[nodiscard]] std::string backendName() const override { return "gloo"; }

  [[nodiscard]] std::uint64_t sequenceNumber() const override;
  void abort(const std::string& reason) override;
  [[nodiscard]] GroupState state() const override;

 protected:
  WorkPtr start(Request request) override;

 private:
  struct Parts;
  ProcessGroupGloo(std::unique_ptr<Parts> parts, int rank, int size, const GroupOptions& options);

  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::process_group
