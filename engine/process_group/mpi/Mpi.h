#pragma once

// MPI's C interface; its C++ one is gone from the standard.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <stdexcept>
#include <string>

namespace lockstep::process_group::mpi {

/// What a call of MPI's failed with: "MPI_Isend: <MPI_Error_string>".
class MpiError : public std::runtime_error {
 public:
  MpiError(const char* call, int code);
};

/// Returns MPI's words for an error code, on one line.
[[nodiscard]] std::string errorText(int code);

/// Throws MpiError unless `code` is MPI_SUCCESS. Communicators must return their errors.
inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) {
    throw MpiError(call, code);
  }
}

}  // namespace lockstep::process_group::mpi
