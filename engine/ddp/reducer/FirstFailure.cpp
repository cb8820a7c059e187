#include "engine/ddp/reducer/FirstFailure.h"

#include <fmt/format.h>

#include "engine/ddp/DdpError.h"
#include "engine/process_group/CommError.h"

namespace lockstep::ddp {

void FirstFailure::note(Lock& lock, const std::exception& error) {
  if (!lock.owns_lock()) {
    lock.lock();
  }
  if (!text_.empty()) {
    return;
  }
  text_ = error.what();
  lock.unlock();
  if (dynamic_cast<const process_group::CommError*>(&error) == nullptr) {
    context_.group->abort(error.what());
  }
}

void FirstFailure::fail(Lock& lock, std::string text) {
  text_ = text;
  lock.unlock();
  context_.group->abort(text);
  throw DdpError(text);
}

void FirstFailure::noteForward(const std::string& what) {
  std::string text;
  {
    std::lock_guard lock(context_.mutex);
    if (!text_.empty()) {
      return;
    }
    text = text_ = fmt::format("rank {}: the forward of step {} ended in an exception: {}",
                               context_.group->rank(), context_.lane.step(), what);
  }
  context_.group->abort(text);
}

}  // namespace lockstep::ddp
