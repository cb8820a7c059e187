#include "engine/process_group/ProcessGroupFactory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "engine/base/Try.h"
#include "engine/process_group/DeviceGroup.h"
#include "engine/process_group/checked/CheckedGroup.h"
#include "engine/process_group/round_robin/RoundRobinGroup.h"

#ifdef LOCKSTEP_WITH_GLOO
#include "engine/process_group/gloo/ProcessGroupGloo.h"
#endif

#ifdef LOCKSTEP_WITH_MPI
#include "engine/process_group/mpi/ProcessGroupMPI.h"
#endif

#ifdef __linux__
#include "engine/process_group/shared_memory/ProcessGroupSharedMemory.h"
#endif

#if defined(LOCKSTEP_WITH_GLOO) && defined(__linux__)
#include "engine/process_group/hierarchical/AutomaticBackend.h"
#include "engine/process_group/hierarchical/ProcessGroupHierarchical.h"
#endif

#ifdef LOCKSTEP_WITH_NCCL
#include "engine/device/CudaDevices.h"
#include "engine/process_group/nccl/NcclLibrary.h"
#include "engine/process_group/nccl/ProcessGroupNCCL.h"
#endif

namespace lockstep::process_group {
namespace {

using base::Error;
using base::ExitCode;
using Made = base::Result<std::shared_ptr<ProcessGroup>>;

constexpr int kMostTurns = 64;
constexpr int kCpuParts = 184;  // behind the numbers of groups that app/rank/Groups.cpp gives

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
  if (options.roundRobin < 1 || options.roundRobin > kMostTurns) {
    return refuse(fmt::format("{} groups that take turns; there can be 1 to {}",
                              options.roundRobin, kMostTurns));
  }
  return {};
}

#ifdef LOCKSTEP_WITH_NCCL
Made makeCudaNccl(std::shared_ptr<store::Store> store, int rank, int size,
                  const GroupOptions& options) {
  static const nccl::Platform platform{device::cudaDevices(), nccl::ncclLibrary()};
  return makeNccl(platform, std::move(store), rank, size, options);
}
#endif

// Backends by name; those of the build are there from the first look on.
struct Registry {
  Registry() {
#ifdef LOCKSTEP_WITH_GLOO
    factories["gloo"] = makeGloo;
#endif
#ifdef LOCKSTEP_WITH_MPI
    factories["mpi"] = makeMpi;
#endif
#ifdef __linux__
    factories["shared_memory"] = makeSharedMemory;
#endif
#if defined(LOCKSTEP_WITH_GLOO) && defined(__linux__)
    factories["hierarchical"] = makeHierarchical;
    factories["auto"] = makeAutomatic;
#elif defined(__linux__)
    factories["auto"] = makeSharedMemory;  // what else there is
#endif
#ifdef LOCKSTEP_WITH_NCCL
    factories["nccl"] = makeCudaNccl;
#endif
  }

  std::mutex mutex;
  std::map<std::string, BackendFactory> factories;
};

Registry& registry() {
  static Registry all;
  return all;
}

BackendFactory factoryOf(const std::string& name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  const auto found = all.factories.find(name);
  return found == all.factories.end() ? nullptr : found->second;
}

Error unknownBackend(const std::string& name) {
  const std::vector<std::string> names = availableBackends();
  return Error{ExitCode::kEnvironment,
               fmt::format("there is no backend \"{}\" in this build; {}", name,
                           names.empty() ? std::string("it was built without any")
                                         : fmt::format("it has {}", fmt::join(names, ", "))),
               ""};
}

struct DeviceMaker {
  const std::vector<DeviceBackend>& map;
  const std::shared_ptr<store::Store>& store;
  int rank;
  int size;
};

Made makeMapped(const DeviceMaker& maker, const GroupOptions& options) {
  if (maker.map.size() == 1) {
    return factoryOf(maker.map[0].backend)(maker.store, maker.rank, maker.size, options);
  }
  DeviceGroup::Map groups;
  for (const DeviceBackend& entry : maker.map) {
    GroupOptions own = options;
    // Parts of one group are groups of their own: they meet at the store under names of their own,
    // and each counts its operations, so that in events each has a number of its own.
    own.groupName += fmt::format("/{}", c10::DeviceTypeName(entry.device, true));
    if (entry.device == c10::DeviceType::CPU) {
      own.groupNumber = static_cast<std::uint8_t>(std::min(255, kCpuParts + options.groupNumber));
    }
    auto made = LOCKSTEP_TRY(factoryOf(entry.backend)(maker.store, maker.rank, maker.size, own));
    groups.emplace_back(entry.device, std::move(made));
  }
  return std::shared_ptr<ProcessGroup>(
      std::make_shared<DeviceGroup>(options.groupName, groups));
}

Made makeTurns(const DeviceMaker& maker, const GroupOptions& options) {
  std::vector<std::shared_ptr<ProcessGroup>> groups;
  for (int turn = 0; turn < options.roundRobin; ++turn) {
    GroupOptions own = options;
    own.groupName += fmt::format("/{}", turn);
    // 255 is where numbers of groups end in events; groups beyond share it.
    own.groupNumber = static_cast<std::uint8_t>(std::min(255, options.groupNumber + turn));
    auto made = LOCKSTEP_TRY(makeMapped(maker, own));
    groups.push_back(std::move(made));
  }
  return std::shared_ptr<ProcessGroup>(
      std::make_shared<RoundRobinGroup>(options.groupName, std::move(groups)));
}

}  // namespace

