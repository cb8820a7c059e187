#include "tests/support/ChildRole.h"

#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <map>

namespace lockstep::support {
namespace {

constexpr const char* kArgument = "--child-role=";

std::map<std::string, ChildRole>& roles() {
  static std::map<std::string, ChildRole> registered;
  return registered;
}

bool mainAskedForRoles = false;

}  // namespace

RegisterChildRole::RegisterChildRole(const std::string& name, ChildRole role) {
  roles().emplace(name, role);
}

std::string childRoleArgument(const std::string& role) {
  return kArgument + role;
}

bool knowsChildRoles() {
  return mainAskedForRoles;
}

std::optional<int> runChildRole(int argc, char** argv) {
  mainAskedForRoles = true;
  const std::string first = argc > 1 ? argv[1] : "";
  if (!first.starts_with(kArgument)) {
    return std::nullopt;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string name = first.substr(std::string(kArgument).size());
  const auto role = roles().find(name);
  if (role == roles().end()) {
    std::fprintf(stderr, "there is no child role '%s'\n", name.c_str());
    return 1;
  }
  try {
    return role->second(std::vector<std::string>(argv + 2, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace lockstep::support
