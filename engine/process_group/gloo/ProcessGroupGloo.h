#pragma once

#include <atomic>
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

  WorkPtr broadcast(std::vector<at::Tensor> tensors, int root,
                    const CallOptions& options = {}) override;
  WorkPtr allreduce(std::vector<at::Tensor> tensors, ReduceOp op = ReduceOp::kSum,
                    const CallOptions& options = {}) override;
  WorkPtr reduce(at::Tensor tensor, int root, ReduceOp op = ReduceOp::kSum,
                 const CallOptions& options = {}) override;
  WorkPtr allgather(std::vector<at::Tensor> outputs, at::Tensor input,
                    const CallOptions& options = {}) override;
  WorkPtr gather(std::vector<at::Tensor> outputs, at::Tensor input, int root,
                 const CallOptions& options = {}) override;
  WorkPtr scatter(at::Tensor output, std::vector<at::Tensor> inputs, int root,
                  const CallOptions& options = {}) override;
  WorkPtr reduceScatter(at::Tensor output, std::vector<at::Tensor> inputs,
                        ReduceOp op = ReduceOp::kSum, const CallOptions& options = {}) override;
  WorkPtr alltoall(at::Tensor output, at::Tensor input,
                   std::vector<std::int64_t> outputSplits = {},
                   std::vector<std::int64_t> inputSplits = {},
                   const CallOptions& options = {}) override;
  WorkPtr send(at::Tensor tensor, int to, int tag = 0, const CallOptions& options = {}) override;
  WorkPtr recv(at::Tensor tensor, int from, int tag = 0, const CallOptions& options = {}) override;
  WorkPtr barrier(const CallOptions& options = {}) override;

  [[nodiscard]] std::uint64_t sequenceNumber() const override;
  [[nodiscard]] std::chrono::milliseconds timeout() const override { return timeout_.load(); }
  /// For later calls; throws std::invalid_argument unless positive.
  void setTimeout(std::chrono::milliseconds timeout) override;
  void abort(const std::string& reason) override;
  [[nodiscard]] GroupState state() const override;

 private:
  struct Parts;
  ProcessGroupGloo(std::unique_ptr<Parts> parts, int rank, int size, const GroupOptions& options);
  [[nodiscard]] std::chrono::milliseconds limit(const CallOptions& options) const;

  std::atomic<std::chrono::milliseconds> timeout_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::process_group
