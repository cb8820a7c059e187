#pragma once

class QWidget;

namespace lockstep::ui {

/// Leaves to a button, a slider or a combo box the keys that it understands itself while it has
/// the focus: else the keys of the view around it, which are actions, would take them first.
/// [ui-thread]
void keepOwnKeys(QWidget* control);

}  // namespace lockstep::ui
