#include "engine/launch/detail/LocalRanks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "engine/base/Environment.h"
#include "engine/base/Try.h"
#include "engine/base/posix/WriteAll.h"

namespace lockstep::launch::detail {
namespace {

using base::ExitCode;
using base::systemError;

/// Makes an unnamed file in memory that holds a text, to be read from the start; not open where
/// that fails, and errno says why.
posix::Descriptor memoryFile(const std::string& text) {
  posix::Descriptor file(memfd_create("lockstep-experiment", MFD_CLOEXEC));
  if (file.open() && (!posix::writeAll(file, text) || lseek(file.get(), 0, SEEK_SET) != 0)) {
    file.reset();
  }
  return file;
}

}  // namespace

LocalRanks::LocalRanks(posix::EventLoop& loop, std::filesystem::path program,
                       std::string experimentToml, std::vector<Rank> ranks)
    : loop_(loop), program_(std::move(program)), experimentToml_(std::move(experimentToml)) {
  for (Rank& rank : ranks) {
    const int number = rank.place.rank;
    slots_[number].rank = std::move(rank);
  }
}

base::Status LocalRanks::start(RankWatcher& watcher) {
  watcher_ = &watcher;
  const auto inherited = base::inheritedEnvironment();
  for (auto& [number, slot] : slots_) {
    const int rank = number;
    const std::string who = fmt::format("rank {}", rank);
    // A file a rank: the ranks would share one's offset.
    const posix::Descriptor experiment = memoryFile(experimentToml_);
    if (!experiment.open()) {
      return systemError(ExitCode::kEnvironment, "cannot hand the experiment to a rank", who);
    }
    static_assert(kTraceFd == STDERR_FILENO + 1 && kExperimentFd == kTraceFd + 1);
    slot.process =
        LOCKSTEP_TRY(WatchedChild::start(loop_,
                                         {who,
                                          program_,
                                          {fmt::format("/dev/fd/{}", kExperimentFd)},
                                          rankEnvironment(slot.rank.place, inherited),
                                          {slot.rank.segment->fd(), experiment.get()}},
                                         {[this, rank](bool isError, std::string_view bytes) {
                                            watcher_->rankWrote(rank, isError, bytes);
                                          },
                                          [this, rank](const posix::ProcessEnd& end) {
                                            slots_.at(rank).process.reset();
                                            watcher_->rankEnded(rank, end);
                                          }}));
    watcher_->rankStarted(rank, slot.process->process().pid(), 0);
  }
  watcher_->allStarted();
  return {};
}

void LocalRanks::send(int rank, int signal) {
  if (const auto& process = slots_.at(rank).process) {
    process->process().send(signal);
  }
}

bool LocalRanks::isSuspended(int rank) const {
  const auto& process = slots_.at(rank).process;
  // 'T': stopped by a signal. A rank under a debugger is 't', and not taken for one that hangs.
  return process != nullptr && process->process().schedulerState() == 'T';
}

void LocalRanks::setCapture(bool enabled) {
  for (const auto& [rank, slot] : slots_) {
    slot.rank.segment->header().captureEnabled.store(enabled ? 1 : 0, std::memory_order_relaxed);
  }
}

}  // namespace lockstep::launch::detail
