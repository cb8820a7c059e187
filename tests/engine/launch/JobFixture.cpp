#include "tests/engine/launch/JobFixture.h"

#include <cstdlib>

#include "engine/base/Environment.h"

namespace lockstep::launch {

std::vector<std::string> JobFixture::fakeJob(std::vector<std::string> arguments) {
  const std::string source = std::getenv("LOCKSTEP_SOURCE");
  arguments.insert(arguments.begin(), {"python3", source + "/tests/engine/launch/fake_job.py"});
  return arguments;
}

std::vector<std::string> JobFixture::jobEnvironment() {
  std::vector<std::string> environment = base::inheritedEnvironment();
  base::setVariable(environment, "PYTHONPATH", (programBeside("..") / "python").string());
  return environment;
}

base::Result<JobOutcome> JobFixture::record(std::vector<std::string> arguments) {
  job.command = fakeJob(std::move(arguments));
  return record();
}

base::Result<JobOutcome> JobFixture::record() {
  job.name = "fake";
  job.runFile = options.runFile;
  job.controlDirectory = folder / "control";
  job.environment = jobEnvironment();
  if (!job.wrote) {
    job.wrote = [this](bool isError, std::string_view bytes) {
      (isError ? errors : output) += bytes;
    };
  }
  return recordJob(job);
}

std::vector<std::string> JobFixture::problems() const {
  auto reader = trace::RunFileReader::open(options.runFile);
  EXPECT_TRUE(reader.ok());
  const auto update = reader.value()->poll();
  EXPECT_TRUE(update.ok());
  std::vector<std::string> texts;
  for (const auto& row : update.value().problems) {
    texts.push_back(row.text);
  }
  return texts;
}

}  // namespace lockstep::launch
