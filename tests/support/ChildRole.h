#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::support {

/// What a test binary does when it is started as a child; returns the exit code.
using ChildRole = int (*)(const std::vector<std::string>& arguments);

/// Makes a role known before main(); one static object a role:
///   const RegisterChildRole serving("serve", serve);
struct RegisterChildRole {
  RegisterChildRole(const std::string& name, ChildRole role);
};

/// Runs the role the command line asks for and returns its exit code; nothing for a test run.
/// An exception is printed and ends in exit code 1. The child dies with its parent.
std::optional<int> runChildRole(int argc, char** argv);

/// Returns the argument that asks for a role.
std::string childRoleArgument(const std::string& role);

/// Returns whether main() asks for roles; without it a child would run the tests again.
bool knowsChildRoles();

}  // namespace lockstep::support
