// A rank without training: it obeys the same environment as lockstep-rank, emits events and
// does what FAKE_RANK_PLAN tells it, so that every end of a rank can be had at a known place.
//
//   FAKE_RANK_PLAN="steps=20; 1: kill=9@3; 0: exit=4@5"
//
// An entry "RANK: ACTION[=NUMBER][@PLACE]" is for one rank; PLACE is a step or "startup".
//   kill=S   end by signal S           exit=C   end with exit code C and an error text
//   suspend  SIGSTOP itself            hang     wait until SIGTERM, then stop
//   deaf     wait and ignore SIGTERM   print    write environment, experiment, descriptors
//   flood=N  write N lines of 100 bytes to stderr

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "engine/base/ExitCodes.h"
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"
#include "engine/trace/Tracer.h"

namespace {

using namespace lockstep;

volatile sig_atomic_t stopAsked = 0;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Action {
  std::string name;
  int number = 0;
  std::string place;
};

struct Plan {
  int steps = 5;
  std::optional<Action> action;
};

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

Plan readPlan(const std::string& rank) {
  Plan plan;
  std::istringstream entries(variable("FAKE_RANK_PLAN"));
  for (std::string entry; std::getline(entries, entry, ';');) {
    entry = trimmed(entry);
    if (entry.starts_with("steps=")) {
      plan.steps = std::stoi(entry.substr(6));
    } else if (entry.starts_with(rank + ":")) {
      std::string text = trimmed(entry.substr(rank.size() + 1));
      Action action;
      if (const auto at = text.find('@'); at != std::string::npos) {
        action.place = text.substr(at + 1);
        text.resize(at);
      }
      if (const auto equals = text.find('='); equals != std::string::npos) {
        action.number = std::stoi(text.substr(equals + 1));
        text.resize(equals);
      }
      action.name = text;
      plan.action = action;
    }
  }
  return plan;
}

std::string readAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void printSurroundings() {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::printf("%s\n", *entry);
  }
  std::printf("experiment: %s\n", readAll("/dev/fd/" + variable("LOCKSTEP_EXPERIMENT_FD")).c_str());
  std::string fds;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != dirfd(folder)) {
      fds += std::string(" ") + entry->d_name;
    }
  }
  closedir(folder);
  std::printf("descriptors:%s\n", fds.c_str());
  std::fprintf(stderr, "a line on stderr\nand one without an end");
}

/// Does what the plan says for `place`; returns an exit code when the rank is to end.
std::optional<int> act(const Plan& plan, const std::string& place, trace::LastWords& words) {
  if (!plan.action || plan.action->place != place) {
    return std::nullopt;
  }
  const Action& action = *plan.action;
  words.operation.store(static_cast<std::uint8_t>(trace::Operation::kAllreduce));
  words.bucket.store(3);
  words.sequence.store(41);
  std::strcpy(words.hook.data(), "allreduce");
  if (action.name == "print") {
    printSurroundings();
    words.operation.store(0);
  } else if (action.name == "flood") {
    for (int line = 0; line < action.number; ++line) {
      std::fprintf(stderr, "%099d\n", line);
    }
    words.operation.store(0);
  } else if (action.name == "kill") {
    signal(action.number, SIG_DFL);
    raise(action.number);
  } else if (action.name == "suspend") {
    raise(SIGSTOP);
  } else if (action.name == "exit") {
    std::strcpy(words.error.data(), "allreduce of bucket 3: rank 1 is gone");
    return action.number;
  } else if (action.name == "hang" || action.name == "deaf") {
    if (action.name == "deaf") {
      signal(SIGTERM, SIG_IGN);
    }
    sigset_t blocked;
    sigset_t none;
    sigemptyset(&none);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
    while (stopAsked == 0) {
      sigsuspend(&none);
    }
  }
  return std::nullopt;
}

}  // namespace

int main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(getppid()) != variable("LOCKSTEP_SUPERVISOR_PID")) {
    return 1;
  }
  struct sigaction onTerm {};
  onTerm.sa_handler = [](int) { stopAsked = 1; };
  sigaction(SIGTERM, &onTerm, nullptr);

  const Plan plan = readPlan(variable("RANK"));
  auto segment = trace::Segment::attach(std::stoi(variable("LOCKSTEP_TRACE_FD")));
  if (!segment.ok()) {
    std::cerr << segment.error().message() << "\n";
    return 3;
  }
  trace::Tracer tracer(std::move(segment).value());
  trace::Lane& lane = tracer.lane("step");
  trace::LastWords& words = tracer.lastWords();
  {
    const trace::ScopedSpan stage(lane, trace::EventKind::kStartup, 0, &words, trace::kNoBucket, 0,
                                  static_cast<std::uint16_t>(trace::StartupStage::kRendezvous));
    if (const auto code = act(plan, "startup", words)) {
      return *code;
    }
  }
  tracer.send(trace::toJson(
      trace::EnvironmentMessage{{{"planned_steps", std::to_string(plan.steps)}}}));
  for (int step = 0; step < plan.steps && stopAsked == 0; ++step) {
    const trace::ScopedSpan whole(lane, trace::EventKind::kStep, static_cast<std::uint32_t>(step),
                                  &words);
    const trace::ScopedSpan backward(lane, trace::EventKind::kBackward,
                                     static_cast<std::uint32_t>(step), &words);
    tracer.countSent(1000, 2);
    if (const auto code = act(plan, std::to_string(step), words)) {
      return *code;
    }
    lane.number(trace::EventKind::kLoss, static_cast<std::uint32_t>(step), 1.0 / (step + 1));
  }
  if (stopAsked != 0) {
    return static_cast<int>(base::ExitCode::kInterrupted);
  }
  tracer.send(trace::toJson(trace::SummaryMessage{static_cast<std::uint32_t>(plan.steps),
                                                  1.0 / plan.steps, "00000000deadbeef"}));
  words.finished.store(1);
  return 0;
}
