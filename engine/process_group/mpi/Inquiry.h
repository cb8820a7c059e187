#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "engine/process_group/mpi/Mpi.h"

namespace lockstep::process_group::mpi {

/// Finds out which ranks keep a collective waiting, which MPI does not tell: a rank that is stuck
/// in one asks the others how far their calls have come, and their MPI threads answer whatever the
/// ranks do. Messages of their own tags on the group's communicator. [mpi-thread]
class Inquiry {
 public:
  using Clock = std::chrono::steady_clock;

  Inquiry(MPI_Comm comm, int rank, int size);

  /// Asks all others, unless it has asked less than `patience` ago.
  void ask(Clock::time_point now, std::chrono::milliseconds patience);
  /// Takes answers, and gives them: the number of this rank's latest collective.
  void poll(const std::function<std::uint64_t()>& latest);
  /// Whether MPI has a part of its memory.
  [[nodiscard]] bool open() const { return !sent_.empty(); }

  struct Missing {
    std::string text;  ///< "waiting for rank 2 to call it", "rank 2 does not answer", or empty
    int rank = -1;     ///< if it is one
  };
  /// Who has not called collective `sequence`, as far as they have answered.
  [[nodiscard]] Missing missing(std::uint64_t sequence) const;

 private:
  struct Message {
    std::uint64_t number = 0;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void send(int peer, int tag, std::uint64_t number);
  void take(int tag, const std::function<void(int peer, std::uint64_t number)>& handle);

  const MPI_Comm comm_;
  const int rank_;
  const int size_;
  Clock::time_point askedAt_{};
  std::vector<std::int64_t> latest_;  // by rank; -1 before the first answer
  std::list<Message> sent_;           // MPI has their addresses
};

}  // namespace lockstep::process_group::mpi
