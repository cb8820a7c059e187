#include "tests/engine/train/Python.h"

#include <stdexcept>

#include "tests/support/ChildProcess.h"

namespace lockstep::train {

nlohmann::json runPython(const std::string& script, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"-c", script};
  all.insert(all.end(), arguments.begin(), arguments.end());
  support::ChildProcess python({LOCKSTEP_PYTORCH, all, {}});
  const auto status = python.wait(std::chrono::seconds(100));
  if (status.signalled || status.code != 0) {
    throw std::runtime_error("python failed: " + python.errors());
  }
  return nlohmann::json::parse(python.output());
}

}  // namespace lockstep::train
