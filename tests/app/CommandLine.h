#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::cli {

/// A program run by a test, with what it wrote.
struct Ended {
  int exitCode = -1;  ///< 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

/// Returns the path of a program beside this test binary.
std::filesystem::path programBeside(const std::string& name);

/// A `lockstep` that was started and has not been waited for.
class RunningCommand {
 public:
  RunningCommand(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                 const std::map<std::string, std::string>& environment);
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  [[nodiscard]] int pid() const { return pid_; }
  /// Returns whether it has ended; wait() then returns at once.
  [[nodiscard]] bool hasEnded() const;
  void send(int signal) const;
  Ended wait();

 private:
  std::filesystem::path out_;
  std::filesystem::path err_;
  int pid_ = -1;
};

/// Runs the real `lockstep` in a folder of the test's own.
class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest();
  ~CommandLineTest() override;

  Ended lockstep(const std::vector<std::string>& arguments);

  /// Writes a file into the folder and returns its name.
  std::string write(const std::string& name, const std::string& text) const;

  /// A small valid experiment; `more` is appended.
  std::string experiment(const std::string& more = "") const;

  /// Ranks that do not train (tests/engine/launch/FakeRank.cpp).
  void useFakeRanks(const std::string& plan);

  [[nodiscard]] bool exists(const std::string& name) const;

  std::filesystem::path folder;
  std::map<std::string, std::string> environment;
};

/// Counts the lines of a text.
int lineCount(const std::string& text);

}  // namespace lockstep::cli
