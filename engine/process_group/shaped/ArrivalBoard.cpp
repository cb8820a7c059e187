#include "engine/process_group/shaped/ArrivalBoard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <sstream>
#include <utility>

#include "engine/trace/HostFacts.h"

namespace lockstep::process_group {
namespace {

/// Operations a rank may be ahead of another before its entries are overwritten.
constexpr std::uint64_t kDepth = 256;

struct stat statusOf(int fd) {
  struct stat status {};
  static_cast<void>(fstat(fd, &status));  // all zero where it fails
  return status;
}

}  // namespace

struct ArrivalBoard::Slot {
  std::atomic<std::uint64_t> number;  ///< written last; 0 while `ns` changes
  std::atomic<std::int64_t> ns;
};

std::size_t ArrivalBoard::bytesFor(int size) {
  return sizeof(Slot) * kDepth * static_cast<std::size_t>(size);
}

std::unique_ptr<ArrivalBoard> ArrivalBoard::open(store::Store& store, const std::string& key,
                                                 int rank, int size) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  const std::size_t bytes = bytesFor(size);
  posix::Descriptor file;
  if (rank == 0) {
    file = posix::Descriptor(memfd_create("lockstep-arrivals", MFD_CLOEXEC));
    if (file.open() && ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
      file.reset();
    }
    // The others map rank 0's memory through its entry in /proc, while it is open there.
    store.set(key, file.open() ? fmt::format("{} /proc/{}/fd/{} {}", statusOf(file.get()).st_ino,
                                             getpid(), file.get(), trace::processSpace())
                               : "none");
  } else {
    std::istringstream place(store.get(key));
    std::string path;
    std::string space;  // in which the path is one
    ino_t number = 0;
    if (!(place >> number >> path && std::getline(place >> std::ws, space)) ||
        space != trace::processSpace()) {
      return nullptr;
    }
    file = posix::Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    // Rank 0 may have ended, and its number be that of another process.
    if (const struct stat found = statusOf(file.get());
        found.st_ino != number || static_cast<std::size_t>(found.st_size) != bytes) {
      file.reset();
    }
  }
  if (!file.open()) {
    return nullptr;
  }
  posix::Mapping memory(file.get(), bytes);
  if (memory.data() == nullptr) {
    return nullptr;
  }
  return std::unique_ptr<ArrivalBoard>(new ArrivalBoard(std::move(file), std::move(memory), rank));
}

ArrivalBoard::ArrivalBoard(posix::Descriptor file, posix::Mapping memory, int rank)
    : file_(std::move(file)), memory_(std::move(memory)), rank_(rank) {}

ArrivalBoard::Slot& ArrivalBoard::slot(int rank, std::uint64_t number) const {
  return static_cast<Slot*>(
      memory_.data())[static_cast<std::size_t>(rank) * kDepth + number % kDepth];
}

// Readers look at the number before and after (read): an entry that changes meanwhile counts as
// none.
void ArrivalBoard::write(std::uint64_t number, std::int64_t ns) {
  Slot& own = slot(rank_, number);
  own.number.store(0);
  own.ns.store(ns);
  own.number.store(number);
}

std::optional<std::int64_t> ArrivalBoard::read(int rank, std::uint64_t number) const {
  const Slot& other = slot(rank, number);
  if (other.number.load() != number) {
    return std::nullopt;
  }
  const std::int64_t ns = other.ns.load();
  return other.number.load() == number ? std::optional(ns) : std::nullopt;
}

}  // namespace lockstep::process_group
