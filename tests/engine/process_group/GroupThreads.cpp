#include "tests/engine/process_group/GroupThreads.h"

#include <barrier>
#include <stdexcept>

namespace lockstep::process_group {

GroupOptions quickOptions(std::chrono::milliseconds timeout) {
  GroupOptions options;
  options.timeout = timeout;
  return options;
}

GroupOptions alwaysChecked() {
  GroupOptions options = quickOptions();
  options.check = CheckMode::kAlways;
  return options;
}

void runGroups(int size,
               const std::function<base::Result<std::shared_ptr<ProcessGroup>>(int rank)>& make,
               const std::function<void(ProcessGroup&)>& body) {
  std::barrier together(size);
  support::runRanks(size, [&](int rank) {
    std::shared_ptr<ProcessGroup> group;
    std::exception_ptr error;
    auto made = make(rank);
    together.arrive_and_wait();
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
    together.arrive_and_wait();
    group.reset();
    if (error) {
      std::rethrow_exception(error);
    }
  });
}

void runGroup(int size, const std::function<void(ProcessGroup&)>& body,
              const GroupOptions& options, const std::string& backend) {
  const auto store = std::make_shared<store::HashStore>();
  runGroups(
      size, [&](int rank) { return makeProcessGroup(backend, store, rank, size, options); }, body);
}

}  // namespace lockstep::process_group
