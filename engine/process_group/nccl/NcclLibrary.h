#pragma once

#include <memory>

#include "engine/process_group/nccl/Library.h"

namespace lockstep::process_group::nccl {

/// The NCCL that this libtorch is linked with. Where LOCAL_WORLD_SIZE says that there are more
/// ranks than GPUs on this host, NCCL is told by its environment variables to let them share; call
/// it before other threads read the environment.
[[nodiscard]] std::shared_ptr<Library> ncclLibrary();

}  // namespace lockstep::process_group::nccl
