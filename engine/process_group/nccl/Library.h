#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "engine/device/Device.h"
#include "engine/device/DeviceClock.h"
#include "engine/process_group/ProcessGroup.h"

namespace lockstep::process_group::nccl {

// Note [The seam]
// The backend reaches CUDA through Device and Event (engine/device), and NCCL through Library and
// Communicator, so that its ordering, its watchdog and its clock are the same code over the
// libraries (CudaDevices.h, NcclLibrary.h) and over the test double, which is built everywhere.
using device::Device;
using device::DeviceClock;
using device::DeviceError;
using device::Devices;
using device::Event;

/// What the library said when it could not do what it was asked to.
class LibraryError : public std::runtime_error {
 public:
  LibraryError(const std::string& text, CommErrorKind errorKind)
      : std::runtime_error(text), kind(errorKind) {}
  const CommErrorKind kind;
};

/// One rank's end of a communicator, as an ncclComm_t that does not block its callers. Counts are
/// in elements of `type`; memory is the device's. Calls come from one thread at a time, between
/// Library::groupStart() and groupEnd(), in the same order on every rank; abort() and ready() from
/// any. All but abort() throw LibraryError.
class Communicator {
 public:
  /// Ends it in order when all ranks do; not after abort(). Bounded in time. On a thread of its
  /// own.
  virtual ~Communicator() = default;

  virtual void allreduce(void* data, std::size_t count, c10::ScalarType type, ReduceOp op,
                         const c10::Stream& stream) = 0;
  virtual void broadcast(void* data, std::size_t count, c10::ScalarType type, int root,
                         const c10::Stream& stream) = 0;
  /// `to` is written on `root` alone.
  virtual void reduce(const void* from, void* to, std::size_t count, c10::ScalarType type,
                      ReduceOp op, int root, const c10::Stream& stream) = 0;
  /// `to`: what all ranks give, one behind the other; `count` of each.
  virtual void allgather(const void* from, void* to, std::size_t count, c10::ScalarType type,
                         const c10::Stream& stream) = 0;
  /// `from`: a part for each rank, one behind the other; `count` of each.
  virtual void reduceScatter(const void* from, void* to, std::size_t count, c10::ScalarType type,
                             ReduceOp op, const c10::Stream& stream) = 0;
  virtual void send(const void* from, std::size_t count, c10::ScalarType type, int peer,
                    const c10::Stream& stream) = 0;
  virtual void recv(void* to, std::size_t count, c10::ScalarType type, int peer,
                    const c10::Stream& stream) = 0;

  /// Whether everything it was asked for so far is under way: until then nothing else may be
  /// asked. Throws LibraryError once the communicator has failed, whoever noticed it.
  [[nodiscard]] virtual bool ready() = 0;

  /// Gives it up: what is queued on streams ends soon, with whatever stands in its memory then. May
  /// wait for what other communicators have on the device; on a thread of its own.
  virtual void abort() = 0;
};

/// NCCL. [any-thread]; all members throw LibraryError.
class Library {
 public:
  virtual ~Library() = default;
  /// "NCCL 2.30.7"
  [[nodiscard]] virtual std::string name() const = 0;
  /// Returns what the ranks of one new communicator meet by: one of them makes it for all.
  [[nodiscard]] virtual std::string makeId() = 0;
  /// Begins to join; ready() says when all ranks have. Does not wait for them.
  [[nodiscard]] virtual std::unique_ptr<Communicator> join(const std::string& id, int size,
                                                           int rank, c10::Device device) = 0;
  /// What the calling thread asks of communicators between these two goes as one.
  virtual void groupStart() = 0;
  virtual void groupEnd() = 0;
};

}  // namespace lockstep::process_group::nccl
