#include "engine/store/FileStore.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "engine/base/Log.h"
#include "engine/store/detail/Deadline.h"
#include "engine/store/detail/Errors.h"

namespace lockstep::store {

using detail::Deadline;
using detail::FileLog;

namespace {

// Users' keys start with '/', so that these two are ours alone.
constexpr const char* kInstances = "instances";  // c10d's refcount key
constexpr const char* kFinished = "finished";

/// A wait that is over still looks once more; a process that writes at that moment holds the lock
/// for far less than this.
constexpr Store::Milliseconds kLockGrace{1000};

std::string stored(const std::string& key) {
  return "/" + key;
}

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

void FileStore::set(const std::string& key, const std::string& value) {
  std::lock_guard lock(mutex_);
  FileLog::Session(*log_, FileLog::Mode::kWrite, Deadline(timeout())).set(stored(key), value);
}

std::string FileStore::get(const std::string& key) {
  std::string value;
  waitFor("get", {key}, timeout(),
          [&](const detail::KeyTable& table) { value = *table.find(stored(key)); });
  return value;
}

std::int64_t FileStore::add(const std::string& key, std::int64_t amount) {
  std::lock_guard lock(mutex_);
  FileLog::Session session(*log_, FileLog::Mode::kWrite, Deadline(timeout()));
  return addInternal(session, stored(key), amount);
}

std::string FileStore::compareSet(const std::string& key, const std::string& expected,
                                  const std::string& desired) {
  std::lock_guard lock(mutex_);
  FileLog::Session session(*log_, FileLog::Mode::kWrite, Deadline(timeout()));
  const auto comparison = log_->table().compare(stored(key), expected, desired);
  if (comparison.writes) {
    session.set(stored(key), desired);
  }
  return comparison.value;
}

bool FileStore::deleteKey(const std::string& key) {
  std::lock_guard lock(mutex_);
  FileLog::Session session(*log_, FileLog::Mode::kWrite, Deadline(timeout()));
  if (log_->table().find(stored(key)) == nullptr) {
    return false;
  }
  session.erase(stored(key));
  return true;
}

bool FileStore::check(const std::vector<std::string>& keys) {
  std::lock_guard lock(mutex_);
  FileLog::Session session(*log_, FileLog::Mode::kRead, Deadline(timeout()));
  return std::all_of(keys.begin(), keys.end(), [this](const std::string& key) {
    return log_->table().find(stored(key)) != nullptr;
  });
}

std::int64_t FileStore::getNumKeys() {
  std::lock_guard lock(mutex_);
  FileLog::Session session(*log_, FileLog::Mode::kRead, Deadline(timeout()));
  const std::int64_t bookkeeping = log_->table().find(kFinished) != nullptr ? 1 : 0;
  return static_cast<std::int64_t>(log_->table().size()) - bookkeeping;
}

void FileStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  waitFor("wait", keys, timeout, [](const detail::KeyTable&) {});
}

/// Waits until all keys exist, and has `found` look at the table while they do.
void FileStore::waitFor(const std::string& operation, const std::vector<std::string>& keys,
                        Milliseconds timeout, const Found& found) {
  const Deadline deadline(timeout);
  // Nothing tells of a change to a file on another host: it has to be looked at again and again.
  // The first looks are quick, for a key that is just being written.
  auto pause = std::chrono::microseconds(200);
  for (;;) {
    std::vector<std::string> missing;
    // Asked before the look, so that a key set before the deadline is found.
    const bool last = deadline.passed();
    {
      std::lock_guard lock(mutex_);
      FileLog::Session session(*log_, FileLog::Mode::kRead, Deadline(deadline.left() + kLockGrace));
      for (const std::string& key : keys) {
        if (log_->table().find(stored(key)) == nullptr) {
          missing.push_back(key);
        }
      }
      if (missing.empty()) {
        found(log_->table());
        return;
      }
    }
    if (last) {
      throw detail::timeoutError(place(), operation, timeout, missing);
    }
    std::this_thread::sleep_for(
        std::min<std::chrono::microseconds>(pause, deadline.left() + Milliseconds(1)));
    pause = std::min(pause * 2, std::chrono::microseconds(10'000));
  }
}

void FileStore::append(const std::string& key, const std::string& value) {
  std::lock_guard lock(mutex_);
  FileLog::Session(*log_, FileLog::Mode::kWrite, Deadline(timeout())).append(stored(key), value);
}

std::vector<std::string> FileStore::multiGet(const std::vector<std::string>& keys) {
  std::vector<std::string> storedKeys;
  storedKeys.reserve(keys.size());
  std::transform(keys.begin(), keys.end(), std::back_inserter(storedKeys), stored);
  std::vector<std::string> values;
  waitFor("multiGet", keys, timeout(),
          [&](const detail::KeyTable& table) { values = table.values(storedKeys); });
  return values;
}

void FileStore::multiSet(const std::vector<std::string>& keys,
                         const std::vector<std::string>& values) {
  detail::requirePairs(place(), keys, values);
  std::lock_guard lock(mutex_);
  FileLog::Session session(*log_, FileLog::Mode::kWrite, Deadline(timeout()));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    session.set(stored(keys[i]), values[i]);
  }
}

}  // namespace lockstep::store
