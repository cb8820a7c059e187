#include "tests/engine/launch/LaunchFixture.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace lockstep::launch {

std::filesystem::path programBeside(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

std::vector<std::string> logOf(const std::filesystem::path& runFile, int rank) {
  auto reader = trace::RunFileReader::open(runFile);
  LOCKSTEP_CHECK(reader.ok(), "{}", reader.error().message());
  std::vector<std::string> texts;
  for (bool more = true; more;) {
    auto update = reader.value()->poll();
    LOCKSTEP_CHECK(update.ok(), "{}", update.error().message());
    for (const auto& row : update.value().log) {
      if (row.rank == rank) {
        texts.push_back(row.text);
      }
    }
    more = !update.value().empty();
  }
  return texts;
}

int countDescriptors() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

LaunchFixture::LaunchFixture() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-launch-XXXXXX").string();
  folder = mkdtemp(pattern.data());
  options.experiment.name = "fake";
  options.experimentToml = "name = \"fake\"\n";
  options.runFile = folder / "run.lockstep";
  options.rankProgram = programBeside("lockstep_fake_rank");
  options.controlDirectory = folder / "control";
}

LaunchFixture::~LaunchFixture() {
  unsetenv("FAKE_RANK_PLAN");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

base::Result<LaunchOutcome> LaunchFixture::launch(
    int worldSize, const std::string& plan,
    const std::function<void(const LaunchProgress&)>& progress) {
  options.experiment.processes.worldSize = worldSize;
  setenv("FAKE_RANK_PLAN", plan.c_str(), 1);
  return superviseRun(options, progress);
}

std::int64_t LaunchFixture::metrics(const std::string& name) const {
  std::int64_t count = 0;
  auto reader = std::move(trace::RunFileReader::open(options.runFile)).value();
  for (bool more = true; more;) {
    const auto update = std::move(reader->poll()).value();
    count += std::ranges::count(update.metrics, name, &trace::MetricRow::name);
    more = !update.empty();
  }
  return count;
}

trace::RunSummary LaunchFixture::summary() const {
  auto result = trace::readRunSummary(options.runFile);
  LOCKSTEP_CHECK(result.ok(), "{}", result.error().message());
  return std::move(result).value();
}

}  // namespace lockstep::launch
