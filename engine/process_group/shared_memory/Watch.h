#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "engine/process_group/shared_memory/PointToPoint.h"

namespace lockstep::process_group::shared_memory {

/// The thread ("shm watch") that hears what comes over the mesh, notices that ranks are gone, and
/// keeps the time limits of operations that nobody drives.
class Watch {
 public:
  Watch(std::shared_ptr<Dispatcher> dispatcher, std::shared_ptr<PointToPoint> pointToPoint,
        std::shared_ptr<Directory> directory, std::shared_ptr<Mesh> mesh);
  /// Ends the thread, after it has told the others that this rank leaves.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void run();
  void arrived(int rank, Message message);
  void ended(int rank, bool nonsense);
  void lose(int rank);

  const std::shared_ptr<Dispatcher> dispatcher_;
  const std::shared_ptr<PointToPoint> pointToPoint_;
  const std::shared_ptr<Directory> directory_;
  const std::shared_ptr<Mesh> mesh_;
  std::vector<bool> leaving_;  // by rank
  std::vector<int> gone_;      // that have left while a reason may come
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace lockstep::process_group::shared_memory
