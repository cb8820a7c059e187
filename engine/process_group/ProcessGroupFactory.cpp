#include "engine/process_group/ProcessGroupFactory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#ifdef LOCKSTEP_WITH_GLOO
#include "engine/process_group/gloo/ProcessGroupGloo.h"
#endif

namespace lockstep::process_group {
namespace {

using base::Error;
using base::ExitCode;

base::Status check(int rank, int size, const GroupOptions& options) {
  const auto refuse = [](std::string what) { return Error{ExitCode::kBadInput, what, ""}; };
  if (size < 1) {
    return refuse(fmt::format("a process group of {} ranks; at least 1 is needed", size));
  }
  if (rank < 0 || rank >= size) {
    return refuse(fmt::format("rank {} of a process group of {}; ranks are 0 to {}", rank, size,
                              size - 1));
  }
  if (options.groupName.empty()) {
    return refuse("the process group has an empty name");
  }
  if (options.threads < 1) {
    return refuse(fmt::format("a process group with {} threads; at least 1 is needed",
                              options.threads));
  }
  if (options.timeout.count() <= 0) {
    return refuse(fmt::format("a process group with a time limit of {} ms; it must be positive",
                              options.timeout.count()));
  }
  return {};
}

}  // namespace

std::vector<std::string> availableBackends() {
  std::vector<std::string> names;
#ifdef LOCKSTEP_WITH_GLOO
  names.emplace_back("gloo");
#endif
  return names;
}

base::Result<std::shared_ptr<ProcessGroup>> makeProcessGroup(const std::string& backend,
                                                             std::shared_ptr<store::Store> store,
                                                             int rank, int size,
                                                             const GroupOptions& options) {
  if (base::Status checked = check(rank, size, options); !checked.ok()) {
    return checked.error();
  }
#ifdef LOCKSTEP_WITH_GLOO
  if (backend == "gloo") {
    auto group = ProcessGroupGloo::make(std::move(store), rank, size, options);
    if (!group.ok()) {
      return group.error();
    }
    return std::shared_ptr<ProcessGroup>(std::move(group).value());
  }
#endif
  const std::vector<std::string> names = availableBackends();
  return Error{ExitCode::kEnvironment,
               fmt::format("there is no backend \"{}\" in this build; {}", backend,
                           names.empty() ? std::string("it was built without any")
                                         : fmt::format("it has {}", fmt::join(names, ", "))),
               ""};
}

}  // namespace lockstep::process_group
