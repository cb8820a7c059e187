#include "app/rank/Ending.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "engine/base/PlainText.h"
#include "engine/data_parallel/DataParallelError.h"
#include "engine/ddp/DdpError.h"
#include "engine/hooks/HookError.h"
#include "engine/process_group/CommError.h"
#include "engine/store/Store.h"

namespace lockstep::rank {

using base::Error;
using base::ExitCode;

namespace {

/// What went wrong inside a replica decides; its text says where.
Error causeOf(const std::exception& replicaError) {
  try {
    std::rethrow_if_nested(replicaError);
  } catch (...) {
    return errorOf(std::current_exception());
  }
  return {ExitCode::kUnexpected, replicaError.what(), ""};
}

/// Whether a group, "default.2", is of some of the ranks alone: it counts them in its own way.
bool isOfSomeRanks(const std::string& group) {
  const std::size_t last = group.find_last_not_of("0123456789");
  return last != std::string::npos && last + 1 < group.size() && group[last] == '.';
}

}  // namespace

Error errorOf(const std::exception_ptr& exception) {
  try {
    // From the particular to the general, since all of these are std::exceptions. c10::Error stands
    // before those for the sake of its text: its what() ends with a backtrace of many lines.
    std::rethrow_exception(exception);
  } catch (const process_group::CommError& error) {
    return {ExitCode::kCommFailed, error.what(), ""};
  } catch (const store::StoreError& error) {
    return {ExitCode::kCommFailed, error.what(), ""};
  } catch (const hooks::HookError& error) {
    return {ExitCode::kHookFailed, error.what(), ""};
  } catch (const ddp::DdpError& error) {
    return {ExitCode::kBadInput, error.what(), ""};
  } catch (const data_parallel::ReplicaError& error) {
    return {causeOf(error).code, error.what(), ""};
  } catch (const data_parallel::DataParallelError& error) {
    return {ExitCode::kBadInput, error.what(), ""};
  } catch (const c10::Error& error) {
    return {ExitCode::kUnexpected, error.what_without_backtrace(), ""};
  } catch (const std::bad_alloc&) {
    return {ExitCode::kEnvironment, "out of memory; lower data.batch_size or the model's size", ""};
  } catch (const std::exception& error) {
    return {ExitCode::kUnexpected, error.what(), ""};
  } catch (...) {
    return {ExitCode::kUnexpected, "an exception of unknown type", ""};
  }
}

Culprits culpritsOf(const std::exception_ptr& exception) {
  using process_group::CommErrorKind;
  try {
    // By whom these name the supervisor finds the rank that a run failed by, when all of them end
    // with an error. Other errors name nobody: a rank that is out of memory accuses itself alone.
    std::rethrow_exception(exception);
  } catch (const process_group::CommError& error) {
    // Its culprits are numbers of members: "rank 1" of a group of ranks 2 and 5 is rank 5. Nobody
    // is named rather than somebody wrong.
    if (isOfSomeRanks(error.where().group)) {
      return {};
    }
    switch (error.kind()) {
      case CommErrorKind::kMismatch:
        return {trace::Fault::kOtherCall, error.culprits()};
      case CommErrorKind::kTimeout:
        return {trace::Fault::kDidNotCome, error.culprits()};
      case CommErrorKind::kNetwork:
        return {trace::Fault::kGone, error.culprits()};
      // What remains says something of the rank itself, or only that a group was aborted: whoever
      // did that has named the culprits.
      default:
        return {};
    }
  } catch (const ddp::DdpError& error) {
    return {trace::Fault::kOtherModel, error.culprits()};
  } catch (...) {
    return {};
  }
}

std::string oneLine(const std::string& text) {
  // The supervisor takes what a rank writes apart by lines, and its last words are shown in a row
  // of a table.
  std::string line;
  for (const char c : text) {
    const bool blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') {
    line.pop_back();
  }
  return line;
}

void report(const std::string& who, const Error& error) {
  fmt::print(stderr, "{}: {}\n", who, base::plainText(oneLine(error.message())));
}

void leave(ExitCode code) {
  std::fflush(stdout);
  std::fflush(stderr);
  // No destructors of static objects and no handlers of exit(), tellOfCrashes' among them.
  std::_Exit(static_cast<int>(code));
}

}  // namespace lockstep::rank
