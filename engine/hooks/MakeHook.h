#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/hooks/CommHook.h"

namespace lockstep::process_group {
class ProcessGroup;
}
namespace lockstep::trace {
class Tracer;
}

namespace lockstep::hooks {

/// What a built-in hook is made of. `tracer` may be null and otherwise outlives the hook.
struct HookContext {
  std::shared_ptr<process_group::ProcessGroup> group;
  trace::Tracer* tracer = nullptr;
};

/// Returns the names of the built-in hooks, sorted.
std::vector<std::string> hookNames();

/// Makes a built-in hook. Error: a name that is not one of hookNames(); the text lists them.
base::Result<std::shared_ptr<CommHook>> makeHook(std::string_view name, const HookContext& context);

/// Whether a built-in hook lets replicas drift: ranks hold different parameters, by design.
bool replicasDrift(std::string_view name);

}  // namespace lockstep::hooks
