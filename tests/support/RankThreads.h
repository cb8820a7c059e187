#pragma once

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

namespace lockstep::support {

/// Thrown by runRanks for the rank that failed first.
class RankFailure : public std::runtime_error {
 public:
  RankFailure(int rank, const std::string& what, std::exception_ptr cause)
      : std::runtime_error(what), rank(rank), cause(std::move(cause)) {}

  int rank;
  std::exception_ptr cause;  ///< what the rank threw
};

/// Runs `body(rank)` for each rank on a thread of its own, named "rank N", and joins them all.
/// Throws RankFailure, "rank 1: <text>", for the first rank in time that threw.
void runRanks(int worldSize, const std::function<void(int rank)>& body);

}  // namespace lockstep::support
