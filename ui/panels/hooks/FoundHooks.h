#pragma once

#include <QString>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/plugin/PluginScan.h"
#include "ui/panels/hooks/HookVerifier.h"
#include "ui/table/TableRows.h"

namespace lockstep::ui {

/// One hook of one library, or one library that was refused.
struct HookRow {
  enum class State { kReady, kHidden, kDisabled, kVerifying, kVerified, kFailed, kRefused };

  QString id;  ///< of a refused library: its file's name
  QString version;
  QString abi;   ///< "0.1": major and minor
  QString from;  ///< "built-in", "user", "experiment"
  QString path;
  State state = State::kReady;
  QString error;  ///< why it was refused, or what its verification found
  plugin::HookInfo info;
  std::optional<HookVerdict> verdict;

  [[nodiscard]] bool refused() const { return state == State::kRefused; }
  /// Whether an experiment can name it.
  [[nodiscard]] bool usable() const { return !refused() && state != State::kHidden; }
};

/// "ready", "hidden", …
QString nameOf(HookRow::State state);

/// The hooks of the plugin folders, as a scan found them, with what the user disabled and what
/// verifications of this session found. [ui-thread]
class FoundHooks {
 public:
  /// Takes what a scan found, in the order in which ids are looked up.
  void setLibraries(std::vector<plugin::FoundLibrary> libraries);
  /// Reads again what is disabled.
  void disabledChanged();
  void setVerifying(const QString& library);
  void setVerdicts(const QString& library, const std::map<QString, HookVerdict>& verdicts,
                   const QString& error);

  [[nodiscard]] const std::vector<HookRow>& rows() const { return rows_; }
  [[nodiscard]] const HookRow& row(std::size_t index) const { return rows_.at(index); }
  /// The first row of that hook; nothing when there is none.
  [[nodiscard]] std::optional<std::size_t> find(const QString& id) const;
  /// Ids that an experiment can name and the user did not disable.
  [[nodiscard]] QStringList offered() const;

 private:
  void rebuild();
  void judge(HookRow& row, bool hidden, const QString& hider) const;

  std::vector<plugin::FoundLibrary> libraries_;
  std::vector<HookRow> rows_;
  /// By library and id. Kept over scans; one counts while its file has not changed (stamps_).
  std::map<std::pair<QString, QString>, HookVerdict> verdicts_;
  std::map<QString, QString> stamps_;  // of verified libraries
  QString verifying_;                  // library
  QString verifyingStamp_;
};

/// The columns of the table of them.
struct FoundColumn {
  enum : std::size_t { kName, kVersion, kAbi, kState, kError, kFrom, kPath };
};
std::shared_ptr<const TableRows> foundRows(const std::vector<HookRow>& hooks);

}  // namespace lockstep::ui
