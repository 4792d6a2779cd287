// SPDX-License-Identifier: Apache-2.0
//
// docs/layout.md is what the contract says today. Layer: tests.
#include <fstream>

#include "check.h"
#include "tools/gen_layout_doc/layout_doc.h"

TEST(layout_doc_is_up_to_date) {
    std::ifstream file(ASCEND_DEEPEP_SOURCE_DIR "/docs/layout.md");
    std::stringstream text;
    text << file.rdbuf();
    const bool is_current = text.str() == ascend_deepep::layout_doc::layout_doc();
    if (!is_current) std::fprintf(stderr, "docs/layout.md is stale: run tools/gen_layout_doc/generate.sh\n");
    CHECK(is_current);
}

TEST(a_structure_with_a_forgotten_field_is_refused) {
    using namespace ascend_deepep::layout_doc;
    std::ostringstream out;
    Structure s = token_header();
    s.fields.erase(s.fields.begin() + 1);
    CHECK_THROWS(std::logic_error, "has a gap before token", write_structure(out, s));
    s = token_header();
    s.fields.pop_back();
    CHECK_THROWS(std::logic_error, "fields behind the last one listed", write_structure(out, s));
}
