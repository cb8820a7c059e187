#include "engine/process_group/shaped/ArrivalBoard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <utility>

namespace lockstep::process_group {
namespace {

/// Operations a rank may be ahead of another before its entries are overwritten.
constexpr std::uint64_t kDepth = 256;

std::string hostKey() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

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
  int fd = -1;
  if (rank == 0) {
    fd = memfd_create("lockstep-arrivals", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
      close(std::exchange(fd, -1));
    }
    store.set(key, fd < 0 ? "none"
                          : fmt::format("{} {} /proc/{}/fd/{}", hostKey(), statusOf(fd).st_ino,
                                        getpid(), fd));
  } else {
    std::istringstream place(store.get(key));
    std::string host;
    std::string path;
    ino_t file = 0;
    if (!(place >> host >> file >> path) || host != hostKey()) {
      return nullptr;
    }
    fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    // In another container of this host the path leads to nothing or to something else.
    if (const struct stat found = statusOf(fd);
        fd >= 0 && (found.st_ino != file || static_cast<std::size_t>(found.st_size) != bytes)) {
      close(std::exchange(fd, -1));
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
