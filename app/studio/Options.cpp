#include "app/studio/Options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "engine/base/ExitCodes.h"
#include "ui/shell/ViewPictures.h"

namespace lockstep::studio {
namespace {

constexpr int kSmallest = 200;
constexpr int kLargest = 16'384;

// "timeline=FILE.png" into its halves; an empty first half says that it is none.
std::pair<std::string, std::string> splitPicture(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) {
    return {};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string checkPicture(const std::string& text) {
  const auto [view, file] = splitPicture(text);
  const QStringList views = ui::picturedViews();
  if (!views.contains(QString::fromStdString(view)) || file.empty()) {
    return "expected VIEW=FILE.png with a view of " +
           views.join(QStringLiteral(", ")).toStdString() + ", got \"" + text + "\"";
  }
  for (const std::string ending : {".png", ".svg", ".pdf"}) {
    if (file.size() > ending.size() &&
        file.compare(file.size() - ending.size(), ending.size(), ending) == 0) {
      return {};
    }
  }
  return file + ": a picture ends in .png, .svg or .pdf";
}

std::string checkSize(const std::string& text) {
  int width = 0;
  int height = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &width, &height, &rest) != 2 || width < kSmallest ||
      width > kLargest || (height != 0 && (height < kSmallest || height > kLargest))) {
    return "expected WIDTHxHEIGHT in pixels, 200 to 16384 (height 0: as high as needed), got \"" +
           text + "\"";
  }
  return {};
}

}  // namespace

std::variant<Options, int> parseOptions(int argc, char** argv, const std::string& version) {
  Options options;
  std::vector<std::string> pictures;
  std::string size;
  std::string ranks;
  CLI::App app{"Opens the Lockstep studio: start data-parallel training runs and watch them.",
               "lockstep-studio"};
  app.set_version_flag("--version", "lockstep-studio " + version);
  app.add_option("RUN", options.runs,
                 "run files (.lockstep): one to open, or several to compare with the first");
  app.add_option("--picture", pictures,
                 "draw a view of RUN into a file and leave, without a display; views: " +
                     ui::picturedViews().join(QStringLiteral(", ")).toStdString() +
                     " (of two runs)")
      ->type_name("VIEW=FILE.png|svg|pdf")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Validator(checkPicture, "", "picture"));
  app.add_option("--size", size, "size of pictures, default 1600x0")
      ->type_name("WIDTHxHEIGHT")
      ->check(CLI::Validator(checkSize, "", "size"));
  app.add_option("--ranks", ranks,
                 "ranks whose lanes a picture shows: 3,17,100-120, or outliers, those that are "
                 "unlike the rest; default: all, as a whole where they are many")
      ->type_name("RANKS");
  app.add_option("--theme", options.theme, "colours")
      ->check(CLI::IsMember({"system", "light", "dark"}));
  app.add_option("--experiments", options.experiments, "folder of experiment files")
      ->check(CLI::ExistingDirectory);
  app.add_option("--experiment", options.experiment, "experiment that the start page offers first")
      ->check(CLI::ExistingFile);
  app.add_option("--runs", options.runsFolder, "folder of runs; made when the first one starts");
  app.add_option("--programs", options.programs,
                 "folder of lockstep and lockstep-rank, default: this program's")
      ->check(CLI::ExistingDirectory);
  app.add_option("--figures", options.figures,
                 "follow a live RUN on the timeline and write, each second and at its end, how "
                 "late its events reach the screen and how long input waits, as JSON")
      ->type_name("FILE.json");
  app.add_flag("--restore", options.restore,
               "open what was open last, as it was shown, in place of RUN; a start without RUN and "
               "--experiment does so, unless View > Open the last run at the start is off");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion& call) {
    std::printf("%s\n", call.what());
    return 0;
  } catch (const CLI::ParseError& mistake) {
    std::fprintf(stderr, "lockstep-studio: %s; see lockstep-studio --help\n", mistake.what());
    return static_cast<int>(base::ExitCode::kBadInput);
  }
  if (options.restore) {
    options.runs.clear();
  }
  for (const std::string& picture : pictures) {
    options.pictures.push_back(splitPicture(picture));
    const std::string& view = options.pictures.back().first;
    const auto needed = static_cast<std::size_t>(ui::runsOfPicture(QString::fromStdString(view)));
    if (options.runs.size() != needed) {
      std::fprintf(stderr, "lockstep-studio: --picture %s needs exactly %s, got %zu\n",
                   view.c_str(), needed == 1 ? "one RUN" : "two RUNs", options.runs.size());
      return static_cast<int>(base::ExitCode::kBadInput);
    }
  }
  if (!ranks.empty()) {
    const auto choice = exports::parseRanks(ranks);
    if (!choice.ok()) {
      std::fprintf(stderr, "lockstep-studio: %s\n", choice.error().message().c_str());
      return static_cast<int>(base::ExitCode::kBadInput);
    }
    if (pictures.empty()) {
      std::fprintf(stderr, "lockstep-studio: --ranks says what a picture shows: add --picture\n");
      return static_cast<int>(base::ExitCode::kBadInput);
    }
    options.ranks = choice.value();
  }
  if (!size.empty()) {
    int width = 0;
    int height = 0;
    std::sscanf(size.c_str(), "%dx%d", &width, &height);
    options.pictureSize = QSize(width, height);
  }
  return options;
}

}  // namespace lockstep::studio
