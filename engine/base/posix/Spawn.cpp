#include "engine/base/posix/Spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/posix/Descriptor.h"

namespace lockstep::posix {
namespace {

/// What posix_spawn needs, freed at the end.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) {
    result.push_back(const_cast<char*>(text.c_str()));
  }
  result.push_back(nullptr);
  return result;
}

}  // namespace

pid_t spawn(const SpawnOptions& options) {
  std::vector<int> placed{options.output, options.errors};
  placed.insert(placed.end(), options.descriptors.begin(), options.descriptors.end());
  const int firstFree = STDOUT_FILENO + static_cast<int>(placed.size());

  SpawnPlan plan;
  posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // Duplicates above all places, so that putting one in its place never overwrites the next.
  std::vector<Descriptor> duplicates;
  int place = STDOUT_FILENO;
  for (const int fd : placed) {
    duplicates.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, firstFree));
    if (!duplicates.back().open()) {
      return -1;
    }
    posix_spawn_file_actions_adddup2(&plan.actions, duplicates.back().get(), place++);
  }
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, firstFree);
  if (!options.folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&plan.actions, options.folder.c_str());
  }

  // Blocked and ignored signals pass to a child, and through exec: one that has SIGTERM ignored
  // could not be stopped by it.
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  const bool leadsSession = options.leads == SpawnOptions::Leads::kSession;
  posix_spawnattr_setflags(&plan.attributes,
                           (leadsSession ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP) |
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&plan.attributes, 0);  // one of its own
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);

  // By convention the first argument is the name that a program was called by.
  std::vector<std::string> arguments{options.program.string()};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  pid_t pid = -1;
  const int failure =
      posix_spawnp(&pid, options.program.c_str(), &plan.actions, &plan.attributes,
                   pointers(arguments).data(), pointers(options.environment).data());
  errno = failure;
  return failure == 0 ? pid : -1;
}

}  // namespace lockstep::posix
