#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/process_group/nccl/ProcessGroupNCCL.h"

namespace lockstep::process_group::nccl {

// Note [The test double]
// A device whose memory is the host's and whose streams are threads that do what is queued on
// them in its order, and a library whose communicators meet in the process. Stream 0, which a
// thread works on unless it takes another, is the host itself: what is queued there is done at
// once, and to order it behind an event is to wait. A collective is done when the streams of all
// its ranks have come to it, however long that takes, as in NCCL. Where one rank gives up its end
// of a communicator the others hear of a network error. Tests hold operations up and let devices
// and communicators fail.

/// What all ranks of a test share.
class FakeFabric {
 public:
  /// One batch of operations on a communicator: those between groupStart() and groupEnd().
  struct Moment {
    int size = 0;   ///< of the communicator
    int rank = 0;   ///< in it
    int batch = 0;  ///< from 0
  };

  FakeFabric();
  ~FakeFabric();

  /// Streams that come to a moment for which this is true stop there.
  void hold(std::function<bool(const Moment&)> which);
  void release();
  /// Blocks until as many streams stand there; false after ten seconds.
  bool awaitHeld(int count);

  /// What this rank asks its communicators of this size for is never under way, as where NCCL
  /// waits for a peer to connect.
  void neverSettle(int size, int rank);

  /// Communicators of this size fail on this rank with `text`, as if NCCL had noticed something.
  void failCommunicators(int size, int rank, const std::string& text);

  struct State;
  const std::shared_ptr<State> state;
};

/// How one rank's device differs.
struct FakeDeviceOptions {
  std::int64_t clockOffsetNs = 0;  ///< of its clock to the host's
  std::string absent;              ///< why there is none; empty: there is
};

/// One rank's device and library.
class FakePlatform {
 public:
  explicit FakePlatform(const FakeFabric& fabric, const FakeDeviceOptions& options = {});

  [[nodiscard]] Platform platform() const;
  [[nodiscard]] Device& device() const;

  /// From now on the device says this to whoever asks whether it has come past an event.
  void failDevice(const std::string& text);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// While it lives the calling thread works on a stream of its own of that device.
class OnOwnStream {
 public:
  explicit OnOwnStream(Device& device);
  ~OnOwnStream();
  OnOwnStream(const OnOwnStream&) = delete;
  OnOwnStream& operator=(const OnOwnStream&) = delete;

  [[nodiscard]] const c10::Stream& stream() const { return stream_; }

 private:
  const c10::Stream stream_;
  const c10::Stream before_;
};

}  // namespace lockstep::process_group::nccl
