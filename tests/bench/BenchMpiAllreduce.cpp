// OpenMPI's side of the allreduce benchmarks, linked with nothing but its library:
//
//   mpirun -n RANKS bench_mpi_allreduce
//
// Rank 0 says {"ready": true, "version": ...} and answers turns "go N allreduce BYTES" from
// standard input with {"calls": N, "total_ms": T} of the slowest rank. Between turns every rank
// sleeps: rank 0 on standard input, the others on a futex, since OpenMPI's own waits would spin.

#define OMPI_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "tests/bench/SharedTurn.h"

namespace {

using lockstep::bench::SharedTurn;
using lockstep::bench::Turn;

void sumFloats(std::vector<float>& numbers) {
  MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}

// Errors of MPI calls end the program, as MPI has it by default.
[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "bench_mpi_allreduce: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// Returns the slowest rank's time on rank 0.
double slowestTotalMs(const Turn& turn, int rank, int size) {
  std::vector<float> numbers(turn.floats, static_cast<float>(rank + 1));
  sumFloats(numbers);
  const auto expected = static_cast<float>(size * (size + 1) / 2);
  if (numbers.front() != expected || numbers.back() != expected) {
    fail("the ranks' sum is wrong");
  }
  std::fill(numbers.begin(), numbers.end(), 0.0f);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (long call = 0; call < turn.calls; ++call) {
    sumFloats(numbers);
  }
  const double own = 1e3 * (MPI_Wtime() - start);
  double slowest = 0;
  MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest;
}

/// Memory of rank 0 that all see.
SharedTurn* sharedTurn(int rank) {
  MPI_Win window;
  void* memory = nullptr;
  MPI_Aint bytes = rank == 0 ? sizeof(SharedTurn) : 0;
  int unit = 1;
  MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &memory);
  if (rank == 0) {
    std::memset(memory, 0, sizeof(SharedTurn));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return static_cast<SharedTurn*>(memory);
}

void lead(SharedTurn& shared, int size) {
  std::cout << "{\"ready\": true, \"version\": \"" << OMPI_MAJOR_VERSION << '.'
            << OMPI_MINOR_VERSION << '.' << OMPI_RELEASE_VERSION << "\"}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const Turn turn = Turn::from(line);
    if (turn.calls == 0) {
      fail("a turn is \"go N allreduce BYTES\"");
    }
    shared.tell(turn);
    std::cout << "{\"calls\": " << turn.calls << ", \"total_ms\": " << slowestTotalMs(turn, 0, size)
              << "}" << std::endl;
  }
  shared.tell({});
}

void follow(const SharedTurn& shared, int rank, int size) {
  std::uint32_t seen = 0;
  for (Turn turn = shared.await(seen); turn.calls > 0; turn = shared.await(++seen)) {
    slowestTotalMs(turn, rank, size);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  SharedTurn* shared = sharedTurn(rank);
  if (rank == 0) {
    lead(*shared, size);
  } else {
    follow(*shared, rank, size);
  }
  MPI_Finalize();
  return 0;
}
