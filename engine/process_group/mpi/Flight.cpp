#include "engine/process_group/mpi/Flight.h"

#include "engine/process_group/mpi/Requests.h"

namespace lockstep::process_group::mpi {

Flight::~Flight() = default;

std::string Flight::waitingFor() const {
  const int peer = waitingPeer_.load(std::memory_order_relaxed);
  switch (waiting_.load(std::memory_order_relaxed)) {
    case Waiting::kQueued:
      return "still in the queue";
    case Waiting::kWorking:
      return "";
    case Waiting::kAll:
      return "waiting for the other ranks";
    case Waiting::kData:
      return waitingText(false, peer);
    case Waiting::kTaken:
      return waitingText(true, peer);
  }
  return "";
}

}  // namespace lockstep::process_group::mpi
