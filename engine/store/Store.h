#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::store {

/// Thrown by every Store operation that fails or times out. The text names the operation,
/// the keys and the place (address or file). Time-outs contain the word "timeout".
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A key-value store shared by the ranks of a job, with c10d::Store's semantics: `get` and
/// `wait` block until the keys exist, `add` keeps a number as decimal text. Values are bytes.
/// All members are [any-thread].
class Store {
 public:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr Milliseconds kDefaultTimeout = std::chrono::seconds(300);

  virtual ~Store() = default;

  virtual void set(const std::string& key, const std::string& value) = 0;

  /// Blocks until `key` exists, at most timeout().
  virtual std::string get(const std::string& key) = 0;

  /// Adds to the decimal number at `key` (absent counts as 0) and returns the sum; throws
  /// StoreError when the value is not a number.
  virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;

  /// Writes `desired` if the value equals `expected`, or if the key is absent and `expected`
  /// is empty; returns the value that stands afterwards. With an absent key and another
  /// `expected` it creates nothing and returns `expected`.
  virtual std::string compareSet(const std::string& key, const std::string& expected,
                                 const std::string& desired) = 0;

  /// Returns whether the key existed.
  virtual bool deleteKey(const std::string& key) = 0;

  /// Returns whether all keys exist, without blocking.
  virtual bool check(const std::vector<std::string>& keys) = 0;

  /// Counts keys, the store's own among them (TCPStore: its init key; FileStore: its refcount).
  virtual std::int64_t getNumKeys() = 0;

  /// Blocks until all keys exist. The text of a time-out lists the keys that are missing.
  virtual void wait(const std::vector<std::string>& keys, Milliseconds timeout) = 0;
  void wait(const std::vector<std::string>& keys) { wait(keys, timeout()); }

  [[nodiscard]] virtual Milliseconds timeout() const = 0;
  virtual void setTimeout(Milliseconds timeout) = 0;
};

}  // namespace lockstep::store
