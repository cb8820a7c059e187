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

  QLabel* title_;
  QLabel* facts_;
  QLabel* parametersTitle_;
  LowTable* parameters_;
  QLabel* verdictTitle_;
  LowTable* verdict_;
  QLabel* findings_;
};

}  // namespace lockstep::ui
