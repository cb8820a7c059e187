// The other process of the tests that need one. Commands come line by line on stdin; each is
// answered by "ok" once it is done.
//   trace_peer write PATH   rows N: add N numbered spans and commit; uncommitted N: add only;
//                           finish: end the run as finished
//   trace_peer emit FD      emit N: N numbered events; send TEXT: one message
// When stdin ends it leaves at once, as a process that crashed would.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "engine/trace/Event.h"
#include "engine/trace/HostFacts.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/Tracer.h"

namespace lockstep::trace {
namespace {

int write(const std::string& path) {
  auto created = RunFileWriter::create(path, {.finishPatience = std::chrono::milliseconds(100)});
  if (!created.ok()) {
    std::cout << created.error().message() << std::endl;
    return 1;
  }
  RunFileWriter& writer = *created.value();
  RunInfo info;
  info.state = RunState::kRunning;
  info.hostName = hostName();
  writer.setInfo(info);
  bool fine = writer.commit().ok();
  std::uint64_t next = 0;
  std::cout << "ok" << std::endl;
  for (std::string line; std::getline(std::cin, line) && fine;) {
    std::istringstream words(line);
    std::string command;
    std::uint64_t count = 0;
    words >> command >> count;
    for (std::uint64_t i = 0; i < count; ++i) {
      writer.addEvent(0, Event{.startTicks = next, .kind = 12, .value = next});
      ++next;
    }
    if (command == "finish") {
      info.state = RunState::kFinished;
      writer.setInfo(info);
      fine = writer.finish().ok();
    } else if (command == "rows") {
      fine = writer.commit().ok();
    }
    std::cout << (fine ? "ok" : "failed") << std::endl;
  }
  _exit(0);
}

int emit(int fd) {
  auto segment = Segment::attach(fd);
  if (!segment.ok()) {
    std::cout << segment.error().message() << std::endl;
    return 1;
  }
  Tracer tracer(std::move(segment).value());
  Lane& lane = tracer.lane("step");
  std::uint64_t next = 0;
  std::cout << "ok" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.rfind("send ", 0) == 0) {
      tracer.send(line.substr(5));
    } else {
      const std::uint64_t count = std::strtoull(line.c_str() + 5, nullptr, 10);
      for (std::uint64_t i = 0; i < count; ++i) {
        lane.instant(EventKind::kBucketReady, static_cast<std::uint32_t>(next), 0, next);
        ++next;
      }
    }
    std::cout << "ok" << std::endl;
  }
  _exit(0);
}

}  // namespace
}  // namespace lockstep::trace

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  return std::string(argv[1]) == "write" ? lockstep::trace::write(argv[2])
                                         : lockstep::trace::emit(std::atoi(argv[2]));
}
