#pragma once

#include <stdexcept>

namespace lockstep::data_parallel {

/// A module, its inputs or its outputs that cannot be run in replicas as they are. The text is
/// one line: what, which parameter, input or output, on which device, what to do.
class DataParallelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A replica's forward or backward threw. The text opens with the replica and its device; the
/// original exception is nested (std::rethrow_if_nested).
class ReplicaError : public DataParallelError {
 public:
  using DataParallelError::DataParallelError;
};

}  // namespace lockstep::data_parallel
