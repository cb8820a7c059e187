#include "engine/import/Pickle.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::imports {
namespace {

using base::Error;
using base::ExitCode;

constexpr std::size_t kMostValues = 10'000'000;  // of what is built, repeats and all
constexpr int kDeepest = 64;

struct Value;
using Shared = std::shared_ptr<Value>;
using List = std::vector<Shared>;                     // tuples too
using Dict = std::vector<std::pair<Shared, Shared>>;  // in the order of the file

struct Value {
  std::variant<nlohmann::json, List, Dict> is;
};

/// The names of pickletools, for what is refused; empty: no opcode at all.
std::string nameOf(unsigned char opcode) {
  static const std::unordered_map<unsigned char, std::string> kNames = {{'c', "GLOBAL"},
                                                                        {'R', "REDUCE"},
                                                                        {'b', "BUILD"},
                                                                        {'i', "INST"},
                                                                        {'o', "OBJ"},
                                                                        {0x81, "NEWOBJ"},
                                                                        {0x92, "NEWOBJ_EX"},
                                                                        {0x93, "STACK_GLOBAL"},
                                                                        {0x82, "EXT1"},
                                                                        {0x83, "EXT2"},
                                                                        {0x84, "EXT4"},
                                                                        {'P', "PERSID"},
                                                                        {'Q', "BINPERSID"},
                                                                        {0x97, "NEXT_BUFFER"},
                                                                        {0x98, "READONLY_BUFFER"},
                                                                        {0x8F, "EMPTY_SET"},
                                                                        {0x90, "ADDITEMS"},
                                                                        {0x91, "FROZENSET"},
                                                                        {0x96, "BYTEARRAY8"},
                                                                        {'I', "INT"},
                                                                        {'L', "LONG"},
                                                                        {'F', "FLOAT"},
                                                                        {'S', "STRING"},
                                                                        {'V', "UNICODE"},
                                                                        {'T', "BINSTRING"},
                                                                        {'U', "SHORT_BINSTRING"},
                                                                        {'d', "DICT"},
                                                                        {'l', "LIST"},
                                                                        {'g', "GET"},
                                                                        {'p', "PUT"}};
  const auto found = kNames.find(opcode);
  return found == kNames.end() ? "" : found->second;
}

class Reader {
 public:
  Reader(std::span<const char> bytes, const std::string& where) : bytes_(bytes), where_(where) {}
  ~Reader() {  // values may hold each other, in a circle or a million deep
    for (const Shared& value : containers_) {
      value->is = nlohmann::json();
    }
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  base::Result<nlohmann::json> read() {
    while (problem_.empty() && !stopped_) {
      opcodeAt_ = at_;
      const auto opcode = static_cast<unsigned char>(number<std::uint8_t>());
      if (problem_.empty()) {
        step(opcode);
      }
    }
    if (problem_.empty() && stack_.size() != 1) {
      refuse("it ends with other than one value");
    }
    nlohmann::json made;
    if (problem_.empty()) {
      made = build(*stack_.front(), 0);
    }
    if (!problem_.empty()) {
      return Error{ExitCode::kBadInput, problem_, where_};
    }
    return made;
  }

 private:
  void refuse(const std::string& why) {
    if (problem_.empty()) {
      problem_ = fmt::format("is no pickle that can be read: {} at byte {}", why, opcodeAt_);
    }
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) {
      refuse("it is cut off");
      at_ = bytes_.size();
      return {};
    }
    const std::string_view text(bytes_.data() + at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return text;
  }

  template <typename Number>
  Number number() {
    const std::string_view text = take(sizeof(Number));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    }
    return static_cast<Number>(value);
  }

  void push(Value value) {
    if (++pushed_ > kMostValues) {
      refuse("it has too many values");
      return;
    }
    stack_.push_back(std::make_shared<Value>(std::move(value)));
    if (!std::holds_alternative<nlohmann::json>(stack_.back()->is)) {
      containers_.push_back(stack_.back());
    }
  }
  void push(nlohmann::json value) { push(Value{std::move(value)}); }

