#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

#include "engine/base/Result.h"

namespace lockstep::train {

/// Reads an IDX file of unsigned bytes, plain or gzip, as MNIST's: two zero bytes, type 0x08, the
/// number of dimensions, each size as a big-endian 32-bit number, then the bytes. Returns a
/// uint8 tensor of that shape.
/// Errors (kBadInput), each naming the file: not IDX, another type, not `dimensions`, an empty
/// set, cut off or too long (expected and found bytes, unpacked).
base::Result<at::Tensor> readIdx(const std::filesystem::path& file, int dimensions);

}  // namespace lockstep::train
