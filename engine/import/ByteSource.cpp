#include "engine/import/ByteSource.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <system_error>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/base/Try.h"

#ifdef LOCKSTEP_HAVE_ZLIB
#include <zlib.h>
#endif

namespace lockstep::imports {
namespace {

using base::Error;
using base::ExitCode;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

class PlainSource : public ByteSource {
 public:
  PlainSource(std::filesystem::path path, File file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::size_t read(char* buffer, std::size_t size) override {
    return std::fread(buffer, 1, size, file_.get());
  }

  [[nodiscard]] base::Status status() const override {
    if (std::ferror(file_.get()) != 0) {
      return Error{ExitCode::kEnvironment, "cannot be read", path_.string()};
    }
    return {};
  }

 protected:
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  File file_;
};

#ifdef LOCKSTEP_HAVE_ZLIB
/// One gzip member after the other, as `cat a.gz b.gz` makes them.
class GzipSource final : public PlainSource {
 public:
  GzipSource(const std::filesystem::path& path, File file) : PlainSource(path, std::move(file)) {
    // The largest window, and 16 for a gzip header in place of zlib's.
    constexpr int kGzipWindow = 15 + 16;
    inflateInit2(&stream_, kGzipWindow);
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(char* buffer, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = static_cast<uInt>(size);
    // Until there is at least one byte: 0 would mean the end. A member may end without giving any.
    while (stream_.avail_out == size && !ended_ && problem_.empty()) {
      if (stream_.avail_in == 0) {
        stream_.avail_in = static_cast<uInt>(PlainSource::read(in_.data(), in_.size()));
        stream_.next_in = reinterpret_cast<Bytef*>(in_.data());
        if (stream_.avail_in == 0) {
          ended_ = true;
          // Between two members the file may end.
          problem_ = inMember_ ? "the gzip is cut off" : "";
          break;
        }
      }
      inMember_ = true;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        inMember_ = false;
        // What follows in the buffer is the next member.
        inflateReset(&stream_);
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        problem_ = fmt::format("the gzip is damaged: {}",
                               stream_.msg != nullptr ? stream_.msg : "it cannot be decompressed");
      }
    }
    // What was decompressed before a damage is not handed out: parsers would complain of a cut
    // text, and status() knows better.
    return problem_.empty() ? size - stream_.avail_out : 0;
  }

  [[nodiscard]] base::Status status() const override {
    if (!problem_.empty()) {
      return Error{ExitCode::kBadInput, problem_, path().string()};
    }
    return PlainSource::status();
  }

 private:
  z_stream stream_{};
  std::array<char, 1 << 16> in_{};
  bool inMember_ = false;
  bool ended_ = false;
  std::string problem_;
};
#endif

}  // namespace

base::Result<std::unique_ptr<ByteSource>> ByteSource::open(const std::filesystem::path& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    return Error{ExitCode::kBadInput, "is a folder", path.string()};
  }
  File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return base::systemError(ExitCode::kBadInput, "cannot be opened", path.string());
  }
  std::array<unsigned char, 2> first{};
  // By its first bytes and not by its name: a .json may have been compressed in place.
  const std::size_t got = std::fread(first.data(), 1, first.size(), file.get());
  std::rewind(file.get());
  if (got == first.size() && first[0] == 0x1F && first[1] == 0x8B) {
#ifdef LOCKSTEP_HAVE_ZLIB
    return std::unique_ptr<ByteSource>(std::make_unique<GzipSource>(path, std::move(file)));
#else
    return Error{ExitCode::kEnvironment,
                 "is a gzip, and this build has no zlib: decompress it first", path.string()};
#endif
  }
  return std::unique_ptr<ByteSource>(std::make_unique<PlainSource>(path, std::move(file)));
}

base::Result<std::vector<char>> readWhole(const std::filesystem::path& path, std::size_t most) {
  auto source = LOCKSTEP_TRY(ByteSource::open(path));
  std::vector<char> bytes;
  constexpr std::size_t kPart = 1 << 16;
  while (true) {
    // The size of a gzip is not known before it is read; a bound on what it becomes keeps one that
    // holds nothing but zeros from taking all memory.
    const std::size_t before = bytes.size();
    bytes.resize(before + kPart);
    const std::size_t got = source->read(bytes.data() + before, kPart);
    bytes.resize(before + got);
    if (got == 0) {
      break;
    }
    if (bytes.size() > most) {
      return Error{
          ExitCode::kBadInput,
          "is larger than " + base::bytesText(most) + ", which is no dump of a Flight Recorder",
          path.string()};
    }
  }
  LOCKSTEP_TRY(source->status());
  return bytes;
}

}  // namespace lockstep::imports
