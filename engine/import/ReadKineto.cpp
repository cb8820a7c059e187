#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/base/Try.h"
#include "engine/import/ByteSource.h"
#include "engine/import/KinetoEvent.h"
#include "engine/import/KinetoFields.h"
#include "engine/import/KinetoTrace.h"

namespace lockstep::imports {
namespace {

using base::Error;
using base::ExitCode;

// Note [A trace by tokens]
// A trace may be larger than memory, so no tree is built: the parser calls one function for each
// token, and the depth and the last keys say where it stands. With eventDepth_ = 3:
//
//       depth 0   {
//       depth 1     "distributedInfo": {"rank": 0}        rootKey_, innerKey_
//       depth 1     "traceEvents": [
//       depth 2       {                                   an event begins: depth 3
//       depth 3         "name": "...", "ts": 1.5,         field_
//       depth 3         "args": {
//       depth 4           "stream": 7,                    argument_
//       depth 4           "Input Dims": [[2, 3], []]}     lists: depth 5, 6
//       depth 2       },                                  sorter_ takes it or drops it
//
// A file that is a list of events has them one level further up: eventDepth_ = 2. Only the event
// that is being read is held. Values of keys that are not known are passed over whatever they are,
// those of known keys must be of their type: false ends the parse, with problem_.

/// What nlohmann's parser tells, a token at a time.
class Handler {
 public:
  explicit Handler(KinetoTrace& trace) : trace_(trace), sorter_(trace) {}

  bool null() {
    return value([](auto&&) { return true; });
  }
  bool boolean(bool) {
    // true is no time, but may be the value of any other field.
    return wrongNumber() && value([](auto&&) { return true; });
  }
  bool number_integer(std::int64_t number) { return number_(number, {}); }
  bool number_unsigned(std::uint64_t number) {
    // Clamped: a time as late as that is refused where it is used.
    return number_(number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                       ? std::numeric_limits<std::int64_t>::max()
                       : static_cast<std::int64_t>(number),
                   {});
  }
  bool number_float(double number, const std::string& text) {
    const bool fits = number > -9e18 && number < 9e18;
    // With its text, of which nanoseconds() makes a time without rounding.
    return number_(fits ? static_cast<std::int64_t>(number) : 0, text);
  }
  bool string(std::string& text) { return text_(text); }
  bool binary(std::vector<std::uint8_t>&) { return true; }

  bool start_object(std::size_t) {
    ++depth_;
    if (inEvents_ && depth_ == eventDepth_) {
      event_.clear();
      field_ = Field::kNone;
      ++trace_.events;
      return true;
    }
    if (inEvents_ && depth_ < eventDepth_) {
      return fail("an event is no object");
    }
    if (atEvent() && field_ != Field::kArguments && field_ != Field::kNone) {
      return fail("a field of an event has an object for a value");
    }
    return true;
  }
  bool end_object() {
    const bool ended = inEvents_ && depth_ == eventDepth_;
    // Back from the arguments: keys that follow are the event's again.
    if (--depth_ == eventDepth_ && inEvents_) {
      field_ = Field::kNone;
    }
    return !ended || takeEvent();
  }
  bool start_array(std::size_t) {
    ++depth_;
    if (depth_ == 1) {
      beginEvents(2);
      return true;
    }
    if (depth_ == 2 && rootKey_ == "traceEvents") {
      beginEvents(3);
      return true;
    }
    if (inEvents_ && depth_ == eventDepth_) {
      return fail("an event is no object");
    }
    if (atEvent() && field_ != Field::kNone) {
      return fail("a field of an event has a list for a value");
    }
    if (inArguments()) {
      startList();
    }
    return true;
  }
  bool end_array() {
    if (inEvents_ && depth_ == eventDepth_ - 1) {
      // What follows the list is of the file itself, such as baseTimeNanoseconds.
      inEvents_ = false;
    } else if (inEvents_ && depth_ >= eventDepth_ + 2) {
      endList();
    }
    --depth_;
    return true;
  }
  bool key(std::string& text) {
    if (!inEvents_) {
      if (depth_ == 1) {
        rootKey_ = text;
        // Lockstep's own traces say so before their events.
        trace_.isExport |= text == "lockstep";
      } else if (depth_ == 2) {
        innerKey_ = text;
      }
      return true;
    }
    if (depth_ == eventDepth_ || depth_ == eventDepth_ + 1) {
      (depth_ == eventDepth_ ? field_ : argument_) =
          depth_ == eventDepth_ ? eventFieldNamed(text) : argumentNamed(text);
    }
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& error) {
    if (problem_.empty()) {
      std::string text = error.what();
      const auto from = text.find("syntax error");
      problem_ = fmt::format("is cut off or damaged at byte {}: {}", at,
                             from == std::string::npos ? "it is no JSON" : text.substr(from));
      constexpr std::size_t kLongest = 200;
      problem_.resize(std::min(problem_.size(), kLongest));
    }
    return false;
  }

