#pragma once

#include <string>

#include "engine/hooks/CommHook.h"

namespace lockstep::hooks {

/// Communicates nothing and returns the bucket as it is, not divided: the replicas drift
/// apart. Its step time is the bound that no hook can beat (c10d's noop hook).
class NoopHook final : public CommHook {
 public:
  [[nodiscard]] std::string name() const override { return "noop"; }
  base::Future<at::Tensor> run(GradBucket& bucket) override {
    return base::Future<at::Tensor>::ready(bucket.buffer());
  }
};

}  // namespace lockstep::hooks
