#include "xxh64.h"

#include <string.h>

static const uint64_t kPrime1 = UINT64_C(0x9E3779B185EBCA87);
static const uint64_t kPrime2 = UINT64_C(0xC2B2AE3D27D4EB4F);
static const uint64_t kPrime3 = UINT64_C(0x165667B19E3779F9);
static const uint64_t kPrime4 = UINT64_C(0x85EBCA77C2B2AE63);
static const uint64_t kPrime5 = UINT64_C(0x27D4EB2F165667C5);

static uint64_t turn(uint64_t x, int by) {
  return x << by | x >> (64 - by);
}

static uint64_t word(const unsigned char* at) {
  uint64_t value;
  memcpy(&value, at, sizeof(value));
  return value; /* machines that Lockstep runs on are little-endian */
}

static uint64_t mixed(uint64_t sum, uint64_t value) {
  return turn(sum + value * kPrime2, 31) * kPrime1;
}

uint64_t lk_xxh64(const void* bytes, size_t count) {
  const unsigned char* at = bytes;
  const unsigned char* end = at + count;
  uint64_t hash = kPrime5;
  if (count >= 32) {
    uint64_t sums[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
    for (; end - at >= 32; at += 32) {
      for (int i = 0; i < 4; ++i) {
        sums[i] = mixed(sums[i], word(at + 8 * i));
      }
    }
    hash = turn(sums[0], 1) + turn(sums[1], 7) + turn(sums[2], 12) + turn(sums[3], 18);
    for (int i = 0; i < 4; ++i) {
      hash = (hash ^ mixed(0, sums[i])) * kPrime1 + kPrime4;
    }
  }
  hash += count;
  for (; end - at >= 8; at += 8) {
    hash = turn(hash ^ mixed(0, word(at)), 27) * kPrime1 + kPrime4;
  }
  if (end - at >= 4) {
    uint32_t half;
    memcpy(&half, at, sizeof(half));
    hash = turn(hash ^ half * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at < end; ++at) {
    hash = turn(hash ^ *at * kPrime5, 11) * kPrime1;
  }
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}