  [[nodiscard]] std::string problem() const {
    return problem_.empty() && !sawEvents_
               ? "holds no traceEvents: it is no trace of torch.profiler"
               : problem_;
  }

 private:
  [[nodiscard]] bool atEvent() const { return inEvents_ && depth_ == eventDepth_ + 1; }
  [[nodiscard]] bool inArguments() const {
    return inEvents_ && field_ == Field::kArguments && depth_ >= eventDepth_ + 2;
  }

  void beginEvents(int depth) {
    inEvents_ = sawEvents_ = true;
    eventDepth_ = depth;
    field_ = Field::kNone;
  }

  bool fail(const std::string& why) {
    problem_ = fmt::format("event {}: {}", trace_.events, why);
    return false;
  }

  /// A value that is none of those that are asked for.
  template <typename Take>
  bool value(Take take) {
    if (inEvents_ && depth_ < eventDepth_) {
      return fail("an event is no object");
    }
    return take(0);
  }

  bool wrongNumber() {
    if (inEvents_ && depth_ == eventDepth_ &&
        (field_ == Field::kBegin || field_ == Field::kDuration)) {
      return fail(field_ == Field::kBegin ? "\"ts\" is no number" : "\"dur\" is no number");
    }
    return true;
  }

  bool number_(std::int64_t number, const std::string& text) {
    if (!inEvents_) {
      rootNumber(number);
      return true;
    }
    if (depth_ < eventDepth_) {
      return fail("an event is no object");
    }
    if (depth_ == eventDepth_) {
      return eventNumber(number, text);
    }
    if (field_ != Field::kArguments) {
      return true;
    }
    if (depth_ > eventDepth_ + 1) {
      listNumber(number);
      return true;
    }
    setNumber(event_, argument_, number);
    return true;
  }

  bool eventNumber(std::int64_t number, const std::string& text) {
    switch (field_) {
      case Field::kBegin:
      case Field::kDuration: {
        const auto ns = nanoseconds(text.empty() ? std::to_string(number) : text);
        if (!ns) {
          return fail("a time that is no time");
        }
        (field_ == Field::kBegin ? event_.beginNs : event_.durationNs) = ns;
        return true;
      }
      case Field::kProcess:
        event_.process = std::to_string(number);
        return true;
      case Field::kThread:
        event_.thread = std::to_string(number);
        return true;
      case Field::kName:
        return fail("\"name\" is no text");
      case Field::kPhase:
        return fail("\"ph\" is no text");
      case Field::kArguments:
        return fail("\"args\" is no object");
      default:
        return true;
    }
  }

  bool text_(std::string& text) {
    if (!inEvents_) {
      rootText(text);
      return true;
    }
    if (depth_ < eventDepth_) {
      return fail("an event is no object");
    }
    if (depth_ == eventDepth_) {
      switch (field_) {
        case Field::kPhase:
          event_.phase = text;
          break;
        case Field::kCategory:
          event_.category = text;
          break;
        case Field::kName:
          event_.name.swap(text);
          break;
        case Field::kProcess:
          event_.process = text;
          break;
        case Field::kThread:
          event_.thread = text;
          break;
        case Field::kArguments:
          return fail("\"args\" is no object");
        default:
          return wrongNumber();
      }
      return true;
    }
    if (field_ != Field::kArguments) {
      return true;
    }
    if (depth_ > eventDepth_ + 1) {
      // "Input type" has one text for each argument.
      if (argument_ == Field::kTypes && event_.type.empty() && first_) {
        event_.type = text;
      }
      first_ = false;
      return true;
    }
    setText(event_, argument_, text);
    return true;
  }

