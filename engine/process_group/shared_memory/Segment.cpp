#include "engine/process_group/shared_memory/Segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>

#include "engine/base/Try.h"
#include "engine/process_group/shared_memory/Room.h"

namespace lockstep::process_group::shared_memory {
namespace {

using base::Error;
using base::ExitCode;
using Made = base::Result<std::shared_ptr<Segment>>;

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHugePage = 2u << 20;

// The segments that this process has made and still maps. Ranks that are threads of one process
// meet here: they use one mapping, so that a race between them is one that tools can see.
struct Registry {
  std::mutex mutex;
  std::map<const std::byte*, std::weak_ptr<Segment>> byAddress;
  std::map<std::uint64_t, std::weak_ptr<Segment>> byInode;
  std::atomic<std::size_t> mapped{0};
};

Registry& registry() {
  static auto* all = new Registry;  // segments of static tensors may go after everything else
  return *all;
}

Error noMemory(std::uint64_t bytes, const std::string& why) {
  return Error{ExitCode::kEnvironment,
               fmt::format("cannot reserve {} bytes of shared memory: {}", bytes, why), ""};
}

std::string systemText() {
  return std::strerror(errno);
}

}  // namespace

// Held by all who own a segment.
struct Segment::Owner {
  explicit Owner(std::shared_ptr<Segment> owned) : segment(std::move(owned)) {}
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  // In this order: nobody new finds the segment by its address, then the others hear of it, and the
  // memory goes with the last reference.
  ~Owner() {
    {
      Registry& all = registry();
      std::lock_guard lock(all.mutex);
      all.byAddress.erase(segment->data());
    }
    std::vector<std::function<void(std::uint64_t)>> told;
    {
      std::lock_guard lock(segment->mutex_);
      // Called without the lock, since a callee may send.
      told.swap(segment->told_);
    }
    for (const auto& tell : told) {
      tell(segment->id_);
    }
  }
  const std::shared_ptr<Segment> segment;
};

base::Status Segment::map(std::uint64_t bytes) {
  memory_ = posix::Mapping(file_.get(), bytes);
  if (memory_.data() == nullptr) {
    return noMemory(bytes, fmt::format("cannot map it: {}", systemText()));
  }
  ++registry().mapped;
  return {};
}

Made Segment::create(std::uint64_t bytes) {
  static std::atomic<std::uint64_t> ids{0};
  const std::uint64_t size = (std::max<std::uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  if (const std::string why = whyNoRoom(size); !why.empty()) {
    return noMemory(size, why);
  }
  std::shared_ptr<Segment> segment(new Segment);
  segment->file_ = posix::Descriptor(memfd_create("lockstep", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int file = segment->file_.get();
  if (file < 0) {
    return noMemory(size, fmt::format("memfd_create: {}", systemText()));
  }
  if (ftruncate(file, static_cast<off_t>(size)) != 0) {
    return noMemory(size, systemText());
  }
  LOCKSTEP_TRY(segment->map(size));
  // The pages are populated through the mapping, which may use huge ones; what the kernel does not
  // populate so, fallocate does, and fallocate has the last word on whether there is room.
#ifdef MADV_POPULATE_WRITE
  if (size >= kHugePage && madvise(segment->data(), size, MADV_HUGEPAGE) == 0) {
    static_cast<void>(madvise(segment->data(), size, MADV_POPULATE_WRITE));
  }
#endif
  int reserved = 0;
  do {
    reserved = posix_fallocate(file, 0, static_cast<off_t>(size));
  } while (reserved == EINTR);
  if (reserved != 0) {
    return noMemory(size, std::strerror(reserved));
  }
  struct stat status {};
  // Sealed: a rank that shrank the file would kill the others by SIGBUS.
  if (fcntl(file, F_ADD_SEALS, kSeals) != 0 || fstat(file, &status) != 0) {
    return noMemory(size, fmt::format("cannot seal it: {}", systemText()));
  }
  segment->id_ = ++ids;
  segment->inode_ = status.st_ino;
  Registry& all = registry();
  // What is handed out is an alias: it counts owners, while `segment` also counts ranks of this
  // process that adopted it.
  const std::shared_ptr<Segment> owned(std::make_shared<Owner>(segment), segment.get());
  std::lock_guard lock(all.mutex);
  all.byAddress[segment->data()] = owned;
  all.byInode[segment->inode_] = segment;
  return owned;
}

Made Segment::adopt(posix::Descriptor file, std::uint64_t bytes) {
  const auto refuse = [](std::string what) { return Error{ExitCode::kCommFailed, what, ""}; };
  struct stat status {};
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || fstat(file.get(), &status) != 0) {
    return refuse(fmt::format("a file that is no shared memory: {}", systemText()));
  }
  // Whatever a rank sends is not trusted: a file that could shrink would kill this process later.
  if ((seals & F_SEAL_SHRINK) == 0 || static_cast<std::uint64_t>(status.st_size) < bytes ||
      bytes == 0) {
    return refuse(fmt::format("shared memory of {} bytes, not sealed at {}",
                              static_cast<std::uint64_t>(status.st_size), bytes));
  }
  {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    // This process has made it itself: ranks that are threads use the one mapping.
    if (const auto found = all.byInode.find(status.st_ino); found != all.byInode.end()) {
      if (auto segment = found->second.lock()) {
        return segment;
      }
    }
  }
  std::shared_ptr<Segment> segment(new Segment);
  segment->file_ = std::move(file);
  LOCKSTEP_TRY(segment->map(bytes));
#ifdef MADV_HUGEPAGE
  if (bytes >= kHugePage) {
    static_cast<void>(madvise(segment->data(), bytes, MADV_HUGEPAGE));
  }
#endif
  segment->file_ = posix::Descriptor();  // the mapping keeps the memory
  return segment;
}

std::shared_ptr<Segment> Segment::holding(const void* data, std::uint64_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  std::shared_ptr<Segment> segment;  // may be the last owner of another one: goes without the lock
  Registry& all = registry();
  {
    std::lock_guard lock(all.mutex);
    const auto after = all.byAddress.upper_bound(begin);
    if (after == all.byAddress.begin()) {
      return nullptr;
    }
    // The segment with the largest begin that is not after the data; whether the data ends in it is
    // looked at below.
    segment = std::prev(after)->second.lock();
  }
  return segment != nullptr && begin + bytes <= segment->data() + segment->bytes() ? segment
                                                                                   : nullptr;
}

std::size_t Segment::count() {
  return registry().mapped.load();
}

Segment::~Segment() {
  if (inode_ != 0) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    all.byInode.erase(inode_);
  }
  if (memory_.data() != nullptr) {
    --registry().mapped;
  }
}

void Segment::whenGone(std::function<void(std::uint64_t)> told) {
  std::lock_guard lock(mutex_);
  told_.push_back(std::move(told));
}

}  // namespace lockstep::process_group::shared_memory
