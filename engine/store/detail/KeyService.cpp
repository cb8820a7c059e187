#include "engine/store/detail/KeyService.h"

#include <chrono>
#include <utility>

#include "engine/store/detail/Deadline.h"

namespace lockstep::store::detail {
namespace {

std::string numberField(std::int64_t number) {
  std::string fields;
  base::ByteWriter(fields).put<std::int64_t>(number);
  return fields;
}

std::string textField(std::string_view text) {
  std::string fields;
  base::ByteWriter(fields).text(text);
  return fields;
}

std::chrono::steady_clock::time_point deadlineAfter(std::int64_t timeoutMs) {
  return Deadline(std::chrono::milliseconds(timeoutMs)).at();
}

}  // namespace

// Note [What a request sets going]
//
// A request is carried out whole before the next one is looked at, so that no client sees half of
// one. Besides its own answer it may bring others:
//
//   client 1   kSet "a"        ──▶ kOk to 1
//                               ├▶ kChanged to each client that watches "a"
//                               └▶ kOk to each client whose kGet, kWait, ... has all its keys now
//
// They are collected as messages, for clients by number; the server sends them. The answer to a
// request that waits comes among the messages of another one, or from expire().
KeyService::Outcome KeyService::execute(Id from, std::string_view content) {
  base::ByteReader reader(content);
  const auto code = reader.take<std::uint8_t>();
  if (!code) {
    return Outcome::kMalformed;
  }
  const auto request = static_cast<Request>(*code);
  switch (request) {
    case Request::kNumKeys:
      return reader.atEnd()
                 ? reply(from, Reply::kOk, numberField(static_cast<std::int64_t>(table_.size())))
                 : Outcome::kMalformed;
    case Request::kCheck:
    case Request::kWait:
    case Request::kMultiGet:
    case Request::kMultiSet:
      return executeOnKeys(from, request, reader);
    default:
      return executeOnKey(from, request, reader);
  }
}

KeyService::Outcome KeyService::executeOnKeys(Id from, Request request, base::ByteReader reader) {
  auto keys = takeKeys(reader);
  if (!keys) {
    return Outcome::kMalformed;
  }
  if (request == Request::kMultiSet) {
    return setAll(from, *keys, reader);
  }
  if (request == Request::kCheck) {
    return reader.atEnd()
               ? reply(from, Reply::kOk, numberField(table_.missing(*keys).empty() ? 1 : 0))
               : Outcome::kMalformed;
  }
  const auto timeoutMs = reader.take<std::int64_t>();
  if (!timeoutMs || !reader.atEnd()) {
    return Outcome::kMalformed;
  }
  return wait(from, {request, std::move(*keys), 0, deadlineAfter(*timeoutMs)});
}

/// Reads all values before it writes one, so that a malformed request changes nothing.
KeyService::Outcome KeyService::setAll(Id from, const std::vector<std::string>& keys,
                                       base::ByteReader reader) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto value = reader.text(kLongestValue);
    if (!value) {
      return Outcome::kMalformed;
    }
    values.push_back(std::move(*value));
  }
  if (!reader.atEnd()) {
    return Outcome::kMalformed;
  }
  // By its key, since of a key that is given twice the last value alone is stored.
  ValueSizes sizes;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    sizes[keys[i]] = values[i].size();
  }
  if (const auto all = overfull(sizes)) {
    return reply(from, Reply::kTooLarge, numberField(*all));
  }
  reply(from, Reply::kOk);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    write(keys[i], std::move(values[i]));
  }
  // Not before all are written: who waits for some of them reads either none of them or all.
  for (const std::string& key : keys) {
    wake(key);
  }
  return Outcome::kAnswered;
}

KeyService::Outcome KeyService::executeOnKey(Id from, Request request, base::ByteReader reader) {
  const auto key = reader.text(kLongestKey);
  if (!key) {
    return Outcome::kMalformed;
  }
  switch (request) {
    case Request::kSet:
    case Request::kAppend: {
      auto value = reader.text(kLongestValue);
      if (!value || !reader.atEnd()) {
        return Outcome::kMalformed;
      }
      if (const std::string* before = table_.find(*key);
          request == Request::kAppend && before != nullptr) {
        const std::size_t size = before->size() + value->size();
        if (size > kLongestValue) {
          return reply(from, Reply::kTooLarge, numberField(static_cast<std::int64_t>(size)));
        }
        value->insert(0, *before);
      }
      if (const auto all = overfull({{*key, value->size()}})) {
        return reply(from, Reply::kTooLarge, numberField(*all));
      }
      reply(from, Reply::kOk);
      write(*key, std::move(*value));
      wake(*key);
      return Outcome::kAnswered;
    }
    case Request::kAdd: {
      const auto amount = reader.take<std::int64_t>();
      if (!amount || !reader.atEnd()) {
        return Outcome::kMalformed;
      }
      const auto sum = table_.sum(*key, *amount);
      if (!sum) {
        return reply(from, Reply::kNotANumber, textField(*table_.find(*key)));
      }
      if (const auto all = overfull({{*key, std::to_string(*sum).size()}})) {
        return reply(from, Reply::kTooLarge, numberField(*all));
      }
      reply(from, Reply::kOk, numberField(*sum));
      write(*key, std::to_string(*sum));
      wake(*key);
      return Outcome::kAnswered;
    }
    case Request::kCompareSet: {
      const auto expected = reader.text(kLongestValue);
      const auto desired = reader.text(kLongestValue);
      if (!expected || !desired || !reader.atEnd()) {
        return Outcome::kMalformed;
      }
      const auto comparison = table_.compare(*key, *expected, *desired);
      if (const auto all = overfull({{*key, desired->size()}}); all && comparison.writes) {
        return reply(from, Reply::kTooLarge, numberField(*all));
      }
      reply(from, Reply::kOk, textField(comparison.value));
      if (comparison.writes) {
        write(*key, *desired);
        wake(*key);
      }
      return Outcome::kAnswered;
    }
    case Request::kDelete: {
      if (!reader.atEnd()) {
        return Outcome::kMalformed;
      }
      const bool exists = table_.find(*key) != nullptr;
      reply(from, Reply::kOk, numberField(exists ? 1 : 0));
      // No waiter is looked at: none waits for a key to be gone.
      if (exists) {
        write(*key, std::nullopt);
      }
      return Outcome::kAnswered;
    }
    case Request::kGet:
    case Request::kWaitAtLeast: {
      const auto atLeast = request == Request::kGet ? 0 : reader.take<std::int64_t>();
      const auto timeoutMs = reader.take<std::int64_t>();
      return atLeast && timeoutMs && reader.atEnd()
                 ? wait(from, {request, {*key}, *atLeast, deadlineAfter(*timeoutMs)})
                 : Outcome::kMalformed;
    }
    case Request::kWatch:
      return reader.atEnd() ? watch(from, *key) : Outcome::kMalformed;
    default:
      return Outcome::kMalformed;
  }
}

