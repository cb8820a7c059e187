#include "ui/model/RunTitle.h"

#include "ui/model/RunModel.h"

namespace lockstep::ui {

QString titleOfRun(const RunModel& model) {
  if (!model.info().name.empty()) {
    return QString::fromStdString(model.info().name);
  }
  return model.path().empty() ? QStringLiteral("Lockstep run")
                              : QString::fromStdString(model.path().stem().string());
}

}  // namespace lockstep::ui
