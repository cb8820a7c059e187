#include "engine/base/Result.h"

#include <cerrno>
#include <system_error>

namespace lockstep::base {

std::string Error::message() const { return where.empty() ? what : where + ": " + what; }

Error Error::within(const std::string& context) const {
  return Error{code, what, where.empty() ? context : context + ": " + where};
}

Error systemError(ExitCode code, const std::string& what, const std::string& where) {
  return Error{code, what + ": " + std::generic_category().message(errno), where};
}

}  // namespace lockstep::base
