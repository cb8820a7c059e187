#include "engine/hooks/MakeHook.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>

#include "engine/hooks/AllreduceHook.h"
#include "engine/hooks/NoopHook.h"

namespace lockstep::hooks {

namespace {

using Factory = std::function<std::shared_ptr<CommHook>(const HookContext&)>;

const std::map<std::string, Factory, std::less<>>& factories() {
  static const std::map<std::string, Factory, std::less<>> table{
      {"allreduce",
       [](const HookContext& context) {
         return std::make_shared<AllreduceHook>(context.group, context.tracer);
       }},
      {"noop", [](const HookContext&) { return std::make_shared<NoopHook>(); }},
  };
  return table;
}

}  // namespace

std::vector<std::string> hookNames() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories()) {
    names.push_back(name);
  }
  return names;
}

base::Result<std::shared_ptr<CommHook>> makeHook(std::string_view name,
                                                 const HookContext& context) {
  const auto entry = factories().find(name);
  if (entry == factories().end()) {
    return base::Error{base::ExitCode::kBadInput,
                       fmt::format("there is no communication hook '{}'; the hooks are {}", name,
                                   fmt::join(hookNames(), ", ")),
                       "hook.name"};
  }
  return entry->second(context);
}

bool replicasDrift(std::string_view name) { return name == "noop"; }

}  // namespace lockstep::hooks
