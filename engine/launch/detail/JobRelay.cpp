#include "engine/launch/detail/JobRelay.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/base/Environment.h"
#include "engine/base/Try.h"
#include "engine/launch/ControlSocket.h"
#include "engine/launch/Obituary.h"
#include "engine/launch/RankEnvironment.h"
#include "engine/launch/detail/Preparation.h"
#include "engine/launch/detail/TraceRequest.h"
#include "engine/launch/detail/UnixSocket.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

constexpr auto kJobRelayTick = std::chrono::milliseconds(20);
constexpr auto kJobSampleEvery = std::chrono::milliseconds(100);
/// For all that was said to reach the head, where a slow network is between.
constexpr auto kJobFarewellPatience = std::chrono::seconds(30);

/// What is the recorder's alone is not the command's.
std::vector<std::string> withoutTicket(std::vector<std::string> environment) {
  base::removeVariable(environment, kRecorderVariable);
  base::removeVariable(environment, kTokenVariable);
  return environment;
}

}  // namespace

// Note [A command that goes on alone]
// The command is recorded, not led, and so must not end because its recorder does. Four flags say
// how far the two are:
//
//       here_ == null   the command was not started: losing the head is an error
//       alone_          it runs, the head is gone: nothing is sent any more, its output goes to the
//                       terminal still, and signals go to it directly
//       toldEnd_        it has ended, its processes have, too, or outlive it (3 s at most), and all
//                       that is to be said of it was queued for the head
//       dismissed_      the head has bidden farewell: all of it has arrived
//
// run() ends with the command's exit code once it has ended, its processes have, and the head has
// dismissed it, is gone, or has not answered within 30 s.

JobRelay::JobRelay(const JoinJobOptions& options, HeadConnection& connection)
    : options_(options),
      signals_(*connection.watch.signals),
      loop_(connection.watch.loop),
      link_(options.ticket, connection, "") {}

JobRelay::~JobRelay() {
  loop_.remove(signals_.fd());
}

base::Result<JoinedJob> JobRelay::run() {
  relay::Hello hello;
  hello.environment[relay::kObserves] = "1";
  LOCKSTEP_TRY(loop_.add(signals_.fd(), [this] { onSignal(); }));
  const auto received = [this](const relay::ToRelay& message) {
    std::visit([this](const auto& content) { take(content); }, message);
  };
  LOCKSTEP_TRY(
      link_.start(std::move(hello), {received, [this](const std::string& why) { headLost(why); }}));
  const auto deadline = Clock::now() + options_.patience;
  while (!failure_ && !isOver()) {
    loop_.waitUntil(Clock::now() + kJobRelayTick);
    tick();
    if (!link_.welcome() && !failure_ && Clock::now() >= deadline) {
      failure_ = link_.unanswered(options_.patience);
    }
  }
  if (failure_) {
    return *failure_;
  }
  // As a shell has it.
  return JoinedJob{end_->signal != 0 ? 128 + end_->signal : end_->exitCode};
}

/// Once the command has ended: its processes have, or outlive it, and the head knows.
bool JobRelay::isOver() const {
  const auto now = Clock::now();
  return end_ && (here_->livingProcesses() == 0 || now >= lingerUntil_) &&
         (alone_ || dismissed_ || now >= leaveAt_);
}

void JobRelay::take(const relay::Refusal& refusal) {
  fail(link_.refused(refusal, ""));
}

void JobRelay::take(const relay::Start& /*start*/) {
  if (here_ != nullptr) {
    return;
  }
  if (auto started = startCommand(); !started.ok()) {
    link_.queue(relay::RelayFailed{static_cast<std::uint8_t>(started.error().code),
                                   started.error().message()});
    link_.sendQueued();
    fail(started.error());
  }
}

base::Status JobRelay::startCommand() {
  const std::filesystem::path folder = controlDirectory(options_.controlDirectory);
  LOCKSTEP_TRY(prepareSocketFolder(folder));
  here_ = LOCKSTEP_TRY(LocalPart::listen(
      loop_, folder / fmt::format("{}-{}.attach.sock", link_.welcome()->runId, getpid())));
  posix::ChildProcess::Options command{
      "the command", options_.command.front(), {}, withoutTicket(options_.environment)};
  command.arguments.assign(options_.command.begin() + 1, options_.command.end());
  return here_->start(std::move(command), *this);
}

void JobRelay::take(const relay::SendSignal& signal) {
  if (here_ != nullptr) {
    here_->send(signal.signal);
  }
}

void JobRelay::take(const relay::SetCapture& capture) {
  capture_ = capture.enabled;
  if (here_ != nullptr) {
    here_->setCapture(capture_);
  }
}

void JobRelay::take(const relay::Attached& attached) {
  answer_ = attached;
}

void JobRelay::take(const relay::RequestTrace& asked) {
  traceAsked_ = asked.request;
  for (const auto& [rank, pid] : pids_) {
    segments_.at(rank).header().traceRequested.store(asked.request, std::memory_order_relaxed);
  }
}

void JobRelay::take(const relay::Farewell& /*farewell*/) {
  link_.leave();
  dismissed_ = true;
  if (here_ == nullptr) {
    fail({ExitCode::kCommFailed, "the run had ended before the command was started",
          options_.ticket.recorder});
  } else if (!toldEnd_) {
    goOnAlone(fmt::format("the recorder on {} has ended", link_.headName()));
  }
}

