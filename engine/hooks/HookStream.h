#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <memory>
#include <mutex>
#include <optional>

namespace lockstep::hooks {

/// A point of a device's stream after which the work of other streams can be ordered; empty for the
/// CPU.
class StreamPoint {
 public:
  StreamPoint() = default;
  /// Where the calling thread's current stream of `device` stands now.
  explicit StreamPoint(const c10::Device& device);

  /// Work that the calling thread's current stream is given from now on starts after the point.
  void orderCurrent() const;

 private:
  std::shared_ptr<c10::Event> event_;
};

/// The stream that the work of a hook, with the hooks inside it, is queued on, so that it runs
/// beside the backward: of high priority, on the first device it is asked for. [any-thread]
class HookStream {
 public:
  /// While it lives the calling thread works on the hook's stream; nothing on the CPU.
  class Guard {
   public:
    explicit Guard(const std::optional<c10::Stream>& stream) {
      if (stream) {
        guard_.emplace(*stream);
      }
    }

   private:
    std::optional<c10::StreamGuard> guard_;
  };

  [[nodiscard]] Guard enter(const c10::Device& device);
  /// The cudaStream_t; null on the CPU.
  [[nodiscard]] void* handle(const c10::Device& device);

 private:
  std::optional<c10::Stream> of(const c10::Device& device);

  std::mutex mutex_;
  std::optional<c10::Stream> stream_;
};

}  // namespace lockstep::hooks
