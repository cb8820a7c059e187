#pragma once

#include <QObject>
#include <QPointer>
#include <QTimer>

class QDockWidget;

namespace lockstep::ui {

class Settings;
class ViewState;

/// Opens the inspector when something is selected. Who closes it by hand has it closed until it is
/// opened by hand again; that is remembered. [ui-thread]
class InspectorOpening : public QObject {
 public:
  InspectorOpening(QDockWidget* dock, Settings& settings);

  /// What is selected is told by `state`. nullptr: nothing is.
  void follow(ViewState* state);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QDockWidget* dock_;
  Settings& settings_;
  QPointer<ViewState> state_;
  QTimer soon_;
};

}  // namespace lockstep::ui
