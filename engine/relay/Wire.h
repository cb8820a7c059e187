#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/trace/EventRecord.h"

namespace lockstep::relay {

// Note [The relay's protocol]
// A relay supervises the ranks of one host, or one of them, and carries what it learns to the
// head, where the recorder is. Over one encrypted connection (Token.h) go single-frame messages:
// a byte that says which, and the fields in their order: Note [Bytes on a wire].
//
//   relay                           head
//   Hello             ─────────▶
//                     ◀─────────    Welcome: the run, and which ranks are yours; or Refusal
//   Pong              ◀────────▶    Ping, from now on, at least once a second
//                     ◀─────────    Start, once every rank has its relay
//   RankStarted, Batch, RankOutput, RankEnded  ─▶
//   StopAsked         ─────────▶    a scheduler wants this host's part to end
//                     ◀─────────    SendSignal, SetCapture
//                     ◀─────────    Farewell: go
//
// A relay that observes has a command of its own instead, whose processes say themselves which
// ranks they are, and how many there are:
//
//   Hello, observes   ─────────▶
//                     ◀─────────    Welcome, without ranks; Ping
//                     ◀─────────    Start: its command, once its clock is known
//   Attach            ─────────▶    a process wants to be recorded
//                     ◀─────────    Attached: as which step's; or why not
//                     ◀─────────    RequestTrace, whose end comes with the batches
//   Batch, RankOutput (rank -1: the command's), RankEnded  ─▶
//   CommandEnded      ─────────▶    all of it was sent before
//                     ◀─────────    Farewell
//
// There is one connection in a relay's life: when it breaks, head and relay have lost each other.
// A relay that the head has not heard for launch.lost_after_seconds counts as lost, and so does
// a head for its relays. Batches are numbered from 1: what is missing is counted, and what comes
// twice is left out.

inline constexpr std::uint32_t kProtocolVersion = 4;
/// What a Hello's environment calls trace::processSpace().
inline constexpr const char* kProcessSpace = "process_space";
/// Is in a Hello's environment where the relay observes. There, and no field of its own, so that
/// relays of other versions can read each other's Hello, and be refused by a sentence.
inline constexpr const char* kObserves = "observes";

struct Hello {
  std::uint32_t version = kProtocolVersion;
  std::string program;  ///< version of Lockstep
  std::string hostName;
  std::string hostIdentity;  ///< trace::hostIdentity()
  std::string address;       ///< where the other hosts reach this one
  std::int64_t pid = 0;
  std::vector<std::int32_t> ranks;  ///< empty: those of `nodeRank`
  std::optional<std::int32_t> nodeRank;
  std::int32_t nodeSize = 0;              ///< with nodeRank: its ranks, to be checked; 0 = any
  std::optional<std::int32_t> worldSize;  ///< as whoever started it says
  std::map<std::string, std::string> environment;  ///< of the host; kProcessSpace among it
};

struct Welcome {
  std::string runId;
  std::string experimentToml;
  std::string headName;
  std::int32_t worldSize = 0;
  std::int32_t hosts = 1;
  std::uint16_t storePort = 0;  ///< at the head's address, as the relay reaches it
  std::string storeToken;
  std::vector<std::int32_t> ranks;
  bool sameHost = false;  ///< the head can see the ranks' processes itself
  double lostAfterSeconds = 0;
};

struct Refusal {
  std::uint8_t exitCode = 0;
  std::string why;
};

struct Start {
  std::string elsewhere;  ///< "host a with ranks 0, 1": whom a relay that is cut off has lost
};

struct Ping {
  std::uint64_t id = 0;
};

struct Pong {
  std::uint64_t id = 0;
  std::int64_t receivedNs = 0;  ///< CLOCK_MONOTONIC of the relay's host
  std::int64_t sentNs = 0;
  base::ClockReading firstReading;  ///< there; with `reading` its calibration
  base::ClockReading reading;
};

/// What a lane has emitted since the batch before.
struct LanePart {
  std::uint32_t lane = 0;
  std::string name;
  std::uint64_t dropped = 0;  ///< since the start
  std::vector<trace::Event> events;
};

/// trace::LastWords; see there.
struct Words {
  std::uint32_t step = 0;
  std::uint16_t phase = 0;
  std::uint16_t startupStage = 0;
  std::uint8_t operation = 0;
  std::uint16_t bucket = 0;
  std::uint32_t sequence = 0;
  std::uint64_t sinceTicks = 0;
  std::uint32_t finished = 0;
  std::string hook;
  std::string error;
  std::uint8_t fault = 0;
  std::vector<std::int32_t> culprits;
  std::uint32_t inputsEnded = 0;
};

struct RankPart {
  std::int32_t rank = 0;
  bool suspended = false;
  std::uint64_t sentBytes = 0;  ///< these four since the start
  std::uint64_t receivedBytes = 0;
  std::uint64_t sentMessages = 0;
  std::uint64_t messagesDropped = 0;
  std::uint32_t traceDone = 0;  ///< the latest request for a trace that is over
  Words words;
  std::vector<LanePart> lanes;
  std::vector<std::string> messages;
};

struct Batch {
  std::uint64_t number = 0;
  std::uint64_t nowTicks = 0;  ///< of the relay's host
  std::vector<RankPart> ranks;
};

struct RankStarted {
  std::int32_t rank = 0;
  std::int64_t pid = 0;
};

struct RankOutput {
  std::int32_t rank = 0;
  bool isError = false;
  std::string bytes;
};

struct RankEnded {
  std::int32_t rank = 0;
  std::int32_t exitCode = 0;
  std::int32_t signal = 0;
};

/// A process here wants to be recorded. One question at a time.
struct Attach {
  std::int32_t rank = 0;
  std::int32_t worldSize = 0;
  std::int64_t pid = 0;
};

/// How the command of a relay that observes ended.
struct CommandEnded {
  std::int32_t exitCode = 0;
  std::int32_t signal = 0;
};

struct StopAsked {
  std::string who;
};

/// The answer to an Attach.
struct Attached {
  std::int32_t rank = 0;
  std::uint32_t step = 0;  ///< the first that the process may write
  std::string refusal;     ///< why it is not recorded; empty: it is
};

struct SendSignal {
  std::int32_t rank = 0;  ///< -1: to the command
  std::int32_t signal = 0;
};

struct SetCapture {
  bool enabled = true;
};

/// Every process that the relay has let in is to trace (trace::SegmentHeader::traceRequested).
struct RequestTrace {
  std::uint32_t request = 0;
};

/// The relay cannot do its part: "cannot start ...". It kills what it has started.
struct RelayFailed {
  std::uint8_t exitCode = 0;
  std::string failure;
};

struct Farewell {};

using FromRelay = std::variant<Hello, Pong, Batch, RankStarted, RankOutput, RankEnded, StopAsked,
                               RelayFailed, Attach, CommandEnded>;
using ToRelay = std::variant<Welcome, Refusal, Start, Ping, SendSignal, SetCapture, Farewell,
                             Attached, RequestTrace>;

std::string encode(const FromRelay& message);
std::string encode(const ToRelay& message);

/// Nothing: not a whole message of this protocol, or bytes are left over.
std::optional<FromRelay> decodeFromRelay(std::string_view bytes);
std::optional<ToRelay> decodeToRelay(std::string_view bytes);

}  // namespace lockstep::relay
