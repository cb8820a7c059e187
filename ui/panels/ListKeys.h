#pragma once

class QEvent;
class QWidget;

namespace lockstep::ui {

/// While one types in a line beside a list, hands the keys that move in a list to it. To be called
/// by the line's event filter; returns whether the event was one of them. [ui-thread]
bool movedInList(QEvent* event, QWidget* list);

}  // namespace lockstep::ui
