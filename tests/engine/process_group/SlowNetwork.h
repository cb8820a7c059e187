#pragma once

#include <functional>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::process_group {

/// Runs a group of two ranks, made over TCP.
using RunTwoRanks = std::function<void(const std::function<void(ProcessGroup&)>& body)>;

/// Over a network on which a broadcast takes more than a second, the rank that receives aborts its
/// group at once: the broadcast ends well all the same.
void expectSparedWhileBytesMove(const RunTwoRanks& run);

}  // namespace lockstep::process_group
