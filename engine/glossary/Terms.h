#pragma once

#include <vector>

#include "engine/glossary/Glossary.h"

namespace lockstep::glossary {

// The entries by what they are about, each list in a file of its own and in alphabetical order.

std::vector<Entry> stepTerms();    ///< time of a step: phases, overlap, exposed time and its causes
std::vector<Entry> bucketTerms();  ///< buckets, gradients, collectives, hooks, bytes
std::vector<Entry> runTerms();     ///< runs, ranks, views, findings, forecasts

}  // namespace lockstep::glossary
