# find_package(Lockstep [COMPONENTS hook engine]): what communication hooks are compiled against, or
# the engine as a library; hook alone where none is named. Each has a file of its own beside this
# one, and is installed by itself: cmake --install BUILD --component sdk, or --component engine.
if(NOT Lockstep_FIND_COMPONENTS)
  set(Lockstep_FIND_COMPONENTS hook)
endif()
foreach(component IN LISTS Lockstep_FIND_COMPONENTS)
  if(NOT EXISTS "${CMAKE_CURRENT_LIST_DIR}/Lockstep-${component}.cmake")
    set(Lockstep_FOUND FALSE)
    set(Lockstep_NOT_FOUND_MESSAGE
        "there is no component \"${component}\" in ${CMAKE_CURRENT_LIST_DIR}; hook is installed by \
cmake --install BUILD --component sdk, engine by --component engine")
    return()
  endif()
  include("${CMAKE_CURRENT_LIST_DIR}/Lockstep-${component}.cmake")
endforeach()
