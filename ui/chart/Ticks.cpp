#include "ui/chart/Ticks.h"

namespace lockstep::ui {

QString tickText(double value, double step) {
  return QString::number(value, 'f', base::decimalsOf(step));
}

}  // namespace lockstep::ui
