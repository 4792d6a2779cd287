# SPDX-License-Identifier: Apache-2.0
# Purpose: from CPack's staged files to a self-extracting .run: scripts/run_header.sh, then a gzipped tar of
# packages/vendors/<vendor>/ and the two scripts. Layer: build, run by CPack.
# CANN's own scripts and its makeself are not used, so that the package can be built, listed and installed in a test.

set(stage "${CPACK_TEMPORARY_DIRECTORY}")
set(vendor_directory "packages/vendors/${CPACK_PACKAGE_VENDOR}")
if(NOT EXISTS "${stage}/${vendor_directory}/op_impl")
    message(FATAL_ERROR "nothing was staged below ${stage}/${vendor_directory}: build target `binary` first")
endif()

# CANN writes the release it was built with; the package's own comes in front.
set(version_file "${stage}/${vendor_directory}/version.info")
set(cann_lines "")
if(EXISTS "${version_file}")
    file(READ "${version_file}" cann_lines)
endif()
file(WRITE "${version_file}" "Version=${CPACK_PACKAGE_VERSION}\n${cann_lines}")

set(payload_root "${stage}/../payload")
file(REMOVE_RECURSE "${payload_root}")
file(MAKE_DIRECTORY "${payload_root}/packages/vendors")
file(COPY "${stage}/${vendor_directory}" DESTINATION "${payload_root}/packages/vendors")
foreach(script install.sh uninstall.sh)
    configure_file("${CMAKE_CURRENT_LIST_DIR}/scripts/${script}" "${payload_root}/${script}" @ONLY)
endforeach()

# Names in order, one owner and no times: the same inputs give the same payload.
set(archive "${stage}/../payload.tar.gz")
execute_process(COMMAND tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - .
                COMMAND gzip -n9
                WORKING_DIRECTORY "${payload_root}" OUTPUT_FILE "${archive}" COMMAND_ERROR_IS_FATAL ANY)
file(SHA256 "${archive}" payload_sha256)
configure_file("${CMAKE_CURRENT_LIST_DIR}/scripts/run_header.sh" "${stage}/../header.sh" @ONLY)

file(MAKE_DIRECTORY "${CPACK_PACKAGE_DIRECTORY}")
set(run "${CPACK_PACKAGE_DIRECTORY}/${CPACK_PACKAGE_FILE_NAME}")
execute_process(COMMAND cat "${stage}/../header.sh" "${archive}" OUTPUT_FILE "${run}" COMMAND_ERROR_IS_FATAL ANY)
file(CHMOD "${run}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
message(STATUS "operator package: ${run}")
