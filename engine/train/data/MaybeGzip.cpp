#include "engine/train/data/MaybeGzip.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

namespace lockstep::train {

base::Result<MaybeGzip> MaybeGzip::open(const std::filesystem::path& path) {
  // gzopen fails without an errno where memory is short.
  errno = 0;
  gzFile_s* file = std::filesystem::is_directory(path) ? nullptr : gzopen(path.c_str(), "rbe");
  if (file == nullptr) {
    if (errno == 0) {
      return base::Error{base::ExitCode::kBadInput, "cannot be read as a file", path.string()};
    }
    return base::systemError(base::ExitCode::kBadInput, "cannot be read", path.string());
  }
  gzbuffer(file, 256 * 1024);
  return MaybeGzip(file, path.string());
}

MaybeGzip::MaybeGzip(MaybeGzip&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)), path_(std::move(other.path_)) {}

MaybeGzip::~MaybeGzip() {
  if (file_ != nullptr) {
    gzclose_r(file_);
  }
}

base::Result<std::string> MaybeGzip::read(std::size_t bytes) {
  // Grows with what is there: `bytes` may come from a damaged header.
  constexpr std::size_t kPiece = 1 << 20;
  std::string data;
  while (data.size() < bytes) {
    const std::size_t before = data.size();
    const std::size_t want = std::min(kPiece, bytes - before);
    data.resize(before + want);
    const int got = gzread(file_, data.data() + before, static_cast<unsigned>(want));
    data.resize(before + static_cast<std::size_t>(std::max(got, 0)));
    int code = Z_OK;
    const char* text = gzerror(file_, &code);
    // Z_BUF_ERROR: the file ends in the middle of the compressed data. That is a cut-off file,
    // which the caller words by what it expected.
    if (got < 0 && code != Z_BUF_ERROR) {
      return base::Error{base::ExitCode::kBadInput, std::string("damaged gzip data: ") + text,
                         path_};
    }
    if (got <= 0) {
      break;
    }
  }
  return data;
}

}  // namespace lockstep::train
