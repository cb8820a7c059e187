#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/base/Result.h"
#include "engine/process_group/shared_memory/Segment.h"
#include "engine/process_group/shared_memory/Signal.h"

namespace lockstep::process_group::shared_memory {

/// How operations are cut; the same on all ranks of a group, which take it from the board.
struct Tuning {
  /// What a rank shows of up to this many bytes is copied onto the board; for an allreduce this
  /// means that every rank reduces all of it for itself, which needs one meeting.
  std::uint32_t inlineBytes = 0;
  /// What lies in private memory is shown piece by piece, of this many bytes (multiple of 64).
  std::uint32_t chunkBytes = 0;
  /// What lies in shared memory on all ranks is reduced in blocks of this many bytes, each by
  /// the rank that comes first (multiple of 64).
  std::uint32_t blockBytes = 0;
};
/// Returns what measuring has shown to be good for this many ranks.
[[nodiscard]] Tuning tuningFor(int size);

/// Where the other ranks find what a rank shows.
enum class Source : std::uint32_t {
  kNone,     ///< it shows nothing
  kInline,   ///< on the board
  kExposed,  ///< in a segment, where the tensor lies
  kStaged,   ///< in the rank's staging segment, chunk by chunk
};

/// One rank's part of one operation, as it stands on the board.
struct alignas(64) Place {
  /// Number of the operation; set after all below is written. The steps of a rank are how many
  /// meetings of the operation it has come to.
  std::atomic<std::uint64_t> order;
  std::atomic<std::uint32_t> steps;
  std::atomic<std::uint32_t> reducing;  ///< 1 while it may have taken a block of a common reduction

  std::uint32_t operation;
  std::uint32_t reduce;
  std::int32_t root;
  std::uint32_t dtype;
  std::uint32_t tensors;
  std::uint64_t elements;
  std::uint64_t bytes;
  std::uint64_t fingerprint;

  Source source;
  std::uint64_t shown;  ///< bytes
  std::uint64_t segment;
  std::uint64_t offset;
};

/// What the ranks share of one operation in flight.
struct Slot {
  Signal arrivals;  ///< each rank adds one at each meeting
  Signal finished;  ///< each block of a common reduction adds one
  /// The next block of a common reduction: number of the operation (high half), index (low).
  alignas(64) std::atomic<std::uint64_t> claims;
};

// Note [What an abort leaves]
// A rank that gives up must not undo what others have taken a step with: an operation ends well on
// all ranks or on none. So its end is decided in one word of the board, which only compare-and-swap
// changes. The first rank to see that nothing is left to wait for (all ranks have come to a small
// operation, or to the last meeting of a large one) delivers it. A rank that gives up refuses the
// operation that failed, or what it has not called, and all after that. To what it called before it
// leaves a moment (Breaking.cpp), in which it goes on doing its part, and refuses then what is not
// delivered; where another rank is gone, it refuses at once what needs that rank.

/// The memory through which the ranks of one group arrange their operations. Operation n, from
/// 1, uses slot n % kSlots. A rank may write to it once every rank has completed operation
/// n - kSlots; nobody reads what that one left there any more. [any-thread]
class Board {
 public:
  static constexpr std::uint64_t kSlots = 8;

  /// Makes the board of a group.
  static base::Result<std::unique_ptr<Board>> create(int size, const Tuning& tuning);
  /// Takes the one that another rank has made; the error says why it is none of this group's.
  static base::Result<std::unique_ptr<Board>> attach(posix::Descriptor file, std::uint64_t bytes,
                                                     int size);

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const Tuning& tuning() const { return tuning_; }
  /// What to hand to other ranks.
  [[nodiscard]] const Segment& segment() const { return *segment_; }

  [[nodiscard]] Slot& slot(std::uint64_t order) const { return slots_[order % kSlots]; }
  [[nodiscard]] Place& place(std::uint64_t order, int rank) const {
    return places_[index(order, rank)];
  }
  /// Whether a rank has come to an operation.
  [[nodiscard]] bool hasCome(std::uint64_t order, int rank) const {
    return place(order, rank).order.load(std::memory_order_acquire) == order;
  }
  /// tuning().inlineBytes of room for what a rank shows in an operation.
  [[nodiscard]] std::byte* inlineArea(std::uint64_t order, int rank) const {
    return inline_ + index(order, rank) * tuning_.inlineBytes;
  }

  /// The low half of the number of the last operation that a rank has completed.
  [[nodiscard]] Signal& completed(int rank) const {
    return completed_[static_cast<std::size_t>(rank)];
  }

  /// How many threads of this group's ranks are awake: each rank's caller, but while it sleeps
  /// in a wait, and communication threads at work.
  [[nodiscard]] std::atomic<std::int32_t>& awake() const { return *awake_; }

  // See Note [What an abort leaves].
  /// Decides that an operation ends well on every rank, as all before it do. False: it is refused.
  bool deliver(std::uint64_t order);
  /// Decides that what is not delivered from this operation on fails on every rank. False: this
  /// one is delivered.
  bool refuse(std::uint64_t order);
  [[nodiscard]] bool delivered(std::uint64_t order) const { return order <= fate().delivered; }
  [[nodiscard]] bool refused(std::uint64_t order) const { return fate().refuses(order); }
  /// Whether some rank has given up.
  [[nodiscard]] bool broken() const { return fate().room != 0; }

 private:
  // What is decided, in one word: the last operation that is delivered, and, once a rank has
  // given up, the distance from there to the first that is refused.
  struct Fate {
    // Of the 64 bits: an operation that was called and waits in the queue has to fit, too.
    static constexpr int kRoomBits = 20;
    static constexpr std::uint64_t kMostRoom = (1U << kRoomBits) - 1;
    explicit Fate(std::uint64_t word) : delivered(word >> kRoomBits), room(word & kMostRoom) {}
    [[nodiscard]] std::uint64_t word() const { return delivered << kRoomBits | room; }
    [[nodiscard]] bool refuses(std::uint64_t order) const {
      return room != 0 && order >= delivered + room;
    }
    std::uint64_t delivered;
    std::uint64_t room;
  };

  Board(std::shared_ptr<Segment> segment, int size, const Tuning& tuning);
  [[nodiscard]] Fate fate() const { return Fate(fate_->load()); }
  [[nodiscard]] std::size_t index(std::uint64_t order, int rank) const {
    return static_cast<std::size_t>(order % kSlots) * static_cast<std::size_t>(size_) +
           static_cast<std::size_t>(rank);
  }

  std::shared_ptr<Segment> segment_;
  int size_;
  Tuning tuning_;
  std::atomic<std::int32_t>* awake_ = nullptr;
  std::atomic<std::uint64_t>* fate_ = nullptr;
  Signal* completed_ = nullptr;
  Slot* slots_ = nullptr;
  Place* places_ = nullptr;
  std::byte* inline_ = nullptr;
};

}  // namespace lockstep::process_group::shared_memory
