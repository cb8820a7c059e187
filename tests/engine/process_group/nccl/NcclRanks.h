#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <vector>

#include "tests/engine/process_group/GroupThreads.h"
#include "tests/engine/process_group/nccl/FakePlatform.h"

namespace lockstep::process_group::nccl {

/// Ranks as threads, each with a device of its own of the test double.
class NcclRanks {
 public:
  explicit NcclRanks(int size, const FakeDeviceOptions& device = {}) {
    for (int rank = 0; rank < size; ++rank) {
      platforms_.push_back(std::make_unique<FakePlatform>(fabric, device));
    }
  }

  /// As process_group::runGroups(); `tracer` is rank 0's.
  void run(const std::function<void(ProcessGroup&)>& body,
           const GroupOptions& options = quickOptions(), trace::Tracer* tracer = nullptr) {
    const auto store = std::make_shared<store::HashStore>();
    runGroups(
        static_cast<int>(platforms_.size()),
        [&](int rank) {
          GroupOptions own = options;
          own.tracer = rank == 0 ? tracer : nullptr;
          return makeNccl(of(rank).platform(), store, rank, static_cast<int>(platforms_.size()),
                          own);
        },
        body);
  }

  [[nodiscard]] FakePlatform& of(int rank) { return *platforms_[static_cast<std::size_t>(rank)]; }

  FakeFabric fabric;

 private:
  std::vector<std::unique_ptr<FakePlatform>> platforms_;
};

inline CallOptions within(std::chrono::milliseconds timeout,
                          std::uint16_t bucket = trace::kNoBucket) {
  CallOptions options;
  options.timeout = timeout;
  options.bucket = bucket;
  return options;
}

}  // namespace lockstep::process_group::nccl
