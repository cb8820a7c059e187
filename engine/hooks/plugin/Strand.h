#pragma once

#include <functional>
#include <memory>
#include <string>

namespace lockstep::hooks {

/// One thread that runs what is posted to it, in that order, with gradient mode off. What a
/// plugin promises to hold is only ever touched here, so that neither hooks nor the code around
/// them need locks.
class Strand {
 public:
  explicit Strand(const std::string& name);
  /// Drops what has not begun. Waits up to a second for what has; a function that hangs keeps
  /// its thread and whatever it captured.
  ~Strand();
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  /// [any-thread]
  void post(std::function<void()> function) const;
  /// Whether the caller is this thread. [any-thread]
  [[nodiscard]] bool isHere() const;
  /// At once when called on the strand, else posted. [any-thread]
  void runHereOrPost(std::function<void()> function) const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace lockstep::hooks
