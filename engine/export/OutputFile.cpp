#include "engine/export/OutputFile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>
#include <utility>

#include "engine/base/posix/WriteAll.h"

#ifdef LOCKSTEP_HAVE_ZLIB
#include <zlib.h>

#include <array>
#endif

namespace lockstep::exports {
namespace {

using base::ExitCode;

base::Error cannotWrite(const std::filesystem::path& path) {
  return base::systemError(ExitCode::kEnvironment, "cannot be written",
                           path == "-" ? "standard output" : path.string());
}

}  // namespace

#ifdef LOCKSTEP_HAVE_ZLIB
class OutputFile::Gzip {
 public:
  explicit Gzip(OutputFile& file) : file_(file) {
    constexpr int kGzipWindow = 15 + 16;
    deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY);
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void put(std::string_view text, bool last) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    // Until the output buffer is not filled any more: then all input is taken or, at the end, all
    // is out.
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      file_.put(out_.data(), out_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

 private:
  OutputFile& file_;
  z_stream stream_{};
  std::array<char, 1 << 16> out_;
};
#else
class OutputFile::Gzip {
 public:
  void put(std::string_view, bool) {}
};
#endif

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {}

base::Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::filesystem::path& path) {
  auto file = std::unique_ptr<OutputFile>(new OutputFile(path));
  std::error_code code;
  if (path == "-") {
    file->descriptor_ = posix::Descriptor(dup(STDOUT_FILENO));
  } else {
    const auto status = std::filesystem::status(path, code);
    if (std::filesystem::is_directory(status)) {
      return base::Error{ExitCode::kBadInput, "is a folder; name a file in it", path.string()};
    }
    // A pipe or a device has no other name to be made under.
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      file->descriptor_ = posix::Descriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    } else {
      // A link stays one: what it leads to is written.
      if (const auto target = std::filesystem::canonical(path, code); !code) {
        file->path_ = target;
      }
      file->draft_ = file->path_.parent_path() /
                     // Hidden, and with the process's number: two exports of one name do not write
                     // into each other.
                     fmt::format(".{}.{}.new", file->path_.filename().string(), getpid());
      file->descriptor_ = posix::Descriptor(
          open(file->draft_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
    }
  }
  if (!file->descriptor_.open()) {
    file->draft_.clear();
    return cannotWrite(path);
  }
  if (path.extension() == ".gz") {
#ifdef LOCKSTEP_HAVE_ZLIB
    file->gzip_ = std::make_unique<Gzip>(*file);
#else
    return base::Error{ExitCode::kEnvironment,
                       "this lockstep was built without zlib: name a file that does not end in .gz",
                       path.string()};
#endif
  }
  file->buffer_.reserve(kBufferBytes + (kBufferBytes >> 2));
  return file;
}

OutputFile::~OutputFile() {
  if (!draft_.empty()) {
    unlink(draft_.c_str());
  }
}

void OutputFile::fail() {
  // The first reason; those after it follow from it.
  if (failure_.ok()) {
    failure_ = cannotWrite(path_);
  }
}

void OutputFile::put(const char* data, std::size_t size) {
  if (!failure_.ok()) {
    return;
  }
  if (posix::writeAll(descriptor_, {data, size})) {
    bytes_ += size;
  } else {
    fail();
  }
}

void OutputFile::flush() {
  if (gzip_ != nullptr) {
    gzip_->put(buffer_, false);
  } else {
    put(buffer_.data(), buffer_.size());
  }
  buffer_.clear();
}

base::Status OutputFile::close() {
  if (!descriptor_.open()) {
    return failure_;
  }
  if (gzip_ != nullptr) {
    gzip_->put(buffer_, true);
    buffer_.clear();
  } else {
    flush();
  }
  // A network file system may say only now that there was no room.
  if (::close(descriptor_.release()) != 0) {
    fail();
  }
  return failure_;
}

base::Status OutputFile::commit() {
  if (base::Status closed = close(); !closed.ok() || draft_.empty()) {
    return closed;
  }
  if (std::rename(draft_.c_str(), path_.c_str()) != 0) {
    fail();
  } else {
    draft_.clear();
  }
  return failure_;
}

}  // namespace lockstep::exports
