#include "engine/report/WriteHtml.h"

#include <string>

#include "engine/base/FreedMemory.h"
#include "engine/base/Try.h"
#include "engine/export/OutputFile.h"
#include "engine/report/RunReport.h"
#include "engine/report/html/Page.h"

namespace lockstep::report {

base::Result<std::uint64_t> writeHtml(const std::filesystem::path& run,
                                      const std::filesystem::path& file,
                                      const exports::Progress& progress) {
  // Parts of the work, about: reading and analysing a run takes most of it.
  constexpr double kRead = 0.7;
  constexpr double kMade = 0.95;
  const auto output = LOCKSTEP_TRY(exports::OutputFile::create(file));
  if (!exports::goesOn(progress, 0)) {
    return exports::interrupted();
  }
  const ReportedRun reported = LOCKSTEP_TRY(readReportedRun(run));
  if (!exports::goesOn(progress, kRead)) {
    return exports::interrupted();
  }
  base::giveBackFreedMemory();
  const std::string page = html::page(reported);
  output->write(page);
  if (!exports::goesOn(progress, kMade)) {
    return exports::interrupted();
  }
  LOCKSTEP_TRY(output->commit());
  return output->bytes();
}

}  // namespace lockstep::report
