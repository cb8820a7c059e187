#pragma once

#include <exception>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/trace/Segment.h"

namespace lockstep::rank {

/// Turns what ended a rank into an exit code and one line: a failed collective or store
/// (kCommFailed), a hook (kHookFailed), a model that cannot be trained so (kBadInput), what a
/// replica of DataParallel failed with, libtorch's errors without their stack (kUnexpected), too
/// little memory (kEnvironment).
base::Error errorOf(const std::exception_ptr& exception);

/// Whom the error that ended this rank finds at fault.
struct Culprits {
  trace::Fault fault = trace::Fault::kNone;
  std::vector<int> ranks;
};
Culprits culpritsOf(const std::exception_ptr& exception);

/// Returns `text` on one line, without surrounding blanks.
std::string oneLine(const std::string& text);

/// Writes "<who>: <message>" to stderr, one line.
void report(const std::string& who, const base::Error& error);

/// Flushes the standard streams and ends the process at once: what libtorch, its BLAS and their
/// threads would do at exit takes long and changes nothing.
[[noreturn]] void leave(base::ExitCode code);

}  // namespace lockstep::rank
