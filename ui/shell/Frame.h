#pragma once

#include <QString>

#include "ui/panels/findings/Findings.h"
#include "ui/shell/Docks.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/Pages.h"
#include "ui/shell/Panels.h"
#include "ui/shell/Programs.h"
#include "ui/shell/Stages.h"
#include "ui/shell/StartPage.h"
#include "ui/shell/StatusReadout.h"
#include "ui/shell/StepStrip.h"
#include "ui/shell/Views.h"

class QMainWindow;

namespace lockstep::ui {

class InspectorOpening;
class Settings;

/// What stands in the window, each in its place and none of it wired: the window owns them all, and
/// they live as long as it does. [ui-thread]
struct Frame {
  /// `runs` is the folder of run files.
  Frame(QMainWindow& window, Settings& settings, const Programs& programs, const QString& runs);

  QMainWindow& window;
  MessageBar* messages;
  StepStrip* strip;
  Stages* stages;
  Findings* findings;
  Views views;
  StartPage* start;
  Pages* pages;
  StatusReadout* status;
  Panels panels;
  Docks docks;
  InspectorOpening* inspectorOpening;

  /// Says something in the status bar, for a while.
  void say(const QString& words, int forMs = 8000) const;
};

}  // namespace lockstep::ui
