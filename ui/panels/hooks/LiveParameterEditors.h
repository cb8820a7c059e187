#pragma once

#include <QString>
#include <functional>

#include "ui/panels/hooks/LiveParameters.h"

class QWidget;

namespace lockstep::ui {

/// The widget that holds the value of a parameter.
struct LiveParameterEditor {
  QWidget* widget = nullptr;
  std::function<QString()> shown;  ///< the value, as `textOf` writes it
  std::function<void(const QString& held)> put;

  /// Shows what the ranks use.
  void putBack(const QString& held) const;
};

/// Makes the editor of a parameter by its type; `change` is called with what the user enters.
LiveParameterEditor makeEditor(const LiveParameter& parameter,
                               const std::function<void(const plugin::HookValue&)>& change);

}  // namespace lockstep::ui
