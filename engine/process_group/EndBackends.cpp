#include "engine/process_group/EndBackends.h"

#ifdef LOCKSTEP_WITH_MPI
#include "engine/process_group/mpi/Runtime.h"
#endif

namespace lockstep::process_group {

void endBackends() {
#ifdef LOCKSTEP_WITH_MPI
  mpi::Runtime::finish();
#endif
}

}  // namespace lockstep::process_group
