#include "engine/store/FileStore.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/base/Log.h"
#include "engine/store/detail/Deadline.h"
#include "engine/store/detail/TableCalls.h"

namespace lockstep::store {

using detail::Deadline;
using detail::FileLog;

namespace {

constexpr const char* kPrefix = "/";  // of users' keys, so that the following are ours alone
constexpr const char* kInstances = "instances";  // c10d's refcount key
constexpr const char* kFinished = "finished";

/// A wait that is over still looks once more; a process that writes at that moment holds the lock
/// for far less than this.
constexpr Store::Milliseconds kLockGrace{1000};

}  // namespace

FileStore::FileStore(FileStoreOptions options)
    : StandaloneStore(options.timeout), options_(std::move(options)) {
  if (options_.path.empty()) {
    throw StoreError("store in a file: the path is missing");
  }
  if (options_.worldSize < 1) {
    throw StoreError(fmt::format("{}: the world size is {}; it must be at least 1", place(),
                                 options_.worldSize));
  }
  const Deadline deadline(timeout());
  log_.emplace(options_.path, options_.job, deadline);
  FileLog::Session session(*log_, FileLog::Mode::kWrite, deadline);
  addInternal(session, kInstances, 1);
}

FileStore::~FileStore() {
  try {
    FileLog::Session session(*log_, FileLog::Mode::kWrite, Deadline(timeout()));
    const std::int64_t finished = addInternal(session, kFinished, 1);
    const std::int64_t left = addInternal(session, kInstances, -1);
    if (left <= 0 && finished >= options_.worldSize) {
      session.removeFile();
    }
  } catch (const std::exception& error) {
    base::logWarning("{}; the file is left behind", error.what());
  }
}

std::string FileStore::place() const {
  return "store in file " + options_.path;
}

std::int64_t FileStore::addInternal(FileLog::Session& session, const std::string& key,
                                    std::int64_t amount) {
  const auto sum = log_->table().sum(key, amount);
  if (!sum) {
    throw detail::notANumber(place(), key, *log_->table().find(key));
  }
  session.set(key, std::to_string(*sum));
  return *sum;
}

StoreResult FileStore::call(StoreCall asked) {
  const Deadline deadline(asked.waits() ? asked.timeout : timeout());
  const auto mode = asked.writes() ? FileLog::Mode::kWrite : FileLog::Mode::kRead;
  // Nothing tells of a change to a file on another host: it has to be looked at again and again.
  // The first looks are quick, for a key that is just being written.
  auto pause = std::chrono::microseconds(200);
  for (;;) {
    std::vector<std::string> missing;
    // Asked before the look, so that a key set before the deadline is found.
    const bool last = deadline.passed();
    {
      std::lock_guard lock(mutex_);
      FileLog::Session session(*log_, mode,
                               asked.waits() ? Deadline(deadline.left() + kLockGrace) : deadline);
      if (asked.waits()) {
        missing = detail::missing(asked, kPrefix, log_->table());
      }
      if (missing.empty()) {
        StoreResult result = detail::carryOut(asked, kPrefix, log_->table(), place(), session);
        if (asked.verb == Verb::kGetNumKeys && log_->table().find(kFinished) != nullptr) {
          --result.number;
        }
        return result;
      }
    }
    if (last) {
      throw detail::timeoutError(place(), asked.name(), asked.timeout, missing);
    }
    std::this_thread::sleep_for(
        std::min<std::chrono::microseconds>(pause, deadline.left() + Milliseconds(1)));
    pause = std::min(pause * 2, std::chrono::microseconds(10'000));
  }
}

}  // namespace lockstep::store
