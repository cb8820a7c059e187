#include "engine/store/detail/FileLog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "engine/store/Store.h"
#include "engine/store/detail/Errors.h"
#include "engine/store/detail/Wire.h"

namespace lockstep::store::detail {
namespace {

constexpr std::string_view kMagic = "LKSTORE2";
constexpr std::uint8_t kSet = 1;
constexpr std::uint8_t kDelete = 2;
constexpr std::uint8_t kAppend = 3;

}  // namespace

FileLog::FileLog(std::string path, const std::string& job, const Deadline& deadline)
    : path_(std::move(path)) {
  // The last instance of a former job may delete the file between our open and our lock.
  while (!open(job, deadline)) {
  }
}

void FileLog::fail(const std::string& what) const {
  throw StoreError(fmt::format("store in file {}: {}", path_, what));
}

bool FileLog::open(const std::string& job, const Deadline& deadline) {
  file_ = posix::Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file_.open()) {
    fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  lock(Mode::kWrite, deadline);
  struct stat info {};
  if (fstat(file_.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    fail("is no regular file");
  }
  // We have locked a file that has no name any more: nobody else will ever open it.
  if (info.st_nlink == 0) {
    return false;
  }
  readHeader(job);
  unlock();
  return true;
}

/// Reads the header, or writes it to a file that is empty or whose maker died over it.
void FileLog::readHeader(const std::string& job) {
  std::string header(kMagic);
  base::ByteWriter(header).text(job);
  const std::string content = readFrom(0);
  // Empty, or cut off within the very header that we would write: its maker died over it.
  if (content.size() < header.size() && header.starts_with(content)) {
    if (ftruncate(file_.get(), 0) != 0) {
      fail(fmt::format("cannot be cut: {}", std::strerror(errno)));
    }
    writeAtEnd(header);
  } else if (!content.starts_with(kMagic)) {
    fail("is not a store's file; give another path");
  } else if (!content.starts_with(header)) {
    base::ByteReader reader(std::string_view(content).substr(kMagic.size()));
    const std::string other = reader.text(kLongestValue).value_or("?");
    fail(
        fmt::format("belongs to job {}, not to {}: a job that crashed left it; delete it or give "
                    "another path",
                    quoted({other}), quoted({job})));
  }
  position_ = static_cast<std::int64_t>(header.size());
}

/// flock has no time limit, so it is tried again and again: a stopped process may hold the lock.
void FileLog::lock(Mode mode, const Deadline& deadline) const {
  auto pause = std::chrono::microseconds(50);
  while (flock(file_.get(), (mode == Mode::kWrite ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      fail(fmt::format("cannot be locked: {}", std::strerror(errno)));
    }
    if (deadline.passed()) {
      fail("timeout: another process holds its lock");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
}

void FileLog::unlock() const {
  flock(file_.get(), LOCK_UN);
}

std::string FileLog::readFrom(std::int64_t position) const {
  struct stat info {};
  if (fstat(file_.get(), &info) != 0) {
    fail(fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  if (info.st_size < position) {
    fail("is shorter than it was; only its stores may write to it");
  }
  std::string bytes(static_cast<std::size_t>(info.st_size - position), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t size = pread(file_.get(), bytes.data() + done, bytes.size() - done,
                               position + static_cast<std::int64_t>(done));
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size <= 0) {
      fail(fmt::format("cannot be read: {}", size == 0 ? "it shrank" : std::strerror(errno)));
    }
    done += static_cast<std::size_t>(size);
  }
  return bytes;
}

/// Reads on from where this instance stopped.
void FileLog::replay() {
  const std::string bytes = readFrom(position_);
  base::ByteReader reader(bytes);
  for (;;) {
    const auto kind = reader.take<std::uint8_t>();
    const auto keySize = reader.take<std::uint32_t>();
    const auto valueSize = reader.take<std::uint32_t>();
    // The end, or a record whose writer died in it. Under the lock nobody is writing one.
    if (!kind || !keySize || !valueSize) {
      return;
    }
    if (*kind < kSet || *kind > kAppend || *keySize > kLongestKey || *valueSize > kLongestValue) {
      fail(fmt::format("is damaged at byte {}; delete it and start the job again", position_));
    }
    const auto key = reader.bytes(*keySize);
    const auto value = reader.bytes(*valueSize);
    if (!key || !value) {
      return;
    }
    switch (*kind) {
      case kSet:
        table_.set(std::string(*key), std::string(*value));
        break;
      case kAppend:
        table_.append(std::string(*key), *value);
        break;
      default:
        table_.erase(std::string(*key));
    }
    position_ += 9 + static_cast<std::int64_t>(key->size() + value->size());
  }
}

void FileLog::append(std::uint8_t kind, std::string_view key, std::string_view value) {
  std::string record;
  base::ByteWriter writer(record);
  writer.put<std::uint8_t>(kind);
  writer.put<std::uint32_t>(static_cast<std::uint32_t>(key.size()));
  writer.put<std::uint32_t>(static_cast<std::uint32_t>(value.size()));
  record.append(key).append(value);
  writeAtEnd(record);
  position_ += static_cast<std::int64_t>(record.size());
}

void FileLog::writeAtEnd(const std::string& bytes) {
  // Everything up to position_ is whole; a torn tail after it is overwritten and cut.
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t size = pwrite(file_.get(), bytes.data() + done, bytes.size() - done,
                                position_ + static_cast<std::int64_t>(done));
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size <= 0) {
      fail(fmt::format("cannot be written: {}", std::strerror(errno)));
    }
    done += static_cast<std::size_t>(size);
  }
}

FileLog::Session::Session(FileLog& log, Mode mode, const Deadline& deadline) : log_(log) {
  log_.lock(mode, deadline);
  try {
    // Every call reads on first: others may have written since.
    log_.replay();
    if (mode == Mode::kWrite && ftruncate(log_.file_.get(), log_.position_) != 0) {
      log_.fail(fmt::format("cannot be cut: {}", std::strerror(errno)));
    }
  } catch (...) {
    log_.unlock();
    throw;
  }
}

FileLog::Session::~Session() {
  log_.unlock();
}

void FileLog::Session::set(const std::string& key, const std::string& value) {
  if (key.size() > kLongestKey || value.size() > kLongestValue) {
    log_.fail(fmt::format("set {}: the key has {} bytes and the value {}; at most {} and {} fit",
                          quoted({key}), key.size(), value.size(), kLongestKey, kLongestValue));
  }
  log_.append(kSet, key, value);
  log_.table_.set(key, value);
}

void FileLog::Session::append(const std::string& key, const std::string& value) {
  const std::string* before = log_.table_.find(key);
  const std::size_t size = (before == nullptr ? 0 : before->size()) + value.size();
  if (key.size() > kLongestKey || size > kLongestValue) {
    log_.fail(
        fmt::format("append {}: the key has {} bytes and the value would have {}; at most {} "
                    "and {} fit",
                    quoted({key}), key.size(), size, kLongestKey, kLongestValue));
  }
  log_.append(kAppend, key, value);
  log_.table_.append(key, value);
}

void FileLog::Session::erase(const std::string& key) {
  log_.append(kDelete, key, {});
  log_.table_.erase(key);
}

void FileLog::Session::removeFile() {
  unlink(log_.path_.c_str());
}

}  // namespace lockstep::store::detail
