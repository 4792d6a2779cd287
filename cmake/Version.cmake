# SPDX-License-Identifier: Apache-2.0
# Purpose: package_version, out of pyproject.toml, where it stands.
# Layer: build, for both projects; included before project(), which wants it.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../pyproject.toml" version_line REGEX "^version = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" package_version "${version_line}")