base::Result<std::shared_ptr<ProcessGroup>> makeChecked(std::shared_ptr<ProcessGroup> inner,
                                                        const std::string& backend,
                                                        std::shared_ptr<store::Store> store,
                                                        const GroupOptions& options) {
  CheckedGroup::Options check;
  check.mode = options.check;
  check.steps = options.checkSteps;
  check.tracer = options.tracer;
  check.groupNumber = options.groupNumber;
  GroupOptions own = options;
  own.groupName = inner->groupName() + "/check";
  own.threads = 1;        // the checks come one at a time
  own.tracer = nullptr;   // they show as spans of their own
  const BackendFactory factory = factoryOf(backend);
  if (factory == nullptr) {
    return unknownBackend(backend);
  }
  auto checks = LOCKSTEP_TRY(factory(std::move(store), inner->rank(), inner->size(), own));
  return std::shared_ptr<ProcessGroup>(
      std::make_shared<CheckedGroup>(std::move(inner), std::move(checks), check));
}

std::string_view name(CheckMode mode) {
  switch (mode) {
    case CheckMode::kOff: return "off";
    case CheckMode::kFirst: return "first";
    case CheckMode::kAlways: return "always";
  }
  return "unknown";
}

std::optional<CheckMode> checkModeFrom(std::string_view text) {
  for (const CheckMode mode : {CheckMode::kOff, CheckMode::kFirst, CheckMode::kAlways}) {
    if (name(mode) == text) {
      return mode;
    }
  }
  return std::nullopt;
}

base::Status registerBackend(const std::string& name, BackendFactory factory) {
  const auto refuse = [&](const std::string& what) {
    return Error{ExitCode::kBadInput, fmt::format("backend \"{}\": {}", name, what), ""};
  };
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (name.empty() || !plain) {
    return refuse("a name has lower-case letters, digits and '_' only");
  }
  if (factory == nullptr) {
    return refuse("it was registered without a factory");
  }
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  if (!all.factories.emplace(name, std::move(factory)).second) {
    return refuse("there is one of this name already");
  }
  return {};
}

std::vector<std::string> availableBackends() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  std::vector<std::string> names;
  for (const auto& [name, factory] : all.factories) {
    names.push_back(name);
  }
  return names;
}

base::Result<std::shared_ptr<ProcessGroup>> makeProcessGroup(const std::string& backend,
                                                             std::shared_ptr<store::Store> store,
                                                             int rank, int size,
                                                             const GroupOptions& options) {
  LOCKSTEP_TRY(check(rank, size, options));
  const auto map = LOCKSTEP_TRY(parseDeviceMap(backend));
  for (const DeviceBackend& entry : map) {
    if (factoryOf(entry.backend) == nullptr) {
      return unknownBackend(entry.backend);
    }
  }
  const DeviceMaker maker{map, store, rank, size};
  auto made = options.roundRobin > 1 ? makeTurns(maker, options) : makeMapped(maker, options);
  if (!made.ok() || options.check == CheckMode::kOff) {
    return made;
  }
  return makeChecked(std::move(made).value(), map.front().backend, std::move(store), options);
}

}  // namespace lockstep::process_group
