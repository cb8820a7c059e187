#pragma once

#include <QString>
#include <filesystem>
#include <optional>
#include <string>

#include "tests/support/TemporaryFolder.h"
#include "ui/panels/hooks/HookManagerPanel.h"

namespace lockstep::ui::test {

/// A folder of the user with libraries of hooks that are no libraries: a program that stands in
/// for lockstep-hookscan prints what is in such a file, and one that stands in for lockstep
/// prints what it was given as a verdict.
class MadeUpHooks {
 public:
  MadeUpHooks();
  ~MadeUpHooks();

  /// Writes a library with one hook into the user's folder, or elsewhere; returns its path.
  std::filesystem::path add(const std::string& id, const std::string& version = "1.0");
  std::filesystem::path addAt(const std::string& file, const std::string& id,
                              const std::string& version = "1.0");
  /// Writes one that is refused with that sentence.
  std::filesystem::path addRefused(const std::string& file, const std::string& sentence);
  /// What `lockstep hooks --verify --json` prints, and ends with, from now on.
  void setVerdict(const std::string& json, int exitCode = 0);
  /// It never ends of itself.
  void setEndless();

  [[nodiscard]] std::filesystem::path userFolder() const { return folder_ / "user"; }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
  [[nodiscard]] HookManagerOptions options() const;

 private:
  void program(const std::string& name, const std::string& script);

  support::TemporaryFolder folder_;
  std::optional<std::string> dataHomeBefore_;
};

/// A verdict of one hook on two ranks, as JSON.
std::string verdictJson(const std::string& id, bool passes, const std::string& problem = "");

}  // namespace lockstep::ui::test
