#include "engine/process_group/shared_memory/Transfer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/process_group/shared_memory/Agreement.h"

namespace lockstep::process_group::shared_memory {
namespace {

using namespace std::chrono_literals;

// What is reduced at a time: it stays in the first-level cache while it is passed on.
constexpr std::uint64_t kStep = 16 << 10;
// How long a look for a segment may block; its announcement precedes the rank's arrival.
constexpr std::chrono::milliseconds kPatience = 20ms;

// Cuts a range into one piece a rank, at cache lines; the last may be short, or empty.
Range pieceOf(Range range, int rank, int size) {
  const auto ranks = static_cast<std::uint64_t>(size);
  const auto index = static_cast<std::uint64_t>(rank);
  const std::uint64_t bytes = range.end - range.begin;
  // Up to whole cache lines, so that no two ranks write to one; the last pieces may be empty then.
  const std::uint64_t each = ((bytes + ranks - 1) / ranks + 63) / 64 * 64;
  return {range.begin + std::min(bytes, index * each),
          range.begin + std::min(bytes, (index + 1) * each)};
}

Range chunkOf(std::uint64_t round, std::uint64_t bytes, std::uint64_t chunk) {
  return {std::min(bytes, round * chunk), std::min(bytes, (round + 1) * chunk)};
}

}  // namespace

Transfer::Transfer(Operation& operation, int rank, Board& board, Directory& directory,
                   Waiter& waiter, std::byte* staging, Bases bases)
    : operation_(operation),
      collective_(*operation.collective()),
      rank_(rank),
      size_(board.size()),
      board_(board),
      directory_(directory),
      waiter_(waiter),
      staging_(staging),
      bases_(bases),
      slot_(board.slot(operation.order())) {}

void Transfer::run() {
  waiter_.until(slot_.arrivals, bases_.arrivals + static_cast<std::uint32_t>(size_));
  // Calls are compared before anything is read: what the others show means nothing otherwise.
  if (Failure found = mismatch(operation_, rank_, board_); !found.what.empty()) {
    throw found;
  }
  // Another rank has given up on this operation, or on one before it.
  if (board_.refused(operation_.order())) {
    waiter_.untilFailed();
  }
  for (int rank = 0; rank < size_; ++rank) {
    places_.push_back(&board_.place(operation_.order(), rank));
  }
  // All is on the board already: nothing that another rank does can fail this any more. So it is
  // delivered first; a rank that takes and finds it refused would have changed its tensors.
  if (!any(Source::kExposed) && !any(Source::kStaged)) {
    deliver();
    takeInRounds();
    return;
  }
  // Blocks are reduced in everybody's memory, so every rank's must be shown where it lies.
  const bool together = collective_.reducesInPlace() != nullptr && !any(Source::kStaged);
  if (together) {
    const std::uint64_t block = board_.tuning().blockBytes;
    operation_.blocks = static_cast<std::uint32_t>((collective_.own().bytes() + block - 1) / block);
  }
  if (!findSegments(together)) {
    deliver();
    return;
  }
  if (collective_.reducesInPlace() == nullptr) {
    takeInRounds();
    // The departure: nobody reads this rank's memory any more.
    meet();
  } else if (together) {
    reduceTogether();
  } else {
    reduceInRounds();
  }
  deliver();
}

// No rank need come to anything more.
void Transfer::deliver() {
  if (!board_.deliver(operation_.order())) {
    waiter_.untilFailed();
  }
}

bool Transfer::any(Source source) const {
  return std::any_of(places_.begin(), places_.end(),
                     [source](const Place* place) { return place->source == source; });
}

// Returns false when others have done a common reduction by themselves: they may have given their
// segments back by now.
bool Transfer::findSegments(bool together) {
  const std::uint32_t done = bases_.finished + operation_.blocks;
  segments_.resize(static_cast<std::size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) {
    const Place& shown = place(rank);
    if (rank == rank_ || (shown.source != Source::kExposed && shown.source != Source::kStaged)) {
      continue;
    }
    // A staging segment is used whole, whatever the operation shows.
    const std::uint64_t bytes =
        shown.source == Source::kStaged ? kBuffers * board_.tuning().chunkBytes : shown.shown;
    std::shared_ptr<std::byte>& found = segments_[static_cast<std::size_t>(rank)];
    if (together && slot_.finished.reached(done)) {
      return false;
    }
    while ((found = directory_.find(rank, shown.segment, shown.offset, bytes, kPatience)) ==
           nullptr) {
      if (together && slot_.finished.reached(done)) {
        return false;
      }
      waiter_.check();
    }
  }
  return true;
}

// Comes to the next meeting and waits for the others.
void Transfer::meet() {
  const std::uint32_t number = ++operation_.meetings;
  board_.place(operation_.order(), rank_).steps.store(number, std::memory_order_relaxed);
  const auto size = static_cast<std::uint32_t>(size_);
  // The sum is a multiple of the group's size exactly when a meeting is complete: the last to come
  // wakes.
  if ((slot_.arrivals.add(1) - bases_.arrivals) % size == 0) {
    slot_.arrivals.wakeAll();
  }
  waiter_.until(slot_.arrivals, bases_.arrivals + size * number);
}

std::uint64_t Transfer::rounds() const {
  const std::uint64_t chunk = board_.tuning().chunkBytes;
  // As many as the largest of those that stage needs; others follow, with nothing to lay out.
  std::uint64_t rounds = 1;
  for (const Place* place : places_) {
    if (place->source == Source::kStaged) {
      rounds = std::max(rounds, (place->shown + chunk - 1) / chunk);
    }
  }
  return rounds;
}

std::byte* Transfer::buffer(int rank, std::uint64_t round) const {
  std::byte* const staging =
      rank == rank_ ? staging_ : segments_[static_cast<std::size_t>(rank)].get();
  return staging + round % kBuffers * board_.tuning().chunkBytes;
}

void Transfer::layOutFirst(const Operation& operation, int rank, const Board& board,
                           std::byte* staging) {
  layOut(operation, rank, board, staging, 0);
}

// Of what is reduced in place, this rank's piece is read by nobody else.
void Transfer::layOut(const Operation& operation, int rank, const Board& board, std::byte* buffer,
                      std::uint64_t round) {
  const Flat& own = operation.collective()->own();
  const Range chunk = chunkOf(round, own.bytes(), board.tuning().chunkBytes);
  // An empty range at the end: all is laid out.
  Range mine{chunk.end, chunk.end};
  if (operation.collective()->reducesInPlace() != nullptr) {
    mine = pieceOf(chunk, rank, board.size());
  }
  own.read(chunk.begin, mine.begin - chunk.begin, buffer);
  own.read(mine.end, chunk.end - mine.end, buffer + (mine.end - chunk.begin));
}

void Transfer::setWindows(Windows& windows, std::uint64_t round) const {
  const std::uint64_t chunk = board_.tuning().chunkBytes;
  const std::uint64_t order = operation_.order();
  const std::uint64_t tables = tableBytes(operation_.call, size_);
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) {
      continue;
    }
    switch (place(rank).source) {
      case Source::kNone:
        break;
      case Source::kInline:
        windows.set(rank, board_.inlineArea(order, rank) + tables, 0);
        break;
      case Source::kExposed:
        windows.set(rank, segments_[static_cast<std::size_t>(rank)].get(), 0);
        break;
      case Source::kStaged:
        windows.set(rank, buffer(rank, round), round * chunk);
        break;
    }
  }
}