void JobRelay::headLost(const std::string& why) {
  if (here_ == nullptr) {
    fail({ExitCode::kCommFailed, "the recorder ended the connection before the command was started",
          options_.ticket.recorder});
  } else {
    goOnAlone(link_.lostText(why));
  }
}

void JobRelay::goOnAlone(const std::string& why) {
  alone_ = true;
  if (!end_ && options_.warn) {
    options_.warn(why + "; the command here goes on, and is not recorded any more");
  }
}

void JobRelay::fail(Error error) {
  if (!failure_) {
    failure_ = std::move(error);
  }
}

void JobRelay::commandStarted(const PartId& /*part*/, const std::string& /*host*/,
                              std::int64_t pid) {
  link_.queue(relay::RankStarted{-1, pid});
}

void JobRelay::commandWrote(const PartId& /*part*/, bool isError, std::string_view bytes) {
  if (options_.wrote) {
    options_.wrote(isError, bytes);
  }
  if (!alone_) {
    link_.queueOutput(-1, isError, bytes);
  }
}

void JobRelay::commandEnded(const PartId& /*part*/, const posix::ProcessEnd& end) {
  end_ = end;
  lingerUntil_ = Clock::now() + kOutliving;
}

/// Asks the head, which alone knows all ranks. It answers at once, and until then nothing else is
/// done here.
base::Result<std::uint32_t> JobRelay::ask(const Attempt& attempt) {
  if (alone_) {
    return Error{ExitCode::kCommFailed, "the head of the run is lost", "attach"};
  }
  answer_.reset();
  traceAsked_ = 0;
  link_.queue(relay::Attach{attempt.hello.rank, attempt.hello.worldSize, attempt.pid});
  // The process itself waits longer. The event loop stands still meanwhile, so that no second
  // attempt can come in between and take this answer.
  link_.pumpUntil(options_.answerPatience, [this] { return answer_.has_value() || alone_; });
  if (!answer_ || answer_->rank != attempt.hello.rank) {
    return Error{ExitCode::kCommFailed, "the head of the run did not answer", "attach"};
  }
  if (!answer_->refusal.empty()) {
    return Error{ExitCode::kBadInput, answer_->refusal, "attach"};
  }
  return answer_->step;
}

base::Result<Admission> JobRelay::attaches(const Attempt& attempt) {
  const int rank = attempt.hello.rank;
  const auto step = LOCKSTEP_TRY(ask(attempt));
  auto found = segments_.find(rank);
  if (found == segments_.end()) {
    const base::Status open = ensureDescriptors(static_cast<int>(segments_.size()) + 1);
    auto made = open.ok() ? makeSegments(kJobMemory, 1, capture_)
                          : base::Result<std::vector<trace::Segment>>(open.error());
    if (!made.ok()) {
      // The head believes that it is recorded since it said so.
      link_.queue(relay::RankEnded{rank, 0, 0});
      return made.error();
    }
    found = segments_.emplace(rank, std::move(made.value().front())).first;
    link_.addFeed(rank, found->second);
  }
  forgetTraces(found->second.header());
  found->second.header().traceRequested.store(traceAsked_, std::memory_order_relaxed);
  found->second.header().captureEnabled.store(capture_ ? 1 : 0, std::memory_order_relaxed);
  pids_[rank] = attempt.pid;
  return Admission{&found->second, step};
}

void JobRelay::processEnded(int rank) {
  pids_.erase(rank);
  if (!alone_) {
    link_.flush(rank);  // all that it has left comes before its end
    link_.queue(relay::RankEnded{rank, 0, 0});
    link_.sendQueued();
  }
}

void JobRelay::sayEnd() {
  for (const auto& [rank, pid] : pids_) {
    // Those that outlive the command are recorded no further.
    link_.flush(rank);
  }
  link_.tellDropped(-1);
  link_.queue(relay::CommandEnded{end_->exitCode, end_->signal});
  toldEnd_ = true;
  leaveAt_ = Clock::now() + kJobFarewellPatience;
}

void JobRelay::tick() {
  const auto now = Clock::now();
  if (!alone_) {
    link_.tick();
  }
  if (failure_ || alone_) {
    return;
  }
  if (now >= nextSample_ && link_.welcome()) {
    nextSample_ = now + kJobSampleEvery;
    for (const auto& [rank, pid] : pids_) {
      link_.setSuspended(rank, isStopped(pid));
      // Where the head can see the processes itself, it samples them itself.
      if (!link_.welcome()->sameHost) {
        link_.sample(rank, pid);
      }
    }
  }
  if (end_ && !toldEnd_ && (here_->livingProcesses() == 0 || now >= lingerUntil_)) {
    sayEnd();
  }
  link_.sendQueued();
  if (!toldEnd_) {
    link_.sendEvents();
  }
  link_.pump();
}

void JobRelay::onSignal() {
  while (const auto signal = signals_.next()) {
    if (here_ == nullptr) {
      fail({ExitCode::kInterrupted, signalName(*signal) + " before the command was started", ""});
    // A second signal does not wait for the head to answer the first.
    } else if (std::exchange(signalled_, true)) {
      here_->send(SIGKILL);
    } else if (alone_) {
      here_->send(SIGINT);
    } else {
      link_.queue(relay::StopAsked{signalName(*signal)});
      link_.sendQueued();
    }
  }
}

}  // namespace lockstep::launch::detail
