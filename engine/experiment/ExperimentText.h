#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::experiment {

/// The text of an experiment file that is changed key by key, so that a form can edit a file
/// that somebody wrote: what is not changed stays as it was written, comments and order too.
/// Keys are called as Field::key does ("ddp.bucket_cap_mb"); those of hooks inside are
/// "hook.inner.name", those of a sweep "sweep.ddp.bucket_cap_mb". Values are TOML. Whether a key
/// exists and a value fits it is the parser's business (Parse.h). [any-thread], a value.
class ExperimentText {
 public:
  explicit ExperimentText(std::string text = {});

  [[nodiscard]] const std::string& text() const { return text_; }
  /// False for a text that is no TOML: it has no keys then, and a change does nothing.
  [[nodiscard]] bool readable() const { return readable_; }
  /// Whether a change could not be made in place (an inline table, dotted keys), so that the
  /// text was written anew and its comments are gone.
  [[nodiscard]] bool rewritten() const { return rewritten_; }

  /// A key with its value as written.
  using Pair = std::pair<std::string, std::string>;

  /// The keys outside lists of tables, in the order of the text.
  [[nodiscard]] std::vector<Pair> pairs() const;
  /// Nothing when the key is not written.
  [[nodiscard]] std::optional<std::string> value(std::string_view key) const;
  /// Whether a line (from 1) is one of those that a key's name and value stand in.
  [[nodiscard]] bool isLineOf(std::string_view key, int line) const;
  void set(const std::string& key, const std::string& toml);
  /// Takes the key's line out, and its table when nothing is left in it.
  void remove(std::string_view key);
  /// Removes every key that begins with `prefix` ("hook.inner.").
  void removeBelow(std::string_view prefix);

  // The list of tables [[faults]].

  [[nodiscard]] std::size_t faultCount() const { return faultCount_; }
  /// The keys of one fault, without their table: "kind".
  [[nodiscard]] std::vector<Pair> fault(std::size_t index) const;
  /// The fault that a line (from 1) belongs to.
  [[nodiscard]] std::optional<std::size_t> faultAt(int line) const;
  void addFault(const std::vector<Pair>& pairs);
  void removeFault(std::size_t index);
  void setInFault(std::size_t index, const std::string& leaf, const std::string& toml);
  void removeInFault(std::size_t index, std::string_view leaf);

 private:
  static constexpr std::size_t kNoFault = static_cast<std::size_t>(-1);

  struct Slot {
    std::string key;               ///< of a fault: without its table
    std::size_t fault = kNoFault;  ///< index
    std::size_t line = 0;          ///< of the key, from 0
    std::size_t begin = 0;         ///< of the value, bytes from the start of the text
    std::size_t end = 0;
    std::size_t lastLine = 0;  ///< of the value
  };
  struct Header {
    std::string table;
    bool list = false;
    std::size_t line = 0;
  };

  void read();
  void readHeaders();
  [[nodiscard]] const Slot* find(std::string_view key, std::size_t fault) const;
  [[nodiscard]] std::string raw(const Slot& slot) const;
  [[nodiscard]] std::optional<std::size_t> headerOf(std::string_view table,
                                                    std::size_t fault) const;
  [[nodiscard]] std::string_view lineAt(std::size_t line) const;
  /// The first line of the comment that ends right above `line`, or `line`.
  [[nodiscard]] std::size_t aboveComments(std::size_t line) const;
  /// The first line that is not the section's: the next header or its comment, or the end.
  [[nodiscard]] std::size_t sectionEnd(std::size_t header) const;
  [[nodiscard]] std::size_t insertionLine(std::string_view table, std::size_t fault) const;
  void put(const std::string& key, std::size_t fault, const std::string& toml);
  void take(std::string_view key, std::size_t fault);
  void insertKey(const std::string& key, std::size_t fault, const std::string& toml);
  void insertSection(const std::string& title, const std::string& body, double order);
  void removeLines(std::size_t first, std::size_t behind);
  void dropIfEmpty(std::size_t header);
  void adopt(std::string text);
  /// Writes all anew, each key in a table of its own name.
  void rewrite();

  std::string text_;
  bool readable_ = true;
  bool rewritten_ = false;
  std::vector<std::size_t> lineStarts_;
  std::vector<Slot> slots_;
  std::vector<Header> headers_;
  std::size_t faultCount_ = 0;
};

}  // namespace lockstep::experiment
