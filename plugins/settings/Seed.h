#pragma once

#include <lockstep/comm_hook.hpp>

namespace lockstep::plugin {

/// The seed of what a hook draws; `help` says of what.
constexpr Description::Number seedOf(const char* help, double initial = 0) {
  return {.key = "seed",
          .label = "Seed",
          .help = help,
          .initial = initial,
          .min = 0,
          .max = 2147483647,
          .flags = LOCKSTEP_PARAM_ADVANCED};
}

}  // namespace lockstep::plugin
