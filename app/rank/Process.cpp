#include "app/rank/Process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "app/rank/Ending.h"
#include "engine/base/CrashNote.h"

namespace lockstep::rank {
namespace {

// Of signal handlers, which know no object: hence static, and of types that a handler may touch.
std::atomic<bool> stopRequested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

trace::LastWords* wordsOfACrash = nullptr;
std::string whoExits;
constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
std::array<struct sigaction, kCrashes.size()> formerActions;

/// Async-signal-safe.
void noteCrash(int signal) {
  if (const char* note = base::CrashNote::current();
      note != nullptr && wordsOfACrash->error.front() == '\0') {
    auto& error = wordsOfACrash->error;
    for (std::size_t i = 0; i + 1 < error.size() && note[i] != '\0'; ++i) {
      error[i] = note[i];
    }
  }
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    sigaction(kCrashes[i], &formerActions[i], nullptr);
  }
  // By what the signals did before: a core file is written, and the supervisor sees the signal by
  // which the process ended, as though nobody had looked.
  raise(signal);  // takes effect on return
}

/// A hook that ends the process ends training, whatever status it gives.
void noteExit(int status, void*) {
  // Notes are those of the thread that ends the process. One that calls exit() with no note on it
  // is not in a hook, and ends as it means to.
  if (const char* note = base::CrashNote::current(); note != nullptr) {
    const base::Error error{base::ExitCode::kHookFailed,
                            fmt::format("{}: it ended the process by exit({})", note, status), ""};
    const std::string line = error.message();
    wordsOfACrash->error[line.copy(wordsOfACrash->error.data(), wordsOfACrash->error.size() - 1)] =
        '\0';
    report(whoExits, error);
    leave(error.code);
  }
}

void requestStop(int) {
  stopRequested.store(true, std::memory_order_relaxed);
}

}  // namespace

base::Status dieWith(std::int64_t supervisorPid) {
  // SIGKILL, since a rank may hang in a hook's or a driver's code. The kernel sends it when the
  // thread ends that made this process, be its process alive or not.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have died before that call.
  if (getppid() != supervisorPid) {
    return base::Error{base::ExitCode::kEnvironment,
                       fmt::format("the supervisor, process {}, is gone", supervisorPid), ""};
  }
  return {};
}

std::int64_t processAgeNs() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // "pid (name) state ...": the start time is the 20th field after the name.
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) {
    return 0;
  }
  std::istringstream fields(text.substr(bracket + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) {
    fields >> field;
  }
  // The field counts ticks since the machine was started, in which its sleep counts: so does this
  // clock.
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const std::int64_t startNs =
      std::strtoll(field.c_str(), nullptr, 10) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
  return now.tv_sec * 1'000'000'000 + now.tv_nsec - startNs;
}

void tellOfCrashes(trace::LastWords& words, const std::string& who) {
  wordsOfACrash = &words;
  whoExits = who;
  // Not atexit(), whose handlers do not learn the status.
  on_exit(noteExit, nullptr);
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = noteCrash;
    sigaction(kCrashes[i], &action, &formerActions[i]);
  }
}

const std::atomic<bool>& listenForStop() {
  struct sigaction action {};
  action.sa_handler = requestStop;
  // RESETHAND: the second signal finds the usual action, which ends the process. RESTART: reads and
  // writes that are under way go on.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  return stopRequested;
}

base::Result<std::string> readFromStart(int fd) {
  std::string content;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t count = pread(fd, piece.data(), piece.size(), static_cast<off_t>(content.size()));
    if (count < 0) {
      return base::systemError(base::ExitCode::kEnvironment, "cannot be read",
                               fmt::format("descriptor {}", fd));
    }
    if (count == 0) {
      return content;
    }
    content.append(piece.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace lockstep::rank
