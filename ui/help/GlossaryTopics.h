#pragma once

#include <vector>

#include "ui/help/HelpTopic.h"

namespace lockstep::ui {

/// The chapter of the help that the glossary is.
QString glossaryChapter();

/// A page for each entry of the glossary, in its order and words.
std::vector<HelpTopic> glossaryTopics();

}  // namespace lockstep::ui
