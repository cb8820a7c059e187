#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/process_group/InProcessGroup.h"

namespace lockstep::ddp::test {

/// A group whose ranks are threads of one process, and which knows what it was asked for.
class LoopbackGroup final : public process_group::InProcessGroup {
 public:
  LoopbackGroup(std::shared_ptr<process_group::InProcessHub> hub, int rank);

  [[nodiscard]] std::string backendName() const override { return "loopback"; }
  at::Tensor allocate(std::int64_t bytes) override;

  /// Buckets of the allreduces so far, in call order.
  [[nodiscard]] std::vector<std::uint16_t> reducedBuckets() const { return reducedBuckets_; }
  [[nodiscard]] int broadcasts() const { return broadcasts_; }
  [[nodiscard]] std::int64_t allocatedBytes() const { return allocatedBytes_; }

 protected:
  WorkPtr start(process_group::Request request) override;

 private:
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
