#include "engine/process_group/shaped/ArrivalBoard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

namespace lockstep::process_group {
namespace {

/// Operations a rank may be ahead of another before its entries are overwritten.
constexpr std::uint64_t kDepth = 256;

/// Differs between hosts, so that a path of one is not opened on another.
std::string hostKey() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
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
  int fd = -1;
  if (rank == 0) {
    fd = memfd_create("lockstep-arrivals", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
      close(fd);
      fd = -1;
    }
    store.set(key, fd < 0 ? "none" : fmt::format("{} /proc/{}/fd/{}", hostKey(), getpid(), fd));
  } else {
    const std::string place = store.get(key);
    const auto blank = place.find(' ');
    if (blank == std::string::npos || place.substr(0, blank) != hostKey()) {
      return nullptr;
    }
    fd = ::open(place.c_str() + blank + 1, O_RDWR | O_CLOEXEC);
    struct stat status {};
    if (fd >= 0 && (fstat(fd, &status) != 0 || static_cast<std::size_t>(status.st_size) != bytes)) {
      close(fd);
      return nullptr;
    }
  }
  if (fd < 0) {
    return nullptr;
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    close(fd);
    return nullptr;
  }
  return std::unique_ptr<ArrivalBoard>(
      new ArrivalBoard(fd, static_cast<Slot*>(memory), rank, size));
}

ArrivalBoard::ArrivalBoard(int fd, Slot* slots, int rank, int size)
    : fd_(fd), slots_(slots), rank_(rank), size_(size) {}

ArrivalBoard::~ArrivalBoard() {
  munmap(slots_, bytesFor(size_));
  close(fd_);
}

ArrivalBoard::Slot& ArrivalBoard::slot(int rank, std::uint64_t number) const {
  return slots_[static_cast<std::size_t>(rank) * kDepth + number % kDepth];
}

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
