#include "engine/launch/detail/LocalRanks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <utility>

namespace lockstep::launch::detail {
namespace {

using base::ExitCode;
using base::systemError;

constexpr std::size_t kReadBytes = 64 * 1024;

/// An unnamed file in memory that holds a text, to be read from the start.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text)
      : fd_(memfd_create("lockstep-experiment", MFD_CLOEXEC)) {
    std::size_t written = 0;
    while (fd_ >= 0 && written < text.size()) {
      const ssize_t count = write(fd_, text.data() + written, text.size() - written);
      if (count <= 0) {
        break;
      }
      written += static_cast<std::size_t>(count);
    }
    whole_ = fd_ >= 0 && written == text.size() && lseek(fd_, 0, SEEK_SET) == 0;
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }

  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
  bool whole_ = false;
};

}  // namespace

LocalRanks::LocalRanks(EventLoop& loop, std::filesystem::path program, std::string experimentToml,
                       std::vector<Rank> ranks)
    : loop_(loop), program_(std::move(program)), experimentToml_(std::move(experimentToml)) {
  for (Rank& rank : ranks) {
    const int number = rank.place.rank;
    slots_[number].rank = std::move(rank);
  }
}

LocalRanks::~LocalRanks() {
  for (auto& [rank, slot] : slots_) {
    if (slot.process) {
      release(*slot.process);
    }
  }
}

base::Status LocalRanks::start(RankWatcher& watcher) {
  watcher_ = &watcher;
  const auto inherited = inheritedEnvironment();
  for (auto& [rank, slot] : slots_) {
    const std::string who = fmt::format("rank {}", rank);
    // A file a rank: the ranks would share one's offset.
    const MemoryFile experiment(experimentToml_);
    if (!experiment.whole()) {
      return systemError(ExitCode::kEnvironment, "cannot hand the experiment to a rank", who);
    }
    static_assert(kTraceFd == STDERR_FILENO + 1 && kExperimentFd == kTraceFd + 1);
    auto process = ChildProcess::spawn({who,
                                        program_,
                                        {fmt::format("/dev/fd/{}", kExperimentFd)},
                                        rankEnvironment(slot.rank.place, inherited),
                                        {slot.rank.segment->fd(), experiment.fd()}});
    if (!process.ok()) {
      return process.error();
    }
    slot.process.emplace(std::move(process).value());
    watcher_->rankStarted(rank, slot.process->pid(), 0);
    if (auto watched = watch(rank); !watched.ok()) {
      return watched;
    }
  }
  watcher_->allStarted();
  return {};
}

base::Status LocalRanks::watch(int rank) {
  const ChildProcess& process = *slots_.at(rank).process;
  const std::array<std::pair<int, std::function<void()>>, 3> watched{{
      {process.outputFd(), [this, rank] { readOutput(rank, false); }},
      {process.errorFd(), [this, rank] { readOutput(rank, true); }},
      {process.pidFd(), [this, rank] { mayHaveEnded(rank); }},
  }};
  for (const auto& [fd, callback] : watched) {
    if (auto added = loop_.add(fd, callback); !added.ok()) {
      return added;
    }
  }
  return {};
}

void LocalRanks::readOutput(int rank, bool isError) {
  auto& process = slots_.at(rank).process;
  const int fd = !process ? -1 : isError ? process->errorFd() : process->outputFd();
  if (fd < 0) {
    return;
  }
  std::array<char, kReadBytes> buffer;
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count > 0) {
    watcher_->rankWrote(rank, isError, {buffer.data(), static_cast<std::size_t>(count)});
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    loop_.remove(fd);
    isError ? process->closeError() : process->closeOutput();
  }
}

void LocalRanks::mayHaveEnded(int rank) {
  auto& process = slots_.at(rank).process;
  const auto end = process ? process->reap() : std::nullopt;
  if (!end) {
    return;
  }
  // All that it wrote is in the pipes now. A descendant that left the group may hold them open
  // and write on, hence the bound.
  for (const bool isError : {false, true}) {
    for (int reads = 0; reads < 64; ++reads) {
      readOutput(rank, isError);
    }
  }
  release(*process);
  process.reset();
  watcher_->rankEnded(rank, *end);
}

void LocalRanks::release(ChildProcess& process) {
  for (const int fd : {process.outputFd(), process.errorFd(), process.pidFd()}) {
    loop_.remove(fd);
  }
}

void LocalRanks::send(int rank, int signal) {
  if (const auto& process = slots_.at(rank).process) {
    process->send(signal);
  }
}

bool LocalRanks::isSuspended(int rank) const {
  const auto& process = slots_.at(rank).process;
  return process && process->schedulerState() == 'T';
}

void LocalRanks::setCapture(bool enabled) {
  for (const auto& [rank, slot] : slots_) {
    slot.rank.segment->header().captureEnabled.store(enabled ? 1 : 0, std::memory_order_relaxed);
  }
}

}  // namespace lockstep::launch::detail
