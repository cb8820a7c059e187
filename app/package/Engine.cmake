# The engine as a library: `cmake --install BUILD --component engine`, then in a project
# find_package(Lockstep COMPONENTS engine), whose target is Lockstep::engine. No part of a whole
# installation, nor of the package: it is for who builds programs, and as large as all others.
set(rooms base trace buckets experiment store device process_group optim hooks ddp)
set(exported lockstep_torch lockstep_kernels)
foreach(room IN LISTS rooms)
  list(APPEND exported lockstep_engine_${room})
endforeach()
if(TARGET lockstep_nccl)
  list(APPEND exported lockstep_nccl)
endif()
add_library(lockstep_engine INTERFACE)
target_link_libraries(lockstep_engine INTERFACE lockstep_engine_ddp)
target_compile_features(lockstep_engine INTERFACE cxx_std_20)
target_include_directories(lockstep_engine INTERFACE
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lockstep-engine>)
foreach(target IN LISTS exported)
  string(REGEX REPLACE "^lockstep_" "" name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endforeach()
set_target_properties(lockstep_engine PROPERTIES EXPORT_NAME engine)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep)
install(TARGETS lockstep_engine ${exported} EXPORT LockstepEngine
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/lockstep COMPONENT engine EXCLUDE_FROM_ALL)
install(EXPORT LockstepEngine NAMESPACE Lockstep:: FILE LockstepEngineTargets.cmake
        DESTINATION ${package} COMPONENT engine EXCLUDE_FROM_ALL)
foreach(room IN LISTS rooms)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/engine/${room}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep-engine/engine
          COMPONENT engine EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.h"
          PATTERN hooks/plugin EXCLUDE PATTERN hooks/verify EXCLUDE)
endforeach()

# What the rooms are linked with, and what their headers include.
set(needs "find_dependency(Threads)\nfind_dependency(fmt)\nfind_dependency(spdlog)
find_dependency(nlohmann_json)\nfind_dependency(SQLite3)\nfind_dependency(tomlplusplus)\n")
if(TARGET gloo)
  string(APPEND needs "find_dependency(Gloo)\n")
endif()
if(TARGET MPI::MPI_C)
  string(APPEND needs "find_dependency(MPI COMPONENTS C)\n")
endif()
if(TORCH_CUDA_ARCH_LIST)
  string(APPEND needs "if(NOT DEFINED TORCH_CUDA_ARCH_LIST)
  set(TORCH_CUDA_ARCH_LIST ${TORCH_CUDA_ARCH_LIST})
endif()\n")
endif()
# Another libtorch has other layouts, and its own targets.
get_directory_property(version DIRECTORY ${PROJECT_SOURCE_DIR}/engine DEFINITION Torch_VERSION)
string(APPEND needs "find_dependency(Torch ${version} EXACT)\n")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/Lockstep-engine.cmake
"# Lockstep::engine: DistributedDataParallel and all below it.
include(CMakeFindDependencyMacro)
${needs}include(\"\${CMAKE_CURRENT_LIST_DIR}/LockstepEngineTargets.cmake\")
include(\"\${CMAKE_CURRENT_LIST_DIR}/FmtOfSystem.cmake\")
set_target_properties(Lockstep::torch PROPERTIES IMPORTED_NO_SYSTEM TRUE)
lockstep_fmt_before_torch(Lockstep::torch)
")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/Lockstep-engine.cmake
              ${PROJECT_SOURCE_DIR}/engine/FmtOfSystem.cmake
              ${PROJECT_SOURCE_DIR}/plugins/abi/cmake/LockstepConfig.cmake
              ${PROJECT_BINARY_DIR}/plugins/abi/LockstepConfigVersion.cmake
        DESTINATION ${package} COMPONENT engine EXCLUDE_FROM_ALL)
