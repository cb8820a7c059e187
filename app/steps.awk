# What a build has still to do, a line a step: its weight, a tab, and how ninja describes it.
#
#   awk -v top=BUILD_FOLDER/ -f app/steps.awk BUILD_FOLDER/build.ninja PLAN
#
# PLAN is what `ninja -n` prints with NINJA_STATUS set to one \001. A weight is how long a step
# takes among the others, in tenths of a second on the 2-core machine where it was measured. Only
# the proportions count: app/progress measures how fast the present machine is.

# A file that includes other sources takes its own share of the headers once, and of each source.
function weightOf(kind, sources,    first, more) {
  if (kind == "header") return 600
  if (kind == "torch") { first = 300; more = 100 }
  else if (kind == "qt") { first = 100; more = 40 }
  else { first = 70; more = 30 }
  return first + more * (sources > 1 ? sources - 1 : 0)
}

# Batches of sources and Qt's collected moc files are written into the build folder.
function includedSources(file,    line, found) {
  if (substr(file, 1, length(top)) != top) return 1
  found = 0
  while ((getline line < file) > 0) {
    if (line ~ /^[ \t]*#[ \t]*include.*\.(cpp|cc|cxx)[">]/) found++
  }
  close(file)
  return found
}

function keep() {
  if (object != "") weight[object] = weightOf(kind, sources)
  object = ""
}

FNR == 1 { file++ }

file == 1 && /^build [^ ]+\.(o|gch): / {
  keep()
  object = substr($2, 1, length($2) - 1)
  kind = object ~ /\.gch$/ ? "header" : "plain"
  sources = includedSources($4)
  next
}
file == 1 && /^$/ { keep() }
file == 1 && object != "" && kind == "plain" && /^  INCLUDES = .*torch/ { kind = "torch" }
file == 1 && object != "" && kind == "plain" && /^  (DEFINES = .*-DQT_CORE_LIB|INCLUDES = .*[\/]qt6[\/])/ { kind = "qt" }

file == 2 && /^\001/ {
  if (object != "") keep()
  description = substr($0, 2)
  last = $NF
  if (last in weight) print weight[last] "\t" description
  else if (description ~ / executable | shared (library|module) /) print "15\t" description
  else if (description ~ / static library /) print "3\t" description
  else if (description ~ /^Automatic MOC/) print "50\t" description
  else print "10\t" description
}
