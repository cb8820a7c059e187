#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/ProcessGroupFactory.h"

namespace lockstep::process_group {

/// A process group over memory that its ranks share: CPU tensors, ranks of one host and one user.
///
/// Operations start in the order of the calls and end in it. Tensors that lie in memory from
/// allocate() are not copied: the ranks reduce them where they are; others pass through a staging
/// segment. Elements are reduced in rank order, so that all ranks have the same bits, every time
/// and whatever the size; half and bfloat16 sums are rounded once. The notes in shared_memory/ say
/// how: Note [Memory order] (Signal.h), Note [How data moves] (Transfer.h), Note [Who drives]
/// (Dispatcher.h), Note [Who spins] (Waiter.h), Note [Send and recv] (PointToPoint.h).
///
/// Errors are those of ProcessGroupGloo: the first failure breaks the group on all ranks, and
/// names the rank that is missing, or what the ranks have called that do not belong together,
/// before any data moves. A process that ends is noticed at once. After a failure other ranks may
/// still read and write what an operation in flight has exposed, until they notice it, too.
class ProcessGroupSharedMemory final : public ProcessGroup {
 public:
  /// Blocks until all ranks have come. options.threads and options.interfaces mean nothing here.
  static base::Result<std::shared_ptr<ProcessGroupSharedMemory>> make(
      std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options);
  /// Lets operations in flight finish for up to five seconds. Not from a callback of its own.
  ~ProcessGroupSharedMemory() override;

  [[nodiscard]] std::string backendName() const override { return "shared_memory"; }

  /// Returns a flat byte tensor in a segment of its own (whole pages), in which the other ranks
  /// can reduce. Any group of this process takes it as it lies. Throws CommError when there is no
  /// room. In a group of one: plain memory.
  at::Tensor allocate(std::int64_t bytes) override;

  [[nodiscard]] std::uint64_t sequenceNumber() const override;
  void abort(const std::string& reason) override;
  [[nodiscard]] GroupState state() const override;

 protected:
  WorkPtr start(Request request) override;

 private:
  struct Parts;
  ProcessGroupSharedMemory(std::unique_ptr<Parts> parts, int rank, int size,
                           const GroupOptions& options);

  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::process_group
