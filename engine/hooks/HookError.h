#pragma once

#include <stdexcept>

namespace lockstep::hooks {

/// A communication hook that failed, gave a result that does not fit, or never finished. The
/// text names the hook, the rank and the bucket. Thrown through autograd and caught once, in
/// app/rank. Errors of the collectives inside a hook stay what they are (CommError).
class HookError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lockstep::hooks
