#include "tests/support/AllocatedBytes.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> asked = 0;

}  // namespace

namespace lockstep::support {

std::size_t allocatedBytes() {
  return asked;
}

}  // namespace lockstep::support

// In the place of the library's own, whose other forms call these; but AddressSanitizer's do not, and
// what the form without exceptions allocates is freed as all else is.
void* operator new(std::size_t size) {
  asked += size;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) {
    return memory;
  }
  throw std::bad_alloc();
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  asked += size;
  return std::malloc(size == 0 ? 1 : size);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
