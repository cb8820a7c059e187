#include "tests/bench/RankProgram.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "engine/base/FreedMemory.h"
#include "engine/store/TCPStore.h"

namespace lockstep::bench {
namespace {

constexpr std::chrono::seconds kLimit{60};

int environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    throw std::runtime_error(std::string(name) + " is not set; tests/bench/run starts this");
  }
  return std::stoi(value);
}

}  // namespace

Place placeFromEnvironment() {
  Place place{environment("RANK"), environment("WORLD_SIZE"), nullptr};
  store::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(environment("MASTER_PORT"));
  options.isServer = place.rank == 0;
  options.timeout = kLimit;
  place.store = std::make_shared<store::TCPStore>("127.0.0.1", options);
  return place;
}

std::shared_ptr<process_group::ProcessGroup> meet(const Place& place, const std::string& backend,
                                                  process_group::GroupOptions options) {
  options.timeout = kLimit;
  auto made =
      process_group::makeProcessGroup(backend, place.store, place.rank, place.size, options);
  if (!made.ok()) {
    throw std::runtime_error(made.error().message());
  }
  return std::move(made).value();
}

void takeTurns(nlohmann::json ready,
               const std::function<nlohmann::json(int count, std::istringstream& words)>& turn) {
  ready["ready"] = true;
  std::cout << ready.dump() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string go;
    int count = 0;
    if (!(words >> go >> count) || go != "go" || count < 1) {
      throw std::runtime_error("a turn is \"go COUNT [WORD...]\", not \"" + line + "\"");
    }
    std::cout << turn(count, words).dump() << std::endl;
  }
}

int runRank(const std::string& program, const std::function<void()>& run) {
  try {
    base::keepFreedMemory();  // as lockstep-rank
    at::set_num_threads(1);
    run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace lockstep::bench
