#pragma once

class QWidget;

namespace lockstep::ui {

/// Lets a widget that is about to be shown in a column grow to its height, for as long as movements
/// last by the style (`FlatStyle`); at once, where nothing is to move. [ui-thread]
void unfold(QWidget* widget);

}  // namespace lockstep::ui
