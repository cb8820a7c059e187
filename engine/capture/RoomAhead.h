#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace lockstep::capture {

/// How large a run file will be once all ranks have told of the steps that any of them has begun. A
/// recorder empties one rank's ring after the other: where the first has told of fifty steps since
/// the last commit, the others are about to, and all of these are written as they were begun.
class RoomAhead {
 public:
  /// So many ranks tell of each step, or as many as have told of any.
  void setRanks(std::size_t ranks) { expected_ = ranks; }

  /// An event of a step was written.
  void add(int rank, std::uint32_t step);
  /// Other rows were.
  void addRows(std::size_t rows) { unmeasured_ += rows; }
  /// All ranks' rings have been empty: who has not told of a step by now will not at once.
  void evenOut();

  /// The file has so many bytes now.
  void measured(std::uint64_t bytes) {
    bytes_ = bytes;
    unmeasured_ = 0;
  }
  /// What it will have.
  [[nodiscard]] double bytes() const;

 private:
  struct Told {
    std::uint64_t next = 0;   // the step after the last
    std::uint64_t since = 0;  // steps, since all ranks were even
  };

  std::size_t expected_ = 0;
  std::map<int, Told> told_;    // by rank
  std::uint64_t most_ = 0;      // steps that a rank has told of since
  std::uint64_t since_ = 0;     // of all ranks
  std::uint64_t events_ = 0;    // in all
  std::uint64_t steps_ = 0;     // of all ranks, likewise
  std::uint64_t bytes_ = 0;     // of the file when it was last looked at
  std::size_t unmeasured_ = 0;  // rows since
};

}  // namespace lockstep::capture
