#ifndef LOCKSTEP_OBSERVER_XXH64_H
#define LOCKSTEP_OBSERVER_XXH64_H

#include <stddef.h>
#include <stdint.h>

/* XXH64 with seed 0 (Y. Collet, xxHash fast digest algorithm), as engine/base/Xxh64.h has it from
 * libxxhash: written out, since this is built on machines that have a C compiler and no more. */
#ifdef __cplusplus
extern "C" {
#endif
uint64_t lk_xxh64(const void* bytes, size_t count);
#ifdef __cplusplus
}
#endif

#endif
