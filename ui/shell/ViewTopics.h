#pragma once

#include <vector>

#include "ui/help/HelpTopic.h"

namespace lockstep::ui {

class Stages;

/// The chapter of the help that says what the views are.
QString viewsChapter();

/// A page for each view: what it is, how it is read, and the terms of the glossary in it.
std::vector<HelpTopic> viewTopics(const Stages& stages);

}  // namespace lockstep::ui
