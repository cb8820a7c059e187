#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/Check.h"

namespace lockstep::base {

/// A value that comes later, or the exception that came instead. Copies share one state.
///
/// Differs from std::future where a communication hook needs it: `then` chains without
/// blocking, `wait` has a time limit, and the result can be read any number of times.
/// All members are [any-thread]. Callbacks run on the thread that completes the future, or
/// at once on the caller's when it is complete already; no lock is held while they run.
template <typename T>
class Future {
 public:
  Future() : state_(std::make_shared<State>()) {}

  /// Returns a future that is complete already.
  static Future ready(T value) {
    Future future;
    future.setValue(std::move(value));
    return future;
  }

  /// Completes the future; completing it twice is a defect.
  void setValue(T value) const { complete(std::move(value), nullptr); }
  void setException(std::exception_ptr exception) const {
    LOCKSTEP_CHECK(exception != nullptr, "setException without an exception");
    complete(std::nullopt, std::move(exception));
  }

  [[nodiscard]] bool completed() const {
    std::lock_guard lock(state_->mutex);
    return state_->done;
  }
  [[nodiscard]] bool failed() const {
    std::lock_guard lock(state_->mutex);
    return state_->done && state_->exception != nullptr;
  }

  /// Blocks until complete or `timeout` has passed; returns whether it is complete.
  [[nodiscard]] bool waitFor(std::chrono::milliseconds timeout) const {
    std::unique_lock lock(state_->mutex);
    return state_->ready.wait_for(lock, timeout, [this] { return state_->done; });
  }

  /// Returns the value of a complete future, or throws the exception it was given.
  [[nodiscard]] const T& value() const {
    std::lock_guard lock(state_->mutex);
    LOCKSTEP_CHECK(state_->done, "value() of a future that is not complete");
    if (state_->exception) {
      std::rethrow_exception(state_->exception);
    }
    return *state_->value;
  }
  [[nodiscard]] std::exception_ptr exception() const {
    std::lock_guard lock(state_->mutex);
    return state_->exception;
  }

  /// Calls `callback(*this)` once complete.
  void whenComplete(std::function<void(const Future&)> callback) const {
    {
      std::lock_guard lock(state_->mutex);
      if (!state_->done) {
        state_->callbacks.push_back(std::move(callback));
        return;
      }
    }
    callback(*this);
  }

  /// Returns the future of `function(value)`; an exception, of this future or thrown by
  /// `function`, completes it instead.
  template <typename F, typename R = std::invoke_result_t<F, const T&>>
  Future<R> then(F function) const {
    Future<R> result;
    whenComplete([result, function = std::move(function)](const Future& done) mutable {
      try {
        result.setValue(function(done.value()));
      } catch (...) {
        result.setException(std::current_exception());
      }
    });
    return result;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable ready;
    bool done = false;
    std::optional<T> value;
    std::exception_ptr exception;
    std::vector<std::function<void(const Future&)>> callbacks;
  };

  void complete(std::optional<T> value, std::exception_ptr exception) const {
    const Future self(*this);  // who waits may drop *this as soon as it is done
    State& state = *self.state_;
    std::vector<std::function<void(const Future&)>> callbacks;
    {
      std::lock_guard lock(state.mutex);
      LOCKSTEP_CHECK(!state.done, "a future was completed twice");
      state.value = std::move(value);
      state.exception = std::move(exception);
      state.done = true;
      callbacks.swap(state.callbacks);
    }
    state.ready.notify_all();
    for (auto& callback : callbacks) {
      callback(self);
    }
  }

  std::shared_ptr<State> state_;
};

}  // namespace lockstep::base
