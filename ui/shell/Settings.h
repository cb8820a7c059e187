#pragma once

#include <QByteArray>
#include <QKeySequence>
#include <QList>
#include <QString>
#include <QStringList>
#include <QVariant>
#include <optional>
#include <vector>

#include "ui/panels/StudioStore.h"
#include "ui/shell/Appearance.h"
#include "ui/shell/JobRequest.h"

namespace lockstep::ui {

/// What the studio remembers from one session to the next, in the user's configuration.
/// [ui-thread]
class Settings {
 public:
  [[nodiscard]] ThemeChoice theme() const;
  void setTheme(ThemeChoice choice);

  [[nodiscard]] QByteArray geometry() const { return kept("window/geometry").toByteArray(); }
  void setGeometry(const QByteArray& geometry) { keep("window/geometry", geometry); }

  /// The arrangement of the docks in a layout ("live", "analyse", "compare"); empty: the usual.
  [[nodiscard]] QByteArray docks(const QString& layout) const {
    return kept(kDocks + layout).toByteArray();
  }
  void setDocks(const QString& layout, const QByteArray& docks) { keep(kDocks + layout, docks); }
  [[nodiscard]] QString layout() const { return kept("window/layout").toString(); }
  void setLayout(const QString& layout) { keep("window/layout", layout); }

  /// Whether the inspector opens when something is selected.
  [[nodiscard]] bool inspectorOpens() const { return kept("window/inspector", true).toBool(); }
  void setInspectorOpens(bool opens) { keep("window/inspector", opens); }

  /// Whether the verdict on a run is folded to a line.
  [[nodiscard]] bool verdictIsFolded() const { return kept("window/verdictFolded").toBool(); }
  void setVerdictIsFolded(bool folded) { keep("window/verdictFolded", folded); }

  /// What was open when the studio was closed.
  struct LastSession {
    QString run;    ///< path; empty: none
    QString stage;
    double startNs = 0;  ///< visible range
    double endNs = 0;
  };
  [[nodiscard]] LastSession lastSession() const;
  void setLastSession(const LastSession& session);
  /// Whether the next start opens it again.
  [[nodiscard]] bool restoresSession() const { return kept("session/restore", true).toBool(); }
  void setRestoresSession(bool restores) { keep("session/restore", restores); }

  /// Percent by which everything is drawn larger, from the next start on: 100 to 300.
  [[nodiscard]] int scale() const;
  void setScale(int percent) { keep("scale", percent); }

  /// Whether the start page has offered the tour, and the user took it or did not want it.
  [[nodiscard]] bool tourOffered() const { return kept("tour/offered", false).toBool(); }
  void setTourOffered() { keep("tour/offered", true); }

  /// The keys that the user gave an action; nothing: the built-in ones.
  [[nodiscard]] std::optional<QList<QKeySequence>> keysOf(const QString& action) const;
  void setKeys(const QString& action, const QList<QKeySequence>& keys);
  void forgetKeys(const QString& action) { store_.remove("keys/" + action); }

  /// Last opened run files, the latest first, at most ten.
  [[nodiscard]] QStringList recentRuns() const { return kept("recentRuns").toStringList(); }
  void addRecentRun(const QString& path);

  /// The jobs recorded last, the latest first, at most ten. Of a variable whose name says that it is
  /// secret (isSecretName) the value is left out.
  [[nodiscard]] std::vector<JobRequest> recentJobs() const;
  /// In the place of the one with the same command and folder.
  void addRecentJob(const JobRequest& job);

  /// By what the list of runs is grouped; empty: not at all.
  [[nodiscard]] QString runsGroupBy() const { return kept("runs/groupBy").toString(); }
  void setRunsGroupBy(const QString& key) { keep("runs/groupBy", key); }

  [[nodiscard]] QString experiment() const { return kept("experiment").toString(); }
  void setExperiment(const QString& path) { keep("experiment", path); }

 private:
  // Raised when docks or toolbars change, so that an old arrangement is not forced on them.
  static inline const QString kDocks = QStringLiteral("window/docks3/");

  [[nodiscard]] QVariant kept(const QString& key, const QVariant& otherwise = {}) const {
    return store_.value(key, otherwise);
  }
  void keep(const QString& key, const QVariant& value) { store_.setValue(key, value); }

  QSettings store_ = studioStore();
};

QString themeName(ThemeChoice choice);
/// Takes "system", "light" and "dark"; anything else is the system's.
ThemeChoice themeFromName(const QString& name);

}  // namespace lockstep::ui
