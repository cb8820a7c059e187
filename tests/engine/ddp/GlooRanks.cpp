#include "tests/engine/ddp/GlooRanks.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "engine/store/HashStore.h"

namespace lockstep::ddp::test {

process_group::GroupOptions glooOptions() {
  process_group::GroupOptions options;
  options.timeout = std::chrono::seconds(20);
  options.interfaces = {"127.0.0.1"};
  return options;
}

std::vector<std::string> runOverGloo(int world, const std::function<void(GroupPtr)>& body,
                                     const process_group::GroupOptions& options,
                                     const std::string& backend) {
  const auto store = std::make_shared<store::HashStore>();
  std::vector<std::string> errors(static_cast<std::size_t>(world));
  std::vector<GroupPtr> groups(static_cast<std::size_t>(world));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, index = static_cast<std::size_t>(rank), rank] {
      try {
        auto group = process_group::makeProcessGroup(backend, store, rank, world, options);
        if (!group.ok()) {
          throw std::runtime_error(group.error().message());
        }
        groups[index] = group.value();
        body(groups[index]);
      } catch (const std::exception& error) {
        errors[index] = error.what();
      }
    });
  }
  for (std::thread& thread : ranks) {
    thread.join();
  }
  return errors;
}

}  // namespace lockstep::ddp::test
