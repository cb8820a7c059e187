#include "engine/base/ShellWords.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "engine/base/Try.h"

namespace lockstep::base {
namespace {

Error onlyAShell(char what) {
  return {ExitCode::kBadInput,
          fmt::format("no shell reads this line, and {} needs one: bash -c '...' around it, or ' "
                      "around what it stands in",
                      what),
          {}};
}

class Words {
 public:
  explicit Words(std::string_view line) : line_(line) {}

  Result<std::vector<std::string>> read() {
    for (at_ = 0; at_ < line_.size(); ++at_) {
      const char c = line_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        endWord();
      } else if (c == '\'' || c == '"') {
        LOCKSTEP_TRY(readQuoted(c));
      } else if (c == '\\' && at_ + 1 < line_.size()) {
        add(line_[++at_]);
      } else if (std::string_view("|&;<>()$`").find(c) != std::string_view::npos) {
        return onlyAShell(c);
      } else if (c == '~' && !inWord_ && isHome()) {
        inWord_ = true;
        const char* home = std::getenv("HOME");
        word_ = home == nullptr ? "~" : home;
      } else {
        add(c);
      }
    }
    endWord();
    return std::move(words_);
  }

 private:
  void add(char c) {
    inWord_ = true;
    word_ += c;
  }

  void endWord() {
    if (inWord_) {
      words_.push_back(std::move(word_));
    }
    word_.clear();
    inWord_ = false;
  }

  /// Of a user alone whose name is not said.
  [[nodiscard]] bool isHome() const {
    const char next = at_ + 1 < line_.size() ? line_[at_ + 1] : ' ';
    return next == '/' || next == ' ' || next == '\t' || next == '\n';
  }

  Status readQuoted(char quote) {
    // Two quotes with nothing between them are a word: an empty one.
    inWord_ = true;
    for (++at_; at_ < line_.size() && line_[at_] != quote; ++at_) {
      if (quote == '"') {
        if (line_[at_] == '$' || line_[at_] == '`') {
          return onlyAShell(line_[at_]);
        }
        if (line_[at_] == '\\' && at_ + 1 < line_.size() &&
            std::string_view("\"\\$`").find(line_[at_ + 1]) != std::string_view::npos) {
          ++at_;
        }
      }
      word_ += line_[at_];
    }
    if (at_ == line_.size()) {
      return Error{ExitCode::kBadInput, fmt::format("a {} is not closed", quote), {}};
    }
    return {};
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::vector<std::string> words_;
  std::string word_;
  bool inWord_ = false;
};

}  // namespace

std::string shellLine(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    // Everything that some shell may read as more than itself; too many quotes harm nothing.
    const bool plain =
        !word.empty() && word.find_first_of(" \t\r\n\"'\\$`*?;&|<>(){}[]!#~") == std::string::npos;
    std::string quoted;
    for (const char c : word) {
      quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + quoted + "'");
  }
  return text;
}

Result<std::vector<std::string>> shellWords(std::string_view line) {
  return Words(line).read();
}

std::string commandName(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    // "torchrun --nproc-per-node 2 train.py" is called "train", not "torchrun".
    if (const std::filesystem::path path(word); path.extension() == ".py") {
      return path.stem().string();
    }
  }
  return std::filesystem::path(words.front()).filename().string();
}

}  // namespace lockstep::base
