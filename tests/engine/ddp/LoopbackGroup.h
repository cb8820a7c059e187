#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::ddp::test {

class LoopbackHub;

/// A ProcessGroup whose ranks are threads of one process: the last rank to arrive does the
/// arithmetic for all, in rank order, so that results are the same in every run. Carries what
/// DDP uses (broadcast, allreduce, allgather, barrier); the rest throws. Calls that differ
/// among ranks fail with a text that says how.
class LoopbackGroup final : public process_group::ProcessGroup {
 public:
  LoopbackGroup(std::shared_ptr<LoopbackHub> hub, int rank);

  [[nodiscard]] std::string backendName() const override { return "loopback"; }
  at::Tensor allocate(std::int64_t bytes) override;
  [[nodiscard]] std::uint64_t sequenceNumber() const override { return sequence_; }
  void abort(const std::string& reason) override;

  /// Buckets of the allreduces so far, in call order.
  [[nodiscard]] std::vector<std::uint16_t> reducedBuckets() const { return reducedBuckets_; }
  [[nodiscard]] int broadcasts() const { return broadcasts_; }
  [[nodiscard]] std::int64_t allocatedBytes() const { return allocatedBytes_; }

 protected:
  WorkPtr start(process_group::Request request) override;

 private:
  std::shared_ptr<LoopbackHub> hub_;
  std::uint64_t sequence_ = 0;
  std::vector<std::uint16_t> reducedBuckets_;
  int broadcasts_ = 0;
  std::int64_t allocatedBytes_ = 0;
};

/// Runs `body` once a rank, each on a thread of its own with a group of `worldSize` ranks,
/// and joins them. When a rank throws, the others' collectives are aborted. Returns the text of
/// each rank's exception; "" = none.
std::vector<std::string> runRanks(int worldSize,
                                  const std::function<void(std::shared_ptr<LoopbackGroup>)>& body);

/// The same, for bodies that must not throw on any rank.
void runRanksWell(int worldSize, const std::function<void(std::shared_ptr<LoopbackGroup>)>& body);

}  // namespace lockstep::ddp::test