void Transfer::takeInRounds() {
  const std::uint64_t chunk = board_.tuning().chunkBytes;
  const std::uint64_t count = rounds();
  Windows windows(rank_, size_, collective_.own());
  if (tableBytes(operation_.call, size_) != 0) {
    windows.setBeginsFor(beginsFor(operation_, rank_, board_));
  }
  for (std::uint64_t round = 0; round < count; ++round) {
    if (round > 0) {
      meet();
    }
    setWindows(windows, round);
    const bool last = round + 1 == count;
    // The last range is open, for what ranks expose may be longer than all rounds of staging
    // together.
    windows.setRange(
        {round * chunk, last ? std::numeric_limits<std::uint64_t>::max() : (round + 1) * chunk});
    collective_.take(windows);
    // While the others still take from the buffer of this round.
    if (!last && operation_.source == Source::kStaged) {
      layOut(operation_, rank_, board_, buffer(rank_, round + 1), round + 1);
    }
  }
}

void Transfer::reduceInRounds() {
  const std::uint64_t count = rounds();
  // One round more than chunks: the last piece is fetched in it.
  for (std::uint64_t round = 0; round <= count; ++round) {
    if (round > 0) {
      fetchPieces(round - 1);
    }
    if (round < count) {
      reducePiece(round);
    }
    if (round + 1 < count && operation_.source == Source::kStaged) {
      layOut(operation_, rank_, board_, buffer(rank_, round + 1), round + 1);
    }
    meet();
  }
}

