#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/Result.h"
#include "engine/base/posix/Descriptor.h"
#include "engine/base/posix/Mapping.h"
#include "engine/trace/EventRecord.h"

namespace lockstep::trace {

// Note [The segment]
// One memfd a rank, made and mapped by the supervisor, inherited by the rank:
//
//   SegmentHeader | LastWords (4 KB) | message ring | lane 0 | lane 1 | ...
//
// A lane is a ring of Events with one producer thread in the rank and one consumer, the
// recorder. The message ring carries framed JSON texts (Messages.h) and has one producer at a
// time (the rank's Tracer holds a mutex). Nobody blocks: what does not fit is counted.
// Because the supervisor keeps the mapping, everything survives the rank, kill -9 included.

inline constexpr std::uint64_t kSegmentMagic = 0x315045'54534b4c;  // "LKSTEP1"
inline constexpr std::uint32_t kSegmentVersion = 1;
inline constexpr std::size_t kLaneNameBytes = 32;

struct SegmentOptions {
  std::uint32_t lanes = 16;
  std::uint32_t eventsPerLane = 1u << 15;        ///< a power of two
  std::uint32_t messageRingBytes = 4u << 20;     ///< a power of two
};

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t lanes;
  std::uint32_t eventsPerLane;
  std::uint32_t messageRingBytes;
  std::atomic<std::uint32_t> lanesInUse;
  std::atomic<std::uint32_t> captureEnabled;  ///< written by the supervisor, read per event
  /// Written by the supervisor, read once a step by a rank that PyTorch trains. The high 16 bits
  /// count the requests, the low 16 say how many steps to trace. 0: no request yet.
  std::atomic<std::uint32_t> traceRequested;
  std::atomic<std::uint32_t> traceDone;  ///< by the rank: the latest request that is over
  alignas(64) std::atomic<std::uint64_t> messageHead;
  alignas(64) std::atomic<std::uint64_t> messageTail;
  alignas(64) std::atomic<std::uint64_t> messagesDropped;
  std::atomic<std::uint64_t> sentBytes;      ///< payload handed to the wire since the start
  std::atomic<std::uint64_t> receivedBytes;
  std::atomic<std::uint64_t> sentMessages;
};

/// What a rank that ends with an error found others, or itself, to have done.
enum class Fault : std::uint8_t {
  kNone = 0,
  kOtherCall = 1,   ///< made another call than most
  kDidNotCome = 2,  ///< did not come, in time, to what the others waited for
  kGone = 3,        ///< its connection broke, or it left while it was needed
  kOtherModel = 4,  ///< built another model, or has other settings, than most
};

/// What a rank is doing now; read by the supervisor after a death. Each field is written by
/// one thread with relaxed stores: a torn pair is possible and harmless.
struct LastWords {
  std::atomic<std::uint32_t> step;
  std::atomic<std::uint16_t> phase;         ///< EventKind of the open step phase, 0 = none
  std::atomic<std::uint16_t> startupStage;  ///< StartupStage while phase is kStartup
  std::atomic<std::uint8_t> operation;      ///< Operation of the oldest open collective
  std::atomic<std::uint16_t> bucket;        ///< its bucket
  std::atomic<std::uint32_t> sequence;      ///< its sequence number
  std::atomic<std::uint64_t> sinceTicks;    ///< when the open operation or phase began
  std::atomic<std::uint32_t> finished;      ///< 1 once the rank ended its work normally
  std::array<char, 64> hook;                ///< name of the communication hook
  std::array<char, 1024> error;             ///< text of the error the rank is ending with
  std::atomic<std::uint8_t> fault;          ///< Fault: what that error says of `culprits`
  /// Ranks that the error finds at fault, each plus 1; 0: no more of them.
  std::array<std::int32_t, 16> culprits;
  std::atomic<std::uint32_t> inputsEnded;  ///< 1 once it ran out of inputs before the others
};
static_assert(sizeof(LastWords) <= 4096);

struct LaneHeader {
  alignas(64) std::atomic<std::uint64_t> head;     ///< events written
  alignas(64) std::atomic<std::uint64_t> tail;     ///< events read
  alignas(64) std::atomic<std::uint64_t> dropped;
  std::array<char, kLaneNameBytes> name;
};

/// A mapped segment. Moves; unmaps when destroyed. The pointers stay valid while it lives.
class Segment {
 public:
  /// Creates a memfd of the needed size, reserved in full, close-on-exec; for the supervisor.
  static base::Result<Segment> create(const SegmentOptions& options);

  /// Maps a segment inherited as `fd`; for the rank. Takes the descriptor over,
  /// also where it fails.
  static base::Result<Segment> attach(int fd);

  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] SegmentHeader& header() const;
  [[nodiscard]] LastWords& lastWords() const;
  [[nodiscard]] LaneHeader& lane(std::uint32_t index) const;
  [[nodiscard]] Event* events(std::uint32_t lane) const;
  [[nodiscard]] char* messageRing() const;

 private:
  Segment(posix::Descriptor file, posix::Mapping memory)
      : file_(std::move(file)), memory_(std::move(memory)) {}

  posix::Descriptor file_;
  posix::Mapping memory_;
};

}  // namespace lockstep::trace
