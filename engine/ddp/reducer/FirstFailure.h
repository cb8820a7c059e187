#pragma once

#include <exception>
#include <mutex>
#include <string>

#include "engine/ddp/reducer/ReducerContext.h"

namespace lockstep::ddp {

/// The error that ended a Reducer. It also aborts the group with its text, so that the peers end
/// with it and not with a time-out; a CommError of the group itself has done that already.
/// Guarded by the Reducer's mutex, which is not held while the group is aborted.
class FirstFailure {
 public:
  using Lock = std::unique_lock<std::mutex>;

  explicit FirstFailure(ReducerContext& context) : context_(context) {}

  /// Empty: there was none.
  [[nodiscard]] const std::string& text() const { return text_; }

  /// Keeps an error, if it is the first, before the caller throws it on. `lock` may be held or
  /// free; if this error was the first it is free afterwards.
  void note(Lock& lock, const std::exception& error);
  /// Throws it as a DdpError; frees `lock`.
  [[noreturn]] void fail(Lock& lock, std::string text);
  /// The forward ended in an exception with this text, which is about to leave it.
  void noteForward(const std::string& what);

 private:
  ReducerContext& context_;
  std::string text_;
};

}  // namespace lockstep::ddp
