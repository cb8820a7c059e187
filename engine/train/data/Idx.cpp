#include "engine/train/data/Idx.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <cstring>

#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/train/data/MaybeGzip.h"

namespace lockstep::train {

base::Result<at::Tensor> readIdx(const std::filesystem::path& file, int dimensions) {
  const auto bad = [&](const std::string& what) {
    return base::Error{base::ExitCode::kBadInput, what, file.string()};
  };
  auto stream = LOCKSTEP_TRY(MaybeGzip::open(file));
  const std::size_t headerBytes = 4 + 4 * static_cast<std::size_t>(dimensions);
  const auto header = LOCKSTEP_TRY(stream.read(headerBytes));
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(header[at]); };
  if (header.size() >= 4 &&
      (byte(0) != 0 || byte(1) != 0 || byte(2) != 0x08 || byte(3) != dimensions)) {
    return bad(fmt::format(
        "opens with {:02x}{:02x}{:02x}{:02x}; an IDX file of bytes with {} "
        "opens with 000008{:02x}",
        byte(0), byte(1), byte(2), byte(3),
        base::countedText(static_cast<std::uint64_t>(dimensions), "dimension"), dimensions));
  }
  if (header.size() < headerBytes) {
    return bad(fmt::format("cut off: an IDX header of {} bytes expected, {} found", headerBytes,
                           header.size()));
  }
  std::vector<std::int64_t> shape;
  std::int64_t expected = 1;
  bool tooBig = false;
  for (int i = 0; i < dimensions; ++i) {
    const std::size_t at = 4 + 4 * static_cast<std::size_t>(i);
    shape.push_back(static_cast<std::int64_t>(byte(at)) << 24 | byte(at + 1) << 16 |
                    byte(at + 2) << 8 | byte(at + 3));
    tooBig = tooBig || __builtin_mul_overflow(expected, shape.back(), &expected);
  }
  if (expected == 0 || tooBig) {
    return bad(tooBig ? "damaged header: impossible sizes" : "holds no samples");
  }
  // One more byte is asked for, so that a file that is too long shows.
  const auto data = LOCKSTEP_TRY(stream.read(static_cast<std::size_t>(expected) + 1));
  const std::size_t found = data.size();
  if (found != static_cast<std::size_t>(expected)) {
    return bad(
        fmt::format("{}: {} bytes expected after the header, {} found",
                    found < static_cast<std::size_t>(expected) ? "cut off" : "too long", expected,
                    found < static_cast<std::size_t>(expected) ? fmt::to_string(found) : "more"));
  }
  at::Tensor tensor = at::empty(shape, at::kByte);
  std::memcpy(tensor.data_ptr(), data.data(), found);
  return tensor;
}

}  // namespace lockstep::train