  // "Input Dims" is a list with the shape of each argument, or with a list of shapes where one is
  // a list of tensors. The first argument is looked at.
  void startList() {
    if (depth_ == eventDepth_ + 2) {
      first_ = true;
    }
    dimensions_.clear();
  }
  void endList() {
    if (argument_ != Field::kShapes) {
      return;
    }
    if (depth_ > eventDepth_ + 2 && first_ && !dimensions_.empty()) {
      std::uint64_t product = 1;
      for (const std::int64_t dimension : dimensions_) {
        product *= static_cast<std::uint64_t>(std::max<std::int64_t>(dimension, 0));
      }
      event_.elements += product;
      // A shape directly in the list: the first argument is one tensor. One level deeper it is a
      // list of tensors, of which only the sum of the elements is kept.
      if (depth_ == eventDepth_ + 3) {
        event_.shape = dimensions_;
      }
    }
    dimensions_.clear();
    if (depth_ == eventDepth_ + 3) {
      first_ = false;
    }
  }
  void listNumber(std::int64_t number) {
    if (argument_ == Field::kShapes && first_) {
      dimensions_.push_back(number);
    }
  }

  void rootNumber(std::int64_t number) {
    if (depth_ == 1 && rootKey_ == "baseTimeNanoseconds" && number >= 0 && number < kLatestNs) {
      trace_.baseNs = number;
    } else if (depth_ == 2 && rootKey_ == "distributedInfo") {
      constexpr std::int64_t kMost = 1 << 20;
      if (innerKey_ == "rank" && number >= 0 && number < kMost) {
        trace_.rank = static_cast<int>(number);
      } else if (innerKey_ == "world_size" && number > 0 && number <= kMost) {
        trace_.worldSize = static_cast<int>(number);
      }
    }
  }

  void rootText(const std::string& text) {
    if (depth_ == 1 && rootKey_ == "host_name") {
      trace_.hostName = text;
    } else if (depth_ == 2 && rootKey_ == "distributedInfo" && innerKey_ == "backend") {
      trace_.backend = text;
    } else if (depth_ == 3 && rootKey_ == "deviceProperties" && trace_.device.empty() &&
               innerKey_ == "name") {
      trace_.device = text;
    }
  }

  bool takeEvent() {
    const std::string wrong = sorter_.take(event_);
    return wrong.empty() || fail(wrong);
  }

  KinetoTrace& trace_;
  KinetoSorter sorter_;
  std::string problem_;
  int depth_ = 0;
  int eventDepth_ = 3;
  bool inEvents_ = false;
  bool sawEvents_ = false;
  std::string rootKey_;
  std::string innerKey_;
  KinetoEvent event_;
  Field field_ = Field::kNone;
  Field argument_ = Field::kNone;
  bool first_ = true;
  std::vector<std::int64_t> dimensions_;
};

}  // namespace

base::Result<KinetoTrace> readKineto(const std::filesystem::path& path) {
  auto source = LOCKSTEP_TRY(ByteSource::open(path));
  KinetoTrace trace;
  trace.path = path;
  Handler handler(trace);
  Bytes bytes(*source);
  const bool whole = nlohmann::json::sax_parse(bytes.begin(), Bytes::end(), &handler,
                                               nlohmann::json::input_format_t::json, true);
  LOCKSTEP_TRY(source->status());
  if (const std::string problem = handler.problem(); !whole || !problem.empty()) {
    return Error{ExitCode::kBadInput, problem.empty() ? "is damaged" : problem, path.string()};
  }
  // An empty list of events is a trace of nothing.
  if (trace.lastNs == trace.firstNs) {
    return Error{ExitCode::kBadInput, "holds no events with a time", path.string()};
  }
  return trace;
}

}  // namespace lockstep::imports