KeyService::Outcome KeyService::wait(Id from, Waiter waiter) {
  if (waiters_.satisfied(waiter)) {
    replyDone(from, waiter);
    return Outcome::kAnswered;
  }
  waiters_.add(from, std::move(waiter));
  return Outcome::kWaits;
}

KeyService::Outcome KeyService::watch(Id from, const std::string& key) {
  watchers_[key].insert(from);
  watched_.emplace(from, key);
  reply(from, Reply::kOk);
  return Outcome::kWatches;
}

std::optional<std::int64_t> KeyService::overfull(const ValueSizes& sizes) const {
  std::size_t all = table_.bytes();
  for (const auto& [key, bytes] : sizes) {
    const std::string* before = table_.find(key);
    // A value that is replaced makes room for the new one.
    const std::size_t freed = before == nullptr ? 0 : key.size() + before->size();
    all = all + key.size() + bytes - freed;
  }
  return all > kMostStored ? std::optional(static_cast<std::int64_t>(all)) : std::nullopt;
}

void KeyService::write(const std::string& key, std::optional<std::string> value) {
  tellWatchers(key, value);
  if (value) {
    table_.set(key, std::move(*value));
  } else {
    table_.erase(key);
  }
}

void KeyService::wake(const std::string& key) {
  for (const auto& [id, waiter] : waiters_.keyChanged(key)) {
    replyDone(id, waiter);
  }
}

void KeyService::tellWatchers(const std::string& key, const std::optional<std::string>& after) {
  const auto found = watchers_.find(key);
  if (found == watchers_.end()) {
    return;
  }
  const std::string* before = table_.find(key);
  std::string fields;
  base::ByteWriter writer(fields);
  writer.put<std::uint8_t>(
      static_cast<std::uint8_t>((before != nullptr ? 1 : 0) | (after ? 2 : 0)));
  writer.text(before != nullptr ? *before : std::string_view());
  writer.text(after ? *after : std::string_view());
  for (const Id id : found->second) {
    reply(id, Reply::kChanged, fields);
  }
}

void KeyService::expire(TimePoint now) {
  for (const auto& [id, waiter] : waiters_.expired(now)) {
    replyLate(id, waiter);
  }
}

void KeyService::forget(Id client) {
  waiters_.remove(client);
  if (const auto watched = watched_.find(client); watched != watched_.end()) {
    const auto key = watchers_.find(watched->second);
    key->second.erase(client);
    if (key->second.empty()) {
      watchers_.erase(key);
    }
    watched_.erase(watched);
  }
}

void KeyService::replyDone(Id to, const Waiter& waiter) {
  if (waiter.request != Request::kGet && waiter.request != Request::kMultiGet) {
    reply(to, Reply::kOk);
    return;
  }
  std::size_t size = 1;
  for (const std::string& key : waiter.keys) {
    size += 4 + table_.find(key)->size();
  }
  // Each value fits a frame, but those of a multiGet may not all together.
  if (size > kLongestFrame) {
    reply(to, Reply::kTooLarge, numberField(static_cast<std::int64_t>(size)));
    return;
  }
  std::string fields;
  fields.reserve(size);
  for (const std::string& key : waiter.keys) {
    base::ByteWriter(fields).text(*table_.find(key));
  }
  reply(to, Reply::kOk, fields);
}

void KeyService::replyLate(Id to, const Waiter& waiter) {
  std::string fields;
  if (waiter.request == Request::kWaitAtLeast) {
    fields = numberField(table_.sum(waiter.keys.front(), 0).value_or(0));
  } else {
    base::ByteWriter writer(fields);
    writer(table_.missing(waiter.keys));
  }
  reply(to, Reply::kTimeout, fields);
}

KeyService::Outcome KeyService::reply(Id to, Reply status, std::string_view fields) {
  std::string content(1, static_cast<char>(status));
  content += fields;
  messages_.push_back({to, framed(content)});
  return Outcome::kAnswered;
}

}  // namespace lockstep::store::detail
