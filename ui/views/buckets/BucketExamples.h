#pragma once

#include <vector>

namespace lockstep::ui {

struct BucketStory;

/// Leaves some ranks of many in a story: those that are `shown`, if they are few; else the first,
/// the middle and the last to have all of their gradients.
void keepExamples(BucketStory& story, const std::vector<int>& shown);

}  // namespace lockstep::ui
