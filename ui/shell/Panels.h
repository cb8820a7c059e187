#pragma once

#include "ui/panels/InspectorPanel.h"
#include "ui/panels/LogPanel.h"
#include "ui/panels/ProblemsPanel.h"
#include "ui/panels/events/EventsPanel.h"
#include "ui/panels/hooks/HookManagerPanel.h"
#include "ui/panels/runs/RunsPanel.h"
#include "ui/panels/setup/SetupPanel.h"
#include "ui/panels/statistics/StatisticsPanel.h"

namespace lockstep::ui {

/// What stands in the docks, which own them.
struct Panels {
  RunsPanel* runs;
  SetupPanel* setup;
  HookManagerPanel* hooks;
  InspectorPanel* inspector;
  LogPanel* log;
  ProblemsPanel* problems;
  StatisticsPanel* statistics;
  EventsPanel* events;
};

}  // namespace lockstep::ui
