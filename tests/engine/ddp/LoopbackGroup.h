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
  WorkPtr broadcast(std::vector<at::Tensor> tensors, int root,
                    const process_group::CallOptions& options) override;
  WorkPtr allreduce(std::vector<at::Tensor> tensors, process_group::ReduceOp op,
                    const process_group::CallOptions& options) override;
  WorkPtr allgather(std::vector<at::Tensor> outputs, at::Tensor input,
                    const process_group::CallOptions& options) override;
  WorkPtr barrier(const process_group::CallOptions& options) override;
  WorkPtr reduce(at::Tensor, int, process_group::ReduceOp,
                 const process_group::CallOptions&) override;
  WorkPtr gather(std::vector<at::Tensor>, at::Tensor, int,
                 const process_group::CallOptions&) override;
  WorkPtr scatter(at::Tensor, std::vector<at::Tensor>, int,
                  const process_group::CallOptions&) override;
  WorkPtr reduceScatter(at::Tensor, std::vector<at::Tensor>, process_group::ReduceOp,
                        const process_group::CallOptions&) override;
  WorkPtr alltoall(at::Tensor, at::Tensor, std::vector<std::int64_t>, std::vector<std::int64_t>,
                   const process_group::CallOptions&) override;
  WorkPtr send(at::Tensor, int, int, const process_group::CallOptions&) override;
  WorkPtr recv(at::Tensor, int, int, const process_group::CallOptions&) override;

  at::Tensor allocate(std::int64_t bytes) override;
  [[nodiscard]] std::uint64_t sequenceNumber() const override { return sequence_; }
  [[nodiscard]] std::chrono::milliseconds timeout() const override { return timeout_; }
  void setTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }
  void abort(const std::string& reason) override;

  /// Buckets of the allreduces so far, in call order.
  [[nodiscard]] std::vector<std::uint16_t> reducedBuckets() const { return reducedBuckets_; }
  [[nodiscard]] int broadcasts() const { return broadcasts_; }
  [[nodiscard]] std::int64_t allocatedBytes() const { return allocatedBytes_; }

 private:
  std::shared_ptr<LoopbackHub> hub_;
  std::uint64_t sequence_ = 0;
  std::chrono::milliseconds timeout_{20'000};
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
