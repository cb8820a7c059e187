#pragma once

#include <string>
#include <utility>

#include "engine/hooks/HookError.h"

namespace lockstep::hooks {

/// A hook that could not be created since it is not made for this: it answered
/// LOCKSTEP_E_UNSUPPORTED to this world size or these values of its parameters.
class HookRefusal : public HookError {
 public:
  HookRefusal(const std::string& text, std::string reason)
      : HookError(text), reason_(std::move(reason)) {}

  /// The plugin's own sentence.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

}  // namespace lockstep::hooks
