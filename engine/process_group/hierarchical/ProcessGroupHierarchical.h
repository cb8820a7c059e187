#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/process_group/hierarchical/HostMap.h"

namespace lockstep::process_group {

/// A process group over several hosts: shared memory among the ranks of a host, Gloo across hosts,
/// each in its own stage of an operation. Note [Two levels] (Plans.h) says what each operation
/// does, what crosses the hosts, and in which order elements are combined; Note [Stages]
/// (Pipeline.h) how operations overtake each other without coming out of order.
///
/// For events, time limits, failures and abort it is one group: one span an operation, errors in
/// the numbers of the whole group, and the first failure breaks it on all ranks. The bytes it
/// counts are those that cross hosts. Receives from a rank of the same host go over Gloo, too.
class ProcessGroupHierarchical final : public ProcessGroup {
 public:
  /// Blocks until all ranks have come.
  static base::Result<std::shared_ptr<ProcessGroupHierarchical>> make(
      std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options);
  /// The same when the ranks have told each other already which hosts they are on.
  static base::Result<std::shared_ptr<ProcessGroupHierarchical>> make(
      std::shared_ptr<store::Store> store, int rank, const GroupOptions& options,
      hierarchical::HostMap hosts);
  /// Lets operations in flight finish for up to five seconds. Not from a callback of its own.
  ~ProcessGroupHierarchical() override;

  /// "hierarchical(2 x shared_memory, gloo)", with the number of hosts.
  [[nodiscard]] std::string backendName() const override;

  /// Memory that the ranks of this host share; plain memory where this rank is alone on its host.
  at::Tensor allocate(std::int64_t bytes) override;

  [[nodiscard]] std::uint64_t sequenceNumber() const override;
  void abort(const std::string& reason) override;
  [[nodiscard]] GroupState state() const override;

 protected:
  WorkPtr start(Request request) override;

 private:
  struct Parts;
  ProcessGroupHierarchical(std::unique_ptr<Parts> parts, int rank, int size,
                           const GroupOptions& options);

  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::process_group
