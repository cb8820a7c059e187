#include "engine/hooks/MakeHook.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hooks/AllreduceHook.h"

namespace lockstep::hooks {

namespace {

/// Communicates nothing and returns the bucket as it is, not divided: the replicas drift
/// apart. Its step time is the bound that no hook can beat (c10d's noop hook).
class NoopHook final : public CommHook {
 public:
  [[nodiscard]] std::string name() const override { return "noop"; }
  base::Future<at::Tensor> run(GradBucket& bucket) override {
    return base::Future<at::Tensor>::ready(bucket.buffer());
  }
};

}  // namespace

std::vector<std::string> hookNames() {
  return {"allreduce", "noop"};
}

base::Result<std::shared_ptr<CommHook>> makeHook(std::string_view name,
                                                 const HookContext& context) {
  using Made = std::shared_ptr<CommHook>;
  if (name == "allreduce") {
    return Made(std::make_shared<AllreduceHook>(context.group, context.tracer));
  }
  if (name == "noop") {
    return Made(std::make_shared<NoopHook>());
  }
  return base::Error{base::ExitCode::kBadInput,
                     fmt::format("there is no communication hook '{}'; the hooks are {}", name,
                                 fmt::join(hookNames(), ", ")),
                     "hook.name"};
}

bool replicasDrift(std::string_view name) { return name == "noop"; }

}  // namespace lockstep::hooks
