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

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  std::string compareSet(const std::string& key, const std::string& expected,
                         const std::string& desired) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;
  using Store::wait;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override;
  void append(const std::string& key, const std::string& value) override;
  std::vector<std::string> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::string>& values) override;

  [[nodiscard]] const std::string& path() const { return options_.path; }

 private:
  [[nodiscard]] std::string place() const;
  std::int64_t addInternal(detail::FileLog::Session& session, const std::string& key,
                           std::int64_t amount);
  using Found = std::function<void(const detail::KeyTable& table)>;
  void waitFor(const std::string& operation, const std::vector<std::string>& keys,
               Milliseconds timeout, const Found& found);

  FileStoreOptions options_;
  std::mutex mutex_;  ///< guards what follows; never held while waiting for a key
  std::optional<detail::FileLog> log_;
};

}  // namespace lockstep::store
