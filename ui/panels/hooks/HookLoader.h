#pragma once

#include <QObject>
#include <QString>
#include <QStringList>

#include "engine/plugin/PluginScan.h"
#include "ui/panels/hooks/LoadHook.h"

class QWidget;

namespace lockstep::ui {

/// Brings libraries of hooks into a folder, one after the other, beside the UI thread; asks before
/// one is replaced. [ui-thread]
class HookLoader : public QObject {
  Q_OBJECT

 public:
  /// `folder`: empty: the user's folder of hooks. `window` owns this and its dialogs.
  HookLoader(QString folder, plugin::ScanOptions scan, QWidget* window);

  /// Opens the dialog that asks for libraries.
  void choose();
  void load(const QStringList& paths);
  /// While held, those that wait go on waiting: as long as the folders are being scanned.
  void hold(bool held);
  [[nodiscard]] bool busy() const { return busy_; }

 signals:
  /// How it goes, a sentence; `bad`: it went wrong.
  void said(const QString& sentence, bool bad);
  /// A library lies in the folder now; its path is from where it came.
  void loaded(const lockstep::plugin::FoundLibrary& library);
  void refused(const lockstep::plugin::FoundLibrary& library, const QString& name);

 private:
  void next();
  void take(const QString& path, const LoadedHook& loaded);
  void askToReplace(const QString& path, const QString& target);

  QString folder_;
  plugin::ScanOptions scan_;
  QWidget* window_;
  QStringList waiting_;
  QString toReplace_;  // may take the place of another file
  bool held_ = false;
  bool busy_ = false;
};

}  // namespace lockstep::ui
