#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/mpi/Flight.h"
#include "engine/process_group/mpi/Mpi.h"
#include "engine/process_group/operation/Staging.h"

namespace lockstep::process_group::mpi {

/// How MPI itself reduces.
struct NativeReduction {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  std::size_t elementSize = 1;
};

/// Returns MPI's type and operation where they mean what reduction::combiner means: nothing for
/// half types, which MPI does not have, and for min and max of floats, where MPI may drop a NaN.
/// kAverage becomes the sum, and is divided afterwards.
[[nodiscard]] std::optional<NativeReduction> nativeReduction(c10::ScalarType dtype, ReduceOp op);

/// Cuts `total` elements into what one call of MPI takes, whose counts are ints: returns begin and
/// count of each piece, none for nothing.
[[nodiscard]] std::vector<std::pair<std::uint64_t, int>> mpiPieces(std::uint64_t total,
                                                                   std::uint64_t most);

/// The open requests of one round of an operation. [mpi-thread]
class Requests {
 public:
  /// `tag` marks the messages of the operation's round. Both communicators have the same ranks.
  Requests(MPI_Comm comm, MPI_Comm barriers, int tag)
      : comm_(comm), barriers_(barriers), tag_(tag) {}

  // Each posts what it says without waiting; throws MpiError. Memory must stay until all is done.
  void send(int peer, const void* data, std::size_t bytes);
  void receive(int peer, void* data, std::size_t bytes);
  void broadcast(Block block, int root);
  /// In place.
  void allreduce(Block block, const NativeReduction& how);
  /// In place on the root.
  void reduce(Block block, const NativeReduction& how, int root, bool atRoot);
  void barrier();

  /// Looks how they fare and returns whether all are done; throws MpiError, or CommMismatch when a
  /// message is shorter than this rank expects.
  bool test(bool& moved);

  /// Tells `flight` whom it waits for.
  void tell(Flight& flight) const;

  /// What a peer has sent that is not what this rank expects.
  struct Mismatch {
    int peer;
    std::string what;
  };

 private:
  static constexpr int kEverybody = -1;
  struct Expected {
    int peer = kEverybody;
    bool sending = false;
    int bytes = 0;
  };

  MPI_Request* add(int peer, bool sending, int bytes);

  const MPI_Comm comm_;
  const MPI_Comm barriers_;
  const int tag_;
  std::vector<MPI_Request> requests_;
  std::vector<Expected> expected_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace lockstep::process_group::mpi
