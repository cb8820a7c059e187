#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

/// One call of a store as a value: what a store carries out, and what a view of one passes on.
struct StoreCall {
  enum class Verb : std::uint8_t {
    kSet,
    kGet,
    kAdd,
    kCompareSet,
    kDeleteKey,
    kCheck,
    kGetNumKeys,
    kWait,
    kAppend,
    kMultiGet,
    kMultiSet,
  };
  Verb verb{};
  std::vector<std::string> keys{};
  std::vector<std::string> values{};    ///< to write; of a compareSet: expected and desired
  std::int64_t amount = 0;              ///< of an add
  std::chrono::milliseconds timeout{};  ///< of a call that waits

  /// "compareSet".
  [[nodiscard]] const char* name() const;
  /// Whether it blocks until all keys exist.
  [[nodiscard]] bool waits() const;
  /// Whether it may change something.
  [[nodiscard]] bool writes() const;
};

struct StoreResult {
  std::vector<std::string> values{};  ///< of a get, compareSet or multiGet
  std::int64_t number = 0;            ///< of an add or getNumKeys; of a deleteKey or check 1 or 0
};

/// A key-value store shared by the ranks of a job, with c10d::Store's semantics: `get` and
/// `wait` block until the keys exist, `add` keeps a number as decimal text. Values are bytes.
/// Each verb makes one StoreCall of what it was given. All members are [any-thread].
class Store {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using Verb = StoreCall::Verb;
  static constexpr Milliseconds kDefaultTimeout = std::chrono::seconds(300);

  virtual ~Store() = default;

  /// Carries a call out; throws StoreError.
  virtual StoreResult call(StoreCall asked) = 0;

  void set(const std::string& key, const std::string& value) { call({Verb::kSet, {key}, {value}}); }

  /// Blocks until `key` exists, at most timeout().
  std::string get(const std::string& key) {
    return call({Verb::kGet, {key}, {}, 0, timeout()}).values.at(0);
  }

  /// Adds to the decimal number at `key` (absent counts as 0) and returns the sum; throws
  /// StoreError when the value is not a number.
  std::int64_t add(const std::string& key, std::int64_t amount) {
    return call({Verb::kAdd, {key}, {}, amount}).number;
  }

  /// Writes `desired` if the value equals `expected`, or if the key is absent and `expected`
  /// is empty; returns the value that stands afterwards. With an absent key and another
  /// `expected` it creates nothing and returns `expected`.
  std::string compareSet(const std::string& key, const std::string& expected,
                         const std::string& desired) {
    return call({Verb::kCompareSet, {key}, {expected, desired}}).values.at(0);
  }

  /// Returns whether the key existed.
  bool deleteKey(const std::string& key) { return call({Verb::kDeleteKey, {key}}).number != 0; }

  /// Returns whether all keys exist, without blocking.
  bool check(const std::vector<std::string>& keys) {
    return call({Verb::kCheck, keys}).number != 0;
  }

  /// Counts keys, the store's own among them (TCPStore: its init key; FileStore: its refcount).
  std::int64_t getNumKeys() { return call({Verb::kGetNumKeys}).number; }

  /// Blocks until all keys exist. The text of a time-out lists the keys that are missing.
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) {
    call({Verb::kWait, keys, {}, 0, timeout});
  }
  void wait(const std::vector<std::string>& keys) { wait(keys, timeout()); }

  /// Returns whether append, multiGet and multiSet work; the members below throw StoreError
  /// where they do not. TCPStore, FileStore and HashStore have them.
  [[nodiscard]] virtual bool hasExtendedApi() const { return false; }

  /// Appends `value` to the one at `key`; an absent key counts as empty.
  void append(const std::string& key, const std::string& value) {
    call({Verb::kAppend, {key}, {value}});
  }

  /// Blocks until all keys exist, at most timeout(), and returns their values in the order of
  /// `keys`, all as they stood at one moment.
  std::vector<std::string> multiGet(const std::vector<std::string>& keys) {
    return call({Verb::kMultiGet, keys, {}, 0, timeout()}).values;
  }

  /// Sets each key to the value at its place, all at one moment; a key given twice keeps the last.
  void multiSet(const std::vector<std::string>& keys, const std::vector<std::string>& values) {
    call({Verb::kMultiSet, keys, values});
  }

  /// Called with the value before a change (nothing: the key is new) and after it (nothing:
  /// deleted).
  using WatchCallback = std::function<void(const std::optional<std::string>& before,
                                           const std::optional<std::string>& after)>;

  /// Has `callback` called after each change of `key` from now on, whoever makes it; setting an
  /// equal value is one (c10d's TCPStore up to 1.13). Changes of one key come in their order, on
  /// a thread of the store, "store-watch", so that a callback may use the store but must not be
  /// what destroys it. A callback that throws is logged. Ends with this store object, which
  /// waits for a running callback and drops changes not yet reported. TCPStore and HashStore
  /// have it; others throw StoreError.
  virtual void watchKey(const std::string& key, WatchCallback callback);

  [[nodiscard]] virtual Milliseconds timeout() const = 0;
  virtual void setTimeout(Milliseconds timeout) = 0;

 protected:
  /// Throws that a store without the extended interface has no such operation.
  [[noreturn]] static void unsupported(const StoreCall& asked);
};

}  // namespace lockstep::store
