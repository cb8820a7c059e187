#pragma once

#include <string>

namespace lockstep::process_group {

/// Names the host as far as shared memory reaches: ranks with equal keys can meet in a
/// ProcessGroupSharedMemory. It is made of the kernel's boot id and of the network namespace, in
/// which the ranks' sockets live: containers with networks of their own count as hosts. Empty
/// where the kernel does not say. [any-thread]
[[nodiscard]] std::string hostKey();

}  // namespace lockstep::process_group
