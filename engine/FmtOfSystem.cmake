# The libtorch of a wheel brings its own fmt headers along, of another version than the library that
# all rooms link: the library's headers stand before them. `target` is what is linked for libtorch.
function(lockstep_fmt_before_torch target)
  if(NOT EXISTS "${TORCH_INSTALL_PREFIX}/include/fmt/format.h" OR TORCH_INSTALL_PREFIX STREQUAL "/usr")
    return()
  endif()
  get_target_property(headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  set(first "${CMAKE_CURRENT_BINARY_DIR}/first_headers")
  file(MAKE_DIRECTORY "${first}")
  file(CREATE_LINK "${headers}/fmt" "${first}/fmt" SYMBOLIC)
  target_include_directories(${target} BEFORE INTERFACE "$<BUILD_INTERFACE:${first}>")
endfunction()
