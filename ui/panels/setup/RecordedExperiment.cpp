#include "ui/panels/setup/RecordedExperiment.h"

#include "engine/experiment/ExperimentText.h"
#include "engine/experiment/FieldText.h"
#include "engine/experiment/Schema.h"

namespace lockstep::ui {

// A run file holds every key. In a form, what was chosen would not be told from what stands by
// default, and a choice that is changed would leave keys behind that mean nothing to the new one.
std::string asWritten(const std::string& recorded, const std::string& name) {
  experiment::ExperimentText text(recorded);
  text.removeBelow("sweep.");
  for (const auto& [key, value] : text.pairs()) {
    const experiment::Field* field = experiment::findField(key);
    if (field != nullptr && !field->initial.empty() &&
        experiment::sameValue(*field, value, field->initial)) {
      text.remove(key);
    }
  }
  text.set("name", experiment::tomlText(*experiment::findField("name"), name));
  return text.text();
}

}  // namespace lockstep::ui
