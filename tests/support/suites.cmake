# Registers the tests of one program with ctest, a suite at a time: loading libtorch costs more than
# most tests do, and so it is paid once a suite. Included by ctest before it runs, with
#   program      the test program
#   results      folder that gets GoogleTest's XML of each suite, from which tests/summary.py counts
#   properties   of each test, as set_tests_properties takes them
get_filename_component(name "${program}" NAME)
if(NOT EXISTS "${program}")
  add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)
  return()
endif()

# Which suites it has is asked once after each build of it.
set(known "${program}.suites")
if(NOT EXISTS "${known}" OR "${program}" IS_NEWER_THAN "${known}")
  execute_process(COMMAND "${program}" --gtest_list_tests OUTPUT_VARIABLE listed
                  RESULT_VARIABLE failed TIMEOUT 60)
  if(failed)
    message(FATAL_ERROR "${program} does not list its tests: ${failed}\n${listed}")
  endif()
  file(WRITE "${known}" "${listed}")
endif()

# "Suite.  # TypeParam = ..." begins a suite; its tests are indented.
file(STRINGS "${known}" suites REGEX "^[A-Za-z0-9_/]+\\.( |$)")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "\\..*" "" suite "${suite}")
  string(REPLACE "/" "." file "${suite}")
  add_test("${suite}" "${program}" "--gtest_filter=${suite}.*"
           "--gtest_output=xml:${results}/${name}/${file}.xml")
  set_tests_properties("${suite}" PROPERTIES ${properties})
endforeach()
