#pragma once

#include <mutex>
#include <optional>

#include "engine/store/StandaloneStore.h"
#include "engine/store/detail/FileLog.h"

namespace lockstep::store {

struct FileStoreOptions {
  std::string path;
  int worldSize = 1;  ///< instances that will come and go before the file may be deleted
  std::string job{};  ///< a name that every instance of the job gives, so that a file left by a
                      ///< job that crashed is refused instead of read
  Store::Milliseconds timeout = Store::kDefaultTimeout;
};

/// A store in a file that all ranks can reach (c10d::FileStore): an append-only log under a
/// lock, which every instance re-reads from its own position. Needs no port; waiting looks at
/// the file again every few milliseconds. The last instance deletes the file, once worldSize
/// instances have come and gone. [any-thread]
class FileStore final : public StandaloneStore {
 public:
  /// Throws StoreError for a path that cannot be used, a world size below 1, another job's file.
  explicit FileStore(FileStoreOptions options);
  ~FileStore() override;

  StoreResult call(StoreCall asked) override;

  [[nodiscard]] const std::string& path() const { return options_.path; }

 private:
  [[nodiscard]] std::string place() const;
  std::int64_t addInternal(detail::FileLog::Session& session, const std::string& key,
                           std::int64_t amount);

  FileStoreOptions options_;
  std::mutex mutex_;  ///< guards what follows; never held while waiting for a key
  std::optional<detail::FileLog> log_;
};

}  // namespace lockstep::store
