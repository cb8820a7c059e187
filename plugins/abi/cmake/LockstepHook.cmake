# lockstep_add_hook(NAME SOURCES FILE... [LINK LIBRARY...] [TORCH])
#
# A library of communication hooks, NAME.so, that exports its entry and nothing else. In
# Lockstep's own tree it lands in bin/hooks, elsewhere in the current build folder. TORCH: it uses
# libtorch, the one that Lockstep's ranks were built with.
function(lockstep_add_hook name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} MODULE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE Lockstep::hook ${ARG_LINK})
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  if(ARG_TORCH)
    find_package(Torch REQUIRED)
    target_link_libraries(${name} PRIVATE torch)
    target_include_directories(${name} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
  endif()
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden
                        C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        POSITION_INDEPENDENT_CODE ON)
  get_target_property(script Lockstep::hook LOCKSTEP_EXPORTS)
  target_link_options(${name} PRIVATE "LINKER:--version-script=${script}")
  set_target_properties(${name} PROPERTIES LINK_DEPENDS "${script}")
endfunction()
