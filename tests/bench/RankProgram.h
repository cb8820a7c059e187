#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/Store.h"

// What the rank programs of the benchmarks share. A rank takes torchrun's environment, says
// {"ready": true, ...} once it may be told to run, and waits, asleep on standard input, for its
// turns: "go COUNT [WORD...]", each answered by one line of JSON.
namespace lockstep::bench {

/// This rank's place among those that tests/bench/run started.
struct Place {
  int rank = 0;
  int size = 1;
  std::shared_ptr<store::Store> store;  ///< rank 0 serves it
};

/// Takes RANK, WORLD_SIZE and MASTER_PORT; throws std::runtime_error that names what is missing.
Place placeFromEnvironment();

/// Makes this rank's part of a group, with a limit of 60 s on each operation; throws
/// std::runtime_error with the backend's sentence.
std::shared_ptr<process_group::ProcessGroup> meet(const Place& place, const std::string& backend,
                                                  process_group::GroupOptions options = {});

/// Says `ready`, then answers turns with what `turn` returns for their count and words, until
/// standard input ends.
void takeTurns(nlohmann::json ready,
               const std::function<nlohmann::json(int count, std::istringstream& words)>& turn);

/// Runs `run` on one thread of libtorch; an exception becomes one line that begins with
/// `program`, and exit code 1.
int runRank(const std::string& program, const std::function<void()>& run);

}  // namespace lockstep::bench