// Where a rank's byte at `offset`, of the chunk of this round, can be read by all.
std::byte* Transfer::shownAt(int rank, std::uint64_t round, std::uint64_t offset) const {
  if (place(rank).source == Source::kStaged) {
    return buffer(rank, round) + (offset - round * board_.tuning().chunkBytes);
  }
  return rank == rank_ ? collective_.own().at(offset)
                       : segments_[static_cast<std::size_t>(rank)].get() + offset;
}

void Transfer::reducePiece(std::uint64_t round) {
  const Flat& own = collective_.own();
  const Kernel& kernel = *collective_.reducesInPlace();
  const Range mine = pieceOf(chunkOf(round, own.bytes(), board_.tuning().chunkBytes), rank_, size_);
  std::vector<const void*> sources(static_cast<std::size_t>(size_));
  for (std::uint64_t begin = mine.begin; begin < mine.end; begin += kStep) {
    const std::uint64_t bytes = std::min(kStep, mine.end - begin);
    for (int rank = 0; rank < size_; ++rank) {
      sources[static_cast<std::size_t>(rank)] =
          rank == rank_ ? own.at(begin) : shownAt(rank, round, begin);
    }
    std::byte* const out = own.at(begin);
    kernel.combine(out, sources.data(), size_, bytes / kernel.elementSize, size_);
    // The result goes where the others fetch it from, while it is in the cache.
    if (std::byte* const shown = shownAt(rank_, round, begin); shown != out) {
      std::memcpy(shown, out, bytes);
    }
  }
}

void Transfer::fetchPieces(std::uint64_t round) {
  const Flat& own = collective_.own();
  const Range chunk = chunkOf(round, own.bytes(), board_.tuning().chunkBytes);
  for (int rank = 0; rank < size_; ++rank) {
    const Range piece = pieceOf(chunk, rank, size_);
    if (rank != rank_ && piece.begin < piece.end) {
      std::memcpy(own.at(piece.begin), shownAt(rank, round, piece.begin), piece.end - piece.begin);
    }
  }
}

void Transfer::reduceTogether() {
  const std::uint64_t bytes = collective_.own().bytes();
  const std::uint64_t block = board_.tuning().blockBytes;
  const std::uint32_t blocks = operation_.blocks;
  const std::uint64_t number = operation_.order() & 0xFFFF'FFFF;
  std::atomic<std::uint32_t>& reducing = board_.place(operation_.order(), rank_).reducing;
  // For missing(): a rank that stops here has perhaps taken a block, and the others wait for it.
  reducing.store(1, std::memory_order_relaxed);
  // The claims of a slot's earlier operation carry its number; the first to come starts anew.
  std::uint64_t seen = slot_.claims.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t next = seen >> 32 == number ? seen : number << 32;
    const std::uint64_t index = next & 0xFFFF'FFFF;
    if (index >= blocks) {
      break;
    }
    if (!slot_.claims.compare_exchange_weak(seen, next + 1, std::memory_order_relaxed)) {
      continue;
    }
    // A block that was taken and is not reduced keeps `finished` from its end; the others hear of
    // the failure over the mesh.
    if (operation_.failed()) {
      throw Interrupted{};
    }
    reduceBlock(index * block, std::min(bytes, (index + 1) * block));
    if (slot_.finished.add(1) - bases_.finished == blocks) {
      slot_.finished.wakeAll();
    }
    seen = slot_.claims.load(std::memory_order_relaxed);
  }
  reducing.store(0, std::memory_order_relaxed);
  waiter_.until(slot_.finished, bases_.finished + blocks);
}

void Transfer::reduceBlock(std::uint64_t begin, std::uint64_t end) {
  const Kernel& kernel = *collective_.reducesInPlace();
  std::vector<std::byte*> memory;
  for (int rank = 0; rank < size_; ++rank) {
    memory.push_back(shownAt(rank, 0, 0));
  }
  std::vector<const void*> sources(memory.size());
  for (std::uint64_t step = begin; step < end; step += kStep) {
    const std::uint64_t bytes = std::min(kStep, end - step);
    for (std::size_t rank = 0; rank < memory.size(); ++rank) {
      sources[rank] = memory[rank] + step;
    }
    // One result, in memory of rank 0, is copied to the others while it is in the cache.
    std::byte* const out = memory[0] + step;
    kernel.combine(out, sources.data(), size_, bytes / kernel.elementSize, size_);
    for (std::size_t rank = 1; rank < memory.size(); ++rank) {
      std::memcpy(memory[rank] + step, out, bytes);
    }
  }
}

}  // namespace lockstep::process_group::shared_memory
