#pragma once

#include <utility>

namespace lockstep::base {

/// While it lives, a process that crashes in the calling thread can say that it did so in code
/// that is not its own: rank::tellOfCrashes(). Nests. [any-thread]
class CrashNote {
 public:
  /// `text` outlives this: "in hook 'topk', bucket 3 of step 12".
  explicit CrashNote(const char* text) : outer_(std::exchange(current_, text)) {}
  ~CrashNote() { current_ = outer_; }
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;

  /// The innermost note of the calling thread, or null. May be called in a signal handler.
  static const char* current() { return current_; }

 private:
  static inline thread_local const char* current_ = nullptr;
  const char* const outer_;
};

}  // namespace lockstep::base
