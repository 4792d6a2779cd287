// SPDX-License-Identifier: Apache-2.0
//
// Prints docs/layout.md. Layer: tools. Built and run by generate.sh beside it.
#include <iostream>

#include "tools/gen_layout_doc/layout_doc.h"

int main() {
    std::cout << ascend_deepep::layout_doc::layout_doc();
    return 0;
}