  Shared pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) {
      refuse("a value is missing");
      return std::make_shared<Value>();
    }
    Shared value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }

  List popToMark() {
    if (marks_.empty()) {
      refuse("a mark is missing");
      return {};
    }
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    List values(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(mark)),
                std::make_move_iterator(stack_.end()));
    stack_.resize(mark);
    return values;
  }

  template <typename Kind>
  Kind* top(const char* wanted) {
    Kind* found = stack_.empty() ? nullptr : std::get_if<Kind>(&stack_.back()->is);
    if (found == nullptr) {
      refuse(fmt::format("there is no {} to add to", wanted));
    }
    return found;
  }

  void remember(std::uint64_t index) {
    constexpr std::uint64_t kMostIndex = 1u << 28;
    if (stack_.empty() || index > kMostIndex) {
      refuse("there is nothing to remember");
      return;
    }
    memo_[index] = stack_.back();
  }

  void recall(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) {
      refuse("it repeats what it has not remembered");
      return;
    }
    stack_.push_back(found->second);
  }

  void text(std::uint64_t size) { push(nlohmann::json(std::string(take(size)))); }
  void blob(std::uint64_t size) {
    const std::string_view bytes = take(size);
    push(nlohmann::json::binary({bytes.begin(), bytes.end()}));
  }

  void longNumber(std::uint64_t size) {
    const std::string_view digits = take(size);
    if (digits.size() > sizeof(std::int64_t)) {
      refuse("a number has more than 64 bits");
      return;
    }
    std::uint64_t value = !digits.empty() && (digits.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      value &= ~(std::uint64_t{0xFF} << (8 * i));
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(digits[i])) << (8 * i);
    }
    push(nlohmann::json(static_cast<std::int64_t>(value)));
  }

  void tuple(int size) {
    List values(static_cast<std::size_t>(size));
    for (int i = size; i-- > 0;) {
      values[static_cast<std::size_t>(i)] = pop();
    }
    push(Value{std::move(values)});
  }

  void append(List values) {
    if (List* list = top<List>("list")) {
      list->insert(list->end(), values.begin(), values.end());
    }
  }

  void setItems(const List& values) {
    Dict* dict = top<Dict>("dict");
    if (dict == nullptr || values.size() % 2 != 0) {
      refuse("a dict has a key without a value");
      return;
    }
    for (std::size_t i = 0; i < values.size(); i += 2) {
      dict->emplace_back(values[i], values[i + 1]);
    }
  }

  void step(unsigned char opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        if (const auto protocol = number<std::uint8_t>(); protocol < 2 || protocol > 5) {
          refuse(fmt::format("protocol {}", protocol));
        }
        break;
      case 0x95:
        number<std::uint64_t>();
        break;  // FRAME: says how much may be read at once
      case '.':
        stopped_ = true;
        break;  // STOP
      case '0':
        pop();
        break;  // POP
      case '1':
        popToMark();
        break;   // POP_MARK
      case '2':  // DUP
        if (stack_.empty()) {
          refuse("a value is missing");
        } else {
          stack_.push_back(stack_.back());
        }
        break;
      case '(':
        marks_.push_back(stack_.size());
        break;  // MARK
      case 'N':
        push(nlohmann::json());
        break;
      case 0x88:
        push(nlohmann::json(true));
        break;
      case 0x89:
        push(nlohmann::json(false));
        break;
      case 'J':
        push(nlohmann::json(number<std::int32_t>()));
        break;  // BININT
      case 'K':
        push(nlohmann::json(number<std::uint8_t>()));
        break;  // BININT1
      case 'M':
        push(nlohmann::json(number<std::uint16_t>()));
        break;  // BININT2
      case 0x8A:
        longNumber(number<std::uint8_t>());
        break;
      case 0x8B:
        longNumber(number<std::uint32_t>());
        break;
      case 'G': {  // BINFLOAT, the high byte first
        std::uint64_t bits = 0;
        for (const char c : take(sizeof(double))) {
          bits = bits << 8 | static_cast<unsigned char>(c);
        }
        push(nlohmann::json(std::bit_cast<double>(bits)));
        break;
      }
      case 'X':
        text(number<std::uint32_t>());
        break;
      case 0x8C:
        text(number<std::uint8_t>());
        break;
      case 0x8D:
        text(number<std::uint64_t>());
        break;
      case 'B':
        blob(number<std::uint32_t>());
        break;
      case 'C':
        blob(number<std::uint8_t>());
        break;
      case 0x8E:
        blob(number<std::uint64_t>());
        break;
      case ']':
        push(Value{List{}});
        break;
      case '}':
        push(Value{Dict{}});
        break;
      case ')':
        tuple(0);
        break;
      case 0x85:
        tuple(1);
        break;
      case 0x86:
        tuple(2);
        break;
      case 0x87:
        tuple(3);
        break;
      case 't':
        push(Value{popToMark()});
        break;
      case 'a':
        append({pop()});
        break;
      case 'e':
        append(popToMark());
        break;
      case 's': {
        Shared value = pop();
        Shared key = pop();
        setItems({std::move(key), std::move(value)});
        break;
      }
      case 'u':
        setItems(popToMark());
        break;
      case 'q':
        remember(number<std::uint8_t>());
        break;
      case 'r':
        remember(number<std::uint32_t>());
        break;
      case 0x94:
        remember(memo_.size());
        break;  // MEMOIZE
      case 'h':
        recall(number<std::uint8_t>());
        break;
      case 'j':
        recall(number<std::uint32_t>());
        break;
      default:
        refuse(nameOf(opcode).empty()
                   ? fmt::format("no opcode {:#04x}", static_cast<unsigned>(opcode))
                   : fmt::format("opcode {}, which data needs not, is not read", nameOf(opcode)));
    }
  }

  std::string keyOf(const Value& key) {
    const auto* plain = std::get_if<nlohmann::json>(&key.is);
    if (plain == nullptr || plain->is_binary()) {
      refuse("a dict has a key that is neither text nor number");
      return {};
    }
    return plain->is_string() ? plain->get<std::string>() : plain->dump();
  }

  nlohmann::json build(const Value& value, int depth) {
    if (depth > kDeepest) {
      refuse("its values hold each other too deep");
    }
    if (++built_ > kMostValues) {
      refuse("it repeats its values too often");
    }
    if (!problem_.empty()) {
      return {};
    }
    if (const auto* plain = std::get_if<nlohmann::json>(&value.is)) {
      return *plain;
    }
    if (const auto* list = std::get_if<List>(&value.is)) {
      nlohmann::json made = nlohmann::json::array();
      for (const Shared& item : *list) {
        made.push_back(build(*item, depth + 1));
      }
      return made;
    }
    nlohmann::json made = nlohmann::json::object();
    for (const auto& [key, item] : std::get<Dict>(value.is)) {
      made[keyOf(*key)] = build(*item, depth + 1);
    }
    return made;
  }

  std::span<const char> bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::size_t opcodeAt_ = 0;
  bool stopped_ = false;
  std::string problem_;
  List stack_;
  List containers_;
  std::size_t pushed_ = 0;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Shared> memo_;
  std::size_t built_ = 0;
};

}  // namespace

base::Result<nlohmann::json> readPickle(std::span<const char> bytes, const std::string& where) {
  return Reader(bytes, where).read();
}

}  // namespace lockstep::imports
