#pragma once

#include <exception>

namespace lockstep::process_group::gloo {

/// Calls one of an UnboundBuffer's waits, a second time after an exception, and returns what it
/// returns. A peer may leave as soon as it has its part: a wait that wakes up late finds the
/// connection broken before it looks whether its operation is over, while one that begins looks
/// first. [any-thread]
template <typename Wait>
bool waited(Wait wait) {
  try {
    return wait();
  } catch (const std::exception&) {
    return wait();
  }
}

}  // namespace lockstep::process_group::gloo
