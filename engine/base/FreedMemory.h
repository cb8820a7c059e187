#pragma once

namespace lockstep::base {

/// Lets the C library keep the memory that this process frees, for its next allocations, in place
/// of giving large blocks back to the kernel. A training step allocates the same gradients and
/// activations again and again; memory that comes from the kernel anew is cleared and mapped page
/// by page, which takes an MLP of 10 million parameters some 7,000 page faults and a sixth of its
/// step. First thing in main(). Where the environment sets the allocator up (GLIBC_TUNABLES,
/// MALLOC_*_), or the C library is another, nothing changes.
void keepFreedMemory();

}  // namespace lockstep::base
