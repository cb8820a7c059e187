#include "tests/app/CommandLine.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "engine/base/Check.h"

namespace lockstep::cli {
namespace {

std::string readAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::filesystem::path programBeside(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

RunningCommand::RunningCommand(const std::filesystem::path& folder,
                               const std::vector<std::string>& arguments,
                               const std::map<std::string, std::string>& environment) {
  static int counter = 0;
  const std::string number = std::to_string(counter++);
  out_ = folder / (".out-" + number);
  err_ = folder / (".err-" + number);
  const std::string program = programBeside("lockstep").string();
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& text : texts) {
    argv.push_back(text.data());
  }
  argv.push_back(nullptr);
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (environment.count(text.substr(0, text.find('='))) == 0) {
      variables.push_back(text);
    }
  }
  for (const auto& [name, value] : environment) {
    variables.push_back(name + "=" + value);
  }
  std::vector<char*> envp;
  for (auto& variable : variables) {
    envp.push_back(variable.data());
  }
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, out_.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  const int error =
      posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  LOCKSTEP_CHECK(error == 0, "cannot start {}: errno {}", program, error);
}

RunningCommand::~RunningCommand() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

bool RunningCommand::hasEnded() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

void RunningCommand::send(int signal) const { kill(pid_, signal); }

Ended RunningCommand::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), readAll(out_),
          readAll(err_)};
}

CommandLineTest::CommandLineTest() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-cli-XXXXXX").string();
  folder = mkdtemp(pattern.data());
  environment["XDG_RUNTIME_DIR"] = folder.string();
}

CommandLineTest::~CommandLineTest() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

Ended CommandLineTest::lockstep(const std::vector<std::string>& arguments) {
  return RunningCommand(folder, arguments, environment).wait();
}

std::string CommandLineTest::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder / name) << text;
  return name;
}

std::string CommandLineTest::experiment(const std::string& more) const {
  return write("small.toml", R"(name = "small"
shows = "A small run."
[model]
kind = "mlp"
layers = [784, 32, 10]
[data]
kind = "synthetic"
samples = 512
batch_size = 16
[processes]
world_size = 2
[train]
steps = 12
)" + more);
}

void CommandLineTest::useFakeRanks(const std::string& plan) {
  environment["LOCKSTEP_RANK"] = programBeside("lockstep_fake_rank").string();
  environment["FAKE_RANK_PLAN"] = plan;
}

bool CommandLineTest::exists(const std::string& name) const {
  return std::filesystem::exists(folder / name);
}

int lineCount(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace lockstep::cli
