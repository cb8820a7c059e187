#include "ui/panels/hooks/FoundHooks.h"

#include <QFileInfo>
#include <algorithm>

#include "plugins/abi/include/lockstep/comm_hook.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/hooks/DisabledHooks.h"
#include "ui/table/WrittenTable.h"

namespace lockstep::ui {
namespace {

using State = HookRow::State;

/// Stands for the content of a file: a verdict holds for its library as long as this is the same.
QString stampOf(const QString& path) {
  const QFileInfo file(path);
  return QString::number(file.size()) + QLatin1Char(' ') +
         QString::number(file.lastModified().toMSecsSinceEpoch());
}

/// The first thing that a verification found wrong.
QString faultOf(const HookVerdict& verdict) {
  if (!verdict.error.isEmpty()) {
    return verdict.error;
  }
  for (const plugin::Verification& run : verdict.runs) {
    if (!run.problems.empty()) {
      return QString::fromStdString(run.problems.front());
    }
  }
  for (const plugin::Verification& run : verdict.runs) {
    if (!run.refusal.empty()) {
      return QString::fromStdString(run.refusal);
    }
  }
  return {};
}

}  // namespace

QString nameOf(State state) {
  static constexpr const char* kNames[] = {"ready",      "hidden",   "disabled", "verifying…",
                                           "✓ verified", "✗ failed", "✗ refused"};
  return TableRows::tr(kNames[static_cast<std::size_t>(state)]);
}

void FoundHooks::setLibraries(std::vector<plugin::FoundLibrary> libraries) {
  libraries_ = std::move(libraries);
  rebuild();
}

void FoundHooks::disabledChanged() {
  rebuild();
}

void FoundHooks::setVerifying(const QString& library) {
  verifying_ = library;
  verifyingStamp_ = stampOf(library);  // of what is verified, whatever is written meanwhile
  rebuild();
}

// A hook that no verdict came for counts as failed; `error` says what the verification ended with.
void FoundHooks::setVerdicts(const QString& library, const std::map<QString, HookVerdict>& verdicts,
                             const QString& error) {
  verifying_.clear();
  stamps_[library] = verifyingStamp_;
  for (const HookRow& row : rows_) {
    if (row.path == library && !row.refused()) {
      const auto found = verdicts.find(row.id);
      verdicts_[{library, row.id}] =
          found != verdicts.end() ? found->second : HookVerdict{false, {}, error};
    }
  }
  rebuild();
}

// Note [The state of a hook]
//
// Several things may be so at once; the first of these that is so is the state:
//
//   refused     its library cannot be used at all (rebuild)
//   verifying   its library is being verified, and all of its hooks with it
//   hidden      a library that is looked at first has a hook of this name: that one is used
//   disabled    the user does not want it offered
//   verified    or failed, when there is a verdict that still holds
//   ready       nothing is known against it
//
// Rows are made anew at each change, by a scan above all. Verdicts are kept beside them, by library
// and id, and hold over scans while the file is the one that was verified (stampOf).
void FoundHooks::judge(HookRow& row, bool hidden, const QString& hider) const {
  const auto verdict = verdicts_.find({row.path, row.id});
  const auto stamp = stamps_.find(row.path);
  if (verdict != verdicts_.end() && stamp != stamps_.end() && stamp->second == stampOf(row.path)) {
    row.verdict = verdict->second;
  }
  if (row.path == verifying_) {
    row.state = State::kVerifying;
  } else if (hidden) {
    row.state = State::kHidden;
    row.error = TableRows::tr("%1 has a hook of this name and is looked at first").arg(hider);
  } else if (isHookDisabled(row.id, row.path)) {
    row.state = State::kDisabled;
  } else if (row.verdict) {
    row.state = row.verdict->passes ? State::kVerified : State::kFailed;
  }
  if (row.verdict && !row.verdict->passes && row.error.isEmpty()) {
    row.error = faultOf(*row.verdict);
  }
}

void FoundHooks::rebuild() {
  std::vector<HookRow> rows;
  std::map<QString, QString> first;  // library that has an id first
  for (const plugin::FoundLibrary& library : libraries_) {
    HookRow row;
    row.path = QString::fromStdString(library.path);
    row.from = QString::fromUtf8(plugin::name(library.from).data(),
                                 static_cast<qsizetype>(plugin::name(library.from).size()));
    if (!library.error.empty()) {
      row.id = QFileInfo(row.path).completeBaseName();
      row.state = State::kRefused;
      row.error = QString::fromStdString(library.error);
      rows.push_back(std::move(row));
      continue;
    }
    row.abi = QString::number(LOCKSTEP_ABI_MAJOR) + QLatin1Char('.') +
              QString::number(library.info.abiMinor);
    for (const plugin::HookInfo& info : library.info.hooks) {
      HookRow hook = row;
      hook.id = QString::fromStdString(info.id);
      hook.version = QString::fromStdString(info.version);
      hook.info = info;
      const auto [holder, isFirst] = first.emplace(hook.id, hook.path);
      judge(hook, !isFirst, holder->second);
      rows.push_back(std::move(hook));
    }
  }
  rows_ = std::move(rows);
}

std::optional<std::size_t> FoundHooks::find(const QString& id) const {
  const auto at = std::ranges::find(rows_, id, &HookRow::id);
  return at == rows_.end() ? std::nullopt
                           : std::optional(static_cast<std::size_t>(at - rows_.begin()));
}

QStringList FoundHooks::offered() const {
  QStringList ids;
  for (const HookRow& row : rows_) {
    if (row.usable() && !isHookDisabled(row.id, row.path)) {
      ids << row.id;
    }
  }
  return ids;
}

std::shared_ptr<const TableRows> foundRows(const std::vector<HookRow>& hooks) {
  const auto column = [](const char* title, const char* tip) {
    return TableRows::Column{TableRows::tr(title), TableRows::tr(tip)};
  };
  const WrittenRows::Ink bad = [] { return currentPalette().error; };
  const WrittenRows::Ink badGround = [] {
    return mixed(currentPalette().error, currentPalette().background, 0.12);
  };
  const WrittenRows::Ink faint = [] { return currentPalette().textMuted; };
  std::vector<WrittenRows::Row> rows;
  for (const HookRow& hook : hooks) {
    const QString tip =
        hook.error.isEmpty() ? QString::fromStdString(hook.info.summary) : hook.error;
    const bool out = hook.state == State::kHidden || hook.state == State::kDisabled;
    WrittenRows::Row& row = rows.emplace_back();
    for (const QString& text :
         {hook.id, hook.version, hook.abi, nameOf(hook.state), hook.error, hook.from, hook.path}) {
      const bool failed = hook.state == State::kFailed && row.size() <= FoundColumn::kError;
      row.push_back({text,
                     {},
                     tip,
                     hook.refused() || failed ? bad
                     : out                    ? faint
                                              : nullptr,
                     false,
                     hook.refused() ? badGround : nullptr});
    }
    if (hook.state == State::kVerified) {
      row[FoundColumn::kState].ink = [] { return currentPalette().good; };
    }
  }
  return std::make_shared<WrittenRows>(
      std::vector{column("Name", "What hook.name of an experiment says"),
                  column("Version", "Of the hook"),
                  column("ABI", "Version of the plugin border that it was built for"),
                  column("State", "Whether experiments can use it"),
                  column("Last error", "Why it was refused, or what its verification found"),
                  column("From", "Whose folder it lies in"), column("Path", "Of its library")},
      std::move(rows));
}

}  // namespace lockstep::ui
