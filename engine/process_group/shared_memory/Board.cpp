#include "engine/process_group/shared_memory/Board.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/Try.h"

namespace lockstep::process_group::shared_memory {
namespace {

using base::Error;
using base::ExitCode;

// No two ranks write into one line of the cache, and elements of any type lie where the processor
// wants them.
constexpr std::size_t kLine = 64;

constexpr std::uint64_t kMagic = 0x4C4B53484D454D33;  // "LKSHMEM3"

struct Header {
  std::uint64_t magic;
  std::int32_t size;
  Tuning tuning;
  alignas(kLine) std::atomic<std::uint64_t> fate;
  alignas(kLine) std::atomic<std::int32_t> awake;
};

// Where the parts of a board of this size begin. All of it follows from size and tuning, which the
// header has, so that ranks of two versions that cut differently refuse each other (attach) and do
// not misread.
struct Layout {
  Layout(int size, const Tuning& tuning) {
    const auto ranks = static_cast<std::size_t>(size);
    completed = sizeof(Header);
    slots = completed + ranks * sizeof(Signal);
    places = slots + Board::kSlots * sizeof(Slot);
    inlines = (places + Board::kSlots * ranks * sizeof(Place) + kLine - 1) / kLine * kLine;
    end = inlines + Board::kSlots * ranks * tuning.inlineBytes;
  }
  std::size_t completed, slots, places, inlines, end;
};

}  // namespace

Tuning tuningFor(int size) {
  Tuning tuning;
  // Reducing all of it on every rank reads size() times as much as reducing a share.
  const std::uint32_t share = (128U << 10) / static_cast<std::uint32_t>(std::max(size, 1));
  tuning.inlineBytes = std::clamp(share, 4U << 10, 64U << 10) / kLine * kLine;
  tuning.chunkBytes = 512 << 10;
  tuning.blockBytes = 128 << 10;
  return tuning;
}

Board::Board(std::shared_ptr<Segment> segment, int size, const Tuning& tuning)
    : segment_(std::move(segment)), size_(size), tuning_(tuning) {
  std::byte* const memory = segment_->data();
  const Layout layout(size, tuning);
  awake_ = &reinterpret_cast<Header*>(memory)->awake;
  fate_ = &reinterpret_cast<Header*>(memory)->fate;
  completed_ = reinterpret_cast<Signal*>(memory + layout.completed);
  slots_ = reinterpret_cast<Slot*>(memory + layout.slots);
  places_ = reinterpret_cast<Place*>(memory + layout.places);
  inline_ = memory + layout.inlines;
}

base::Result<std::unique_ptr<Board>> Board::create(int size, const Tuning& tuning) {
  auto segment = LOCKSTEP_TRY(Segment::create(Layout(size, tuning).end));
  auto* header = reinterpret_cast<Header*>(segment->data());
  header->magic = kMagic;
  header->size = size;
  header->tuning = tuning;
  // Callers count as awake from the beginning, as they are until they wait.
  header->awake.store(size);
  return std::unique_ptr<Board>(new Board(std::move(segment), size, tuning));
}

base::Result<std::unique_ptr<Board>> Board::attach(posix::Descriptor file, std::uint64_t bytes,
                                                   int size) {
  auto segment = LOCKSTEP_TRY(Segment::adopt(std::move(file), bytes));
  const auto* header = reinterpret_cast<const Header*>(segment->data());
  if (bytes < sizeof(Header) || header->magic != kMagic || header->size != size ||
      Layout(size, header->tuning).end > bytes) {
    return Error{ExitCode::kCommFailed,
                 fmt::format("rank 0 has sent a board that is none for {} ranks; it may run "
                             "another version",
                             size),
                 ""};
  }
  const Tuning tuning = header->tuning;
  return std::unique_ptr<Board>(new Board(std::move(segment), size, tuning));
}

bool Board::deliver(std::uint64_t order) {
  std::uint64_t seen = fate_->load();
  for (;;) {
    Fate next(seen);
    if (order <= next.delivered) {
      return true;
    }
    if (next.refuses(order)) {
      return false;
    }
    // The first that is refused stays what it is; the distance to it shrinks.
    if (next.room != 0) {
      next.room -= order - next.delivered;
    }
    next.delivered = order;
    if (fate_->compare_exchange_weak(seen, next.word())) {
      return true;
    }
  }
}

bool Board::refuse(std::uint64_t order) {
  std::uint64_t seen = fate_->load();
  for (;;) {
    Fate next(seen);
    // A distance that does not fit into its bits refuses more than was asked for, on all ranks
    // alike.
    const std::uint64_t room =
        order <= next.delivered ? 1 : std::min(order - next.delivered, Fate::kMostRoom);
    next.room = next.room == 0 ? room : std::min(next.room, room);
    // False: others have taken a step with it already, so it must end well here, too.
    if (fate_->compare_exchange_weak(seen, next.word())) {
      return order > next.delivered;
    }
  }
}

}  // namespace lockstep::process_group::shared_memory
