#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/process_group/shared_memory/Directory.h"
#include "engine/process_group/shared_memory/Waiter.h"

namespace lockstep::process_group::shared_memory {

// Note [How data moves]
// Each rank shows some bytes and takes some of what the others show (Collective.h). What it
// shows lies on the board if it is small (kInline), in a segment if the tensor lies in one
// (kExposed), else it passes through the rank's staging segment in chunks that stay in its cache
// (kStaged). Which of these is the rank's own affair and stands in its Place. The ranks meet:
//
//   arrival       all have come; their calls are compared before anybody takes anything
//   rounds        if anybody is kStaged: a round for each chunk, a meeting after each but the
//                 last; the next chunk is laid out during a round, in the other of two buffers
//   departure     unless all is inline: nobody reads my memory any more
//
// So a small operation takes one meeting. An allreduce has two forms of its own:
//
// All exposed: the buffer is cut into blocks. Whoever comes first takes the next block, reduces
// it, and writes the result to all ranks' memory. There is nothing to lay out and no rank is
// waited for that has arrived but does not run: one thread that has a core does the work of all,
// and the rest only need to be told that it is done. Elements are combined in rank order by
// whomever, so the bits do not depend on who did it.
//
// Otherwise: chunk by chunk, rank r reduces the r-th piece of the chunk and the others fetch it
// from there during the next round, while the chunk after is being laid out: three buffers in
// staging, one meeting a round. A rank copies in what the others reduce, and copies out what they
// have reduced; its own piece goes straight from and to its tensor.

/// Moves the data of one collective whose ranks are arriving. One thread.
class Transfer {
 public:
  /// `bases` are what the signals of the operation's slot stood at before it.
  struct Bases {
    std::uint32_t arrivals = 0;
    std::uint32_t finished = 0;
  };
  Transfer(Operation& operation, int rank, Board& board, Directory& directory, Waiter& waiter,
           std::byte* staging, Bases bases);

  /// Throws Interrupted when the operation fails meanwhile, or std::exception, or a Failure when
  /// the ranks do not make the same call.
  void run();

  /// Lays out the first chunk in staging; before the operation is posted.
  static void layOutFirst(const Operation& operation, int rank, const Board& board,
                          std::byte* staging);

  /// How many buffers of tuning().chunkBytes staging has.
  static constexpr std::uint64_t kBuffers = 3;

 private:
  [[nodiscard]] bool any(Source source) const;
  bool findSegments(bool together);
  void deliver();
  void meet();
  [[nodiscard]] std::uint64_t rounds() const;
  void setWindows(Windows& windows, std::uint64_t round) const;
  static void layOut(const Operation& operation, int rank, const Board& board, std::byte* buffer,
                     std::uint64_t round);
  [[nodiscard]] std::byte* shownAt(int rank, std::uint64_t round, std::uint64_t offset) const;
  void takeInRounds();
  void reduceInRounds();
  void reducePiece(std::uint64_t round);
  void fetchPieces(std::uint64_t round);
  void reduceTogether();
  void reduceBlock(std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] std::byte* buffer(int rank, std::uint64_t round) const;
  [[nodiscard]] const Place& place(int rank) const {
    return *places_[static_cast<std::size_t>(rank)];
  }

  Operation& operation_;
  Collective& collective_;
  const int rank_;
  const int size_;
  Board& board_;
  Directory& directory_;
  Waiter& waiter_;
  std::byte* const staging_;
  const Bases bases_;
  Slot& slot_;
  std::vector<const Place*> places_;                  // by rank
  std::vector<std::shared_ptr<std::byte>> segments_;  // by rank: what it exposes, or its staging
};

}  // namespace lockstep::process_group::shared_memory
