#include "engine/process_group/KeepForever.h"

#include <mutex>
#include <utility>
#include <vector>

namespace lockstep::process_group {

void keepForever(std::shared_ptr<const void> what) {
  // Never destroyed: at the end of the process a device may still write there.
  static std::mutex& mutex = *new std::mutex();
  static auto& kept = *new std::vector<std::shared_ptr<const void>>();
  std::lock_guard lock(mutex);
  kept.push_back(std::move(what));
}

}  // namespace lockstep::process_group
