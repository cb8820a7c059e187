#pragma once

#include <functional>
#include <string>
#include <utility>

#include "engine/hooks/CommHook.h"

namespace lockstep::ddp::test {

/// A communication hook, "mine", made of a function.
class FunctionHook final : public hooks::CommHook {
 public:
  using Function = std::function<base::Future<at::Tensor>(hooks::GradBucket&)>;
  explicit FunctionHook(Function function, bool takesShares = false)
      : function_(std::move(function)), takesShares_(takesShares) {}
  [[nodiscard]] std::string name() const override { return "mine"; }
  [[nodiscard]] bool takesShares() const override { return takesShares_; }
  base::Future<at::Tensor> run(hooks::GradBucket& bucket) override { return function_(bucket); }

 private:
  Function function_;
  bool takesShares_;
};

/// What a hook returns that has its result at once.
inline base::Future<at::Tensor> done(at::Tensor tensor) {
  return base::Future<at::Tensor>::ready(std::move(tensor));
}

}  // namespace lockstep::ddp::test
