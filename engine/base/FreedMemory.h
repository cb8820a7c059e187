#pragma once

namespace lockstep::base {

/// Lets the C library keep the memory that this process frees, for its next allocations, in place
/// of giving large blocks back to the kernel. A training step allocates the same gradients and
/// activations again and again; memory that comes from the kernel anew is cleared and mapped page
/// by page, which takes an MLP of 10 million parameters some 7,000 page faults and a sixth of its
/// step. First thing in main(). Where the environment sets the allocator up (GLIBC_TUNABLES,
/// MALLOC_*_), or the C library is another, nothing changes.
void keepFreedMemory();

/// Gives the kernel the memory that this process has freed and the C library keeps: after work that
/// took much on its way, in many small blocks, and before more is taken elsewhere. Costs some
/// milliseconds where there is much of it. [any-thread]
void giveBackFreedMemory();

}  // namespace lockstep::base
