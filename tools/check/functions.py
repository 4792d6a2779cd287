# SPDX-License-Identifier: Apache-2.0
"""No function is longer than 70 lines, in Python (by its syntax tree) and in C++ (by its braces).

Layer: build. The C++ side is a heuristic: outside of a function, a brace opens a scope (namespace, class, ...), an
initialiser, or, when the text before it has a parameter list, a function. It needs no compiler and errs on neither side
with the code style of this repository.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.check.tree import CPP_SUFFIXES, Finding, Tree, blank_comments

MAX_FUNCTION = 70
SCOPE = re.compile(r"^(?:(?:inline\s+)?(?:namespace|class|struct|union|enum)\b|extern\s*$)")
TEMPLATE = re.compile(r"^template\s*<")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, number of lines) of each function."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def without_template(head: str) -> str:
    """The head of a declaration without its template parameter list."""
    while TEMPLATE.match(head):
        depth = 0
        for position, char in enumerate(head):
            depth += (char == "<") - (char == ">")
            if char == ">" and depth == 0:
                head = head[position + 1 :].lstrip()
                break
        else:
            return head
    return head


def is_function_head(head: str) -> bool:
    """Does the text before an opening brace declare a function?"""
    head = without_template(head)
    return "(" in head and not SCOPE.match(head) and not head.endswith("=")


def cpp_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, number of lines) of each function with a body."""
    code = DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), blank_comments(text))
    inner = 0  # open braces of the function or initialiser we are in
    head_start = 0
    current: tuple[str, int] | None = None
    for position, char in enumerate(code):
        if inner:
            inner += (char == "{") - (char == "}")
            if inner == 0:
                head_start = position + 1
                if current:
                    yield current[0], current[1], code.count("\n", 0, position) + 2 - current[1]
        elif char == "{":
            raw = code[head_start:position]
            head = raw.strip()
            current = None
            if is_function_head(head):
                name = re.search(r"([~\w:]+)\s*\(", head)
                offset = head_start + len(raw) - len(raw.lstrip())
                current = (name[1] if name else "function", code.count("\n", 0, offset) + 1)
            if current or not (SCOPE.match(without_template(head)) or head == ""):
                inner = 1
            head_start = position + 1
        elif char in ";}":
            head_start = position + 1


def function_length(tree: Tree) -> Iterator[Finding]:
    """No function is longer than 70 lines."""
    for path in tree.written(".py", *CPP_SUFFIXES):
        found = python_functions if path.endswith(".py") else cpp_functions
        for name, line, count in found(tree.text(path)):
            if count > MAX_FUNCTION:
                yield Finding(path, line, "function-length", f"{name}: {count} lines, the limit is {MAX_FUNCTION}")
