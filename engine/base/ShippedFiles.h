#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"

/// Where programs find what comes with them. Everything is looked for from the executable on, and
/// no path is compiled in: a source tree with its build folder can be moved, and so can an
/// installation, whose folders are
///
///     bin/                 programs
///     lib/lockstep/        programs that only programs start; hooks/
///     share/lockstep/      experiments/ datasets/ python/
namespace lockstep::base {

/// Returns the running program's own file. Links are followed, so that a program that was called by
/// a link elsewhere finds its own files. Error (kEnvironment): /proc does not tell.
Result<std::filesystem::path> programFile();

/// Returns the folder of the running program; empty if /proc does not tell.
std::filesystem::path programFolder();

/// Returns where something that is shipped may stand, the first that exists being it: `installed`
/// below an installation's share/lockstep, then `inTree` in the source tree that holds the build
/// folder. Installations go first: what stands near /usr/bin or ~/bin and happens to be called
/// "experiments" is none of ours.
std::vector<std::filesystem::path> shippedPlaces(const std::filesystem::path& installed,
                                                 const std::filesystem::path& inTree);

/// Returns the path of a program that only other programs start: in an installation's lib/lockstep,
/// if it is there, else beside the running program, as in a build folder.
std::filesystem::path helperProgram(std::string_view name);

}  // namespace lockstep::base
