#pragma once

#include <QWidget>

#include "ui/panels/hooks/FoundHooks.h"

class QLabel;

namespace lockstep::ui {

class LowTable;

/// What is known of one hook: what it does and promises, its parameters with ranges and help, and
/// what its verification measured. [ui-thread]
class HookDetails : public QWidget {
  Q_OBJECT

 public:
  explicit HookDetails(QWidget* parent = nullptr);

  /// Null: says that none is chosen.
  void show(const HookRow* row);

 private:
  void fillParameters(const HookRow& row);
  void fillVerdict(const HookRow& hook);

  QLabel* title_ = nullptr;
  QLabel* facts_ = nullptr;
  QLabel* parametersTitle_ = nullptr;
  LowTable* parameters_ = nullptr;
  QLabel* verdictTitle_ = nullptr;
  LowTable* verdict_ = nullptr;
  QLabel* findings_ = nullptr;
};

}  // namespace lockstep::ui
