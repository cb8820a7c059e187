#pragma once

#include <vector>

#include "engine/diagnosis/Evidence.h"
#include "engine/diagnosis/Finding.h"

// The rules' functions, each in the file of its rule; Rules.cpp says what they are.
namespace lockstep::diagnosis {

std::vector<Finding> judgeFailed(const Evidence& evidence);
std::vector<Finding> judgeCalls(const Evidence& evidence);
std::vector<Finding> judgeNotFinite(const Evidence& evidence);
std::vector<Finding> judgeAverage(const Evidence& evidence);
std::vector<Finding> judgeReplicas(const Evidence& evidence);
std::vector<Finding> judgeLateRank(const Evidence& evidence);
std::vector<Finding> judgeCores(const Evidence& evidence);
std::vector<Finding> judgeData(const Evidence& evidence);
std::vector<Finding> judgeBuckets(const Evidence& evidence);
std::vector<Finding> judgeLargeParameter(const Evidence& evidence);
std::vector<Finding> judgeRankLink(const Evidence& evidence);
std::vector<Finding> judgeTransfer(const Evidence& evidence);
std::vector<Finding> judgeHook(const Evidence& evidence);
std::vector<Finding> judgeCopies(const Evidence& evidence);
std::vector<Finding> judgeSearch(const Evidence& evidence);
std::vector<Finding> judgeBetweenSteps(const Evidence& evidence);

}  // namespace lockstep::diagnosis
