# SPDX-License-Identifier: Apache-2.0
"""GM pointers that kernels follow themselves. Layer: tests of tools/check."""

from __future__ import annotations

import pytest

from tests.tidy.conftest import Findings
from tools.check.gm_words import gm_words

pytestmark = pytest.mark.fast

GOOD = """struct Context {
    __gm__ Page* page;
    uint64_t words[4];
};
__aicore__ inline void f(const Context& ctx, __gm__ Queue* queue, GM_ADDR base, uint32_t n) {
    store(&ctx.page->cores[ctx.core].seen, load(&queue->posted) + n * load((__gm__ uint32_t*)base + n));
    store((__gm__ uint64_t*)&ctx.page->word.word, ctx.words[1]);
    __gm__ uint32_t* tokens = table(ctx);
    while (n < 4 && load(tokens + n) < 3)
        ++n;
}
__simt_vf__ inline void g(__ubuf__ uint32_t* tokens, __ubuf__ uint32_t* base) {
    tokens[0] = *base * 2;
}
"""


def in_function(body: str) -> dict[str, str]:
    head = "__aicore__ inline void f(const Context& ctx, __gm__ Queue* queue, GM_ADDR base, __gm__ uint32_t* p) {"
    return {"op_kernel/a.h": f"struct Context {{\n    __gm__ Page* page;\n}};\n{head}\n    {body}\n}}\n"}


def test_accessors_and_addresses_are_good(findings: Findings) -> None:
    assert findings(gm_words, {"op_kernel/a.h": GOOD}) == []


@pytest.mark.parametrize(
    "body",
    [
        "*p = 1;",
        "return *p;",
        "g(n, *p);",
        "p[1] = 2;",
        "if (n != 0 && p[1] == 2) return;",
        "const uint32_t depth = queue->depth;",
        "ctx.page->word = 1;",
        "base[3] = 0;",
        "const uint32_t a = *(__gm__ uint32_t*)base;",
        "const uint32_t a = ((__gm__ uint32_t*)base)[2];",
    ],
)
def test_a_pointer_that_is_followed_is_found(findings: Findings, body: str) -> None:
    assert findings(gm_words, in_function(body)) == ["op_kernel/a.h:5"]


def test_other_directories_may(findings: Findings) -> None:
    text = in_function("*p = 1;")["op_kernel/a.h"]
    assert findings(gm_words, {"twin/a.h": text}) == []
