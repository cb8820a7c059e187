# Lockstep::hook, what a communication hook is compiled against, and
# lockstep_add_hook(), which builds one.
# Stands in PREFIX/LIB/cmake/Lockstep, where LIB may have two parts (lib/x86_64-linux-gnu).
set(prefix "${CMAKE_CURRENT_LIST_DIR}")
while(NOT EXISTS "${prefix}/include/lockstep/comm_hook.h")
  get_filename_component(above "${prefix}" DIRECTORY)
  if(above STREQUAL prefix)
    set(Lockstep_FOUND FALSE)
    set(Lockstep_NOT_FOUND_MESSAGE "include/lockstep is missing above ${CMAKE_CURRENT_LIST_DIR}")
    return()
  endif()
  set(prefix "${above}")
endwhile()
if(NOT TARGET Lockstep::hook)
  add_library(Lockstep::hook INTERFACE IMPORTED)
  set_target_properties(Lockstep::hook PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${prefix}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    LOCKSTEP_EXPORTS "${CMAKE_CURRENT_LIST_DIR}/exports.map")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/LockstepHook.cmake")
