#include "tests/engine/process_group/GroupThreads.h"

#include <barrier>
#include <stdexcept>

namespace lockstep::process_group {

GroupOptions quickOptions(std::chrono::milliseconds timeout) {
  GroupOptions options;
  options.timeout = timeout;
  return options;
}

void runGroup(int size, const std::function<void(ProcessGroup&)>& body,
              const GroupOptions& options) {
  const auto store = std::make_shared<store::HashStore>();
  std::barrier done(size);
  support::runRanks(size, [&](int rank) {
    std::shared_ptr<ProcessGroup> group;
    std::exception_ptr error;
    auto made = makeProcessGroup("gloo", store, rank, size, options);
    if (made.ok()) {
      group = std::move(made).value();
      try {
        body(*group);
      } catch (...) {
        error = std::current_exception();
        group->abort("the body of this rank threw");
      }
    } else {
      error = std::make_exception_ptr(std::runtime_error(made.error().message()));
    }
    done.arrive_and_wait();
    group.reset();
    if (error) {
      std::rethrow_exception(error);
    }
  });
}

}  // namespace lockstep::process_group
