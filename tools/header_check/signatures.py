# SPDX-License-Identifier: Apache-2.0
"""Declarations as comparable text: what a caller sees, in one spelling for the real headers and the twin's.

Layer: build. Gone are address spaces (empty on the twin), names of parameters, `AscendC::`, const of values, spellings
of fixed-width integers. A template parameter is `$0`, `$1`, ...; a class's own are `$A`, `$B`, ...
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from tools.header_check.declarations import Declared, Node

FUNCTIONS = ("FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl", "CXXConversionDecl")
SPACES = re.compile(r"__attribute__\(\(address_space\(\d+\)\)\)\s*|\b__(?:gm|ubuf)__\s*|\btypename\s+|\bAscendC::")
INTEGERS = {
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
}
# Traits that are the type itself for the element types of the subset; tensor traits are not on the page.
IDENTITIES = re.compile(r"\b(?:PrimT|ascend_deepep::twin::SameT)<([^<>]*)>|\bGetPadValueType<(\S+)>::Type")
EAST_CONST = re.compile(r"^([\w$:<>]+) const ([*&])")
# The twin's collectives take the caller's source line, by default; a kernel does not see it.
SITE = "ascend_deepep::twin::SourceSite"


@dataclasses.dataclass(frozen=True)
class Entity:
    """A thing that kernels can name. `text` is its comparable declaration, `owner` its class or enumeration.

    `takes_site`: it has the twin's parameter for the caller's source line, which `text` leaves out.
    """

    scope: str
    owner: str
    name: str
    kind: str
    text: str
    file: str
    line: int
    takes_site: bool = False


def spelled(type_text: str, names: dict[str, str]) -> str:
    """A type in the common spelling; `names` maps template parameters and class aliases."""
    text = SPACES.sub("", type_text)
    text = re.sub(r"\b(?:Local|Global)Tensor<\w+>::(?=PrimType\b)", "", text)
    for _ in range(2):  # an alias may stand for a parameter
        text = re.sub(r"\$?\b[A-Za-z_]\w*\b", lambda match: names.get(match[0], match[0]), text)
        text = IDENTITIES.sub(lambda match: match[1] or match[2], text)
    text = re.sub(r"\b\w+\b", lambda match: INTEGERS.get(match[0], match[0]), text)
    text = EAST_CONST.sub(r"const \1 \2", text.strip())
    return text.removeprefix("const ") if not re.search(r"[*&]", text) else text


def children(node: Node, *kinds: str) -> list[Node]:
    """Direct children of the given kinds."""
    return [child for child in node.get("inner", []) if child.get("kind") in kinds]


def default_value(node: Node) -> str:
    """A default argument in words: its literal or the name it refers to; '' where clang shows neither."""
    for child in node.get("inner", []):
        if "value" in child and child["kind"] != "TemplateArgument":
            return str(child["value"]).lower()
        if child.get("kind") == "DeclRefExpr":
            return str(child["referencedDecl"]["name"])
        if child.get("kind") == "TemplateArgument" and "type" in child:
            return str(child["type"]["qualType"])
        if found := default_value(child):
            return found
    return ""


def template_parameters(node: Node, names: dict[str, str], prefix: str) -> str:
    """`<...>` of a template, and its parameters entered into `names`."""
    parts = []
    kinds = ("TemplateTypeParmDecl", "NonTypeTemplateParmDecl", "TemplateTemplateParmDecl")
    for position, child in enumerate(children(node, *kinds)):
        mark = prefix + (chr(65 + position) if prefix == "$" else str(position))
        if child.get("name"):
            names[child["name"]] = mark
        kind = {"TemplateTypeParmDecl": "class", "TemplateTemplateParmDecl": "template"}.get(child["kind"], "")
        kind = kind or spelled(child["type"]["qualType"], names)
        pack = "..." if child.get("isParameterPack") else ""
        default = f" = {spelled(default_value(child), names)}" if "defaultArg" in child else ""
        parts.append(f"{kind}{pack}{default}")
    return f"<{', '.join(parts)}>"


def result_type(type_text: str) -> str:
    """The part of a function's type in front of its parameter list."""
    type_text = re.sub(r"\) noexcept.*$", ")", type_text)
    depth = 0
    for position in range(len(type_text) - 1, -1, -1):
        depth += (type_text[position] == ")") - (type_text[position] == "(")
        if type_text[position] == "(" and depth == 0:
            return type_text[:position].strip()
    return type_text


def is_site(parameter: Node) -> bool:
    """The twin's defaulted parameter for the caller's source line?"""
    return parameter["type"]["qualType"] == SITE and "init" in parameter


def function_text(node: Node, names: dict[str, str]) -> str:
    """`result (parameters) const` of a function."""
    parts = []
    for child in children(node, "ParmVarDecl"):
        written = child["type"]["qualType"]
        if is_site(child):
            continue
        default = f" = {default_value(child)}" if "init" in child else ""
        parts.append(f"{spelled(written, names)}{default}")
    type_text = node["type"]["qualType"]
    const = " const" if re.search(r"\) const\b", type_text) else ""
    result = spelled(result_type(type_text), names)
    return f"{result} ({', '.join(parts)}){const}"


def template_function(node: Node, outer: dict[str, str]) -> tuple[Node, str]:
    """The function below a FunctionTemplateDecl, and its text with the template parameters in front."""
    names = dict(outer)
    parameters = template_parameters(node, names, "$f" if outer else "$")
    function = next(child for child in node["inner"] if child["kind"] in FUNCTIONS)
    return function, f"template {parameters} {function_text(function, names)}"


def enumerators(node: Node) -> Iterator[tuple[str, int]]:
    """(name, value) of an enumeration."""
    value = -1
    for child in children(node, "EnumConstantDecl"):
        given = default_value(child)
        value = int(given) if re.fullmatch(r"-?\d+", given) else value + 1
        yield child["name"], value


def enum_entities(found: Declared, scope: str) -> Iterator[Entity]:
    """The enumeration, its constants, and which of them are the same."""
    node = found.node
    place = (found.file, found.line)
    underlying = spelled(node.get("fixedUnderlyingType", {}).get("qualType", "default"), {})
    text = f"enum {node.get('scopedEnumTag', '')} : {underlying}".replace("  ", " ")
    yield Entity(scope, "", found.name, "enum", text, *place)
    first: dict[int, str] = {}
    for name, value in enumerators(node):
        same = first.setdefault(value, name)
        text = "enumerator" if same == name else f"enumerator, the same as {same}"
        yield Entity(scope, found.name, name, "enumerator", text, *place)


def field_list(record: Node, names: dict[str, str]) -> list[str]:
    """Public fields in order; an anonymous union is one entry."""
    parts, public = [], record.get("tagUsed") != "class"
    for child in record.get("inner", []):
        if child["kind"] == "AccessSpecDecl":
            public = child["access"] == "public"
        elif not public:
            continue
        elif child["kind"] == "CXXRecordDecl" and not child.get("name") and child.get("completeDefinition"):
            parts.append(f"{child['tagUsed']} {{{'; '.join(field_list(child, names))}}}")
        elif child["kind"] == "FieldDecl" and not child.get("isImplicit"):
            parts.append(f"{spelled(child['type']['qualType'], names)} {child.get('name', '')}")
    return parts


def member_entities(record: Node, owner: str, names: dict[str, str], base: Entity) -> Iterator[Entity]:
    """Public functions and aliases of a class."""
    public = record.get("tagUsed") != "class"
    for child in record.get("inner", []):
        kind = child["kind"]
        if kind == "AccessSpecDecl":
            public = child["access"] == "public"
        if not public or child.get("isImplicit"):
            continue
        if kind in ("TypeAliasDecl", "TypedefDecl"):
            yield dataclasses.replace(base, owner=owner, name=child["name"], kind="type", text="member type")
            continue
        if kind == "FunctionTemplateDecl":
            function, text = template_function(child, names)
        elif kind in FUNCTIONS:
            function, text = child, function_text(child, names)
        else:
            continue
        if function.get("explicitlyDeleted"):
            continue
        special = {"CXXConstructorDecl": owner, "CXXDestructorDecl": f"~{owner}"}
        name = special.get(function["kind"]) or str(function["name"])
        yield dataclasses.replace(base, owner=owner, name=name, kind="method", text=text)


def record_entities(found: Declared, scope: str) -> Iterator[Entity]:
    """A class or class template with its public members; nothing for a mere declaration."""
    node, names, text = found.node, dict[str, str](), ""
    if node["kind"] == "ClassTemplateDecl":
        text = f"template {template_parameters(node, names, '$')}"
        node = children(node, "CXXRecordDecl")[0]
    if not node.get("completeDefinition"):
        return
    for alias in children(node, "TypeAliasDecl", "TypedefDecl"):
        names[alias["name"]] = spelled(alias["type"]["qualType"], names)
    kind = "class template" if text else "class"
    base = Entity(scope, "", found.name, kind, text or "class", found.file, found.line)
    yield base
    for parent in node.get("bases", []):
        of = re.sub(r"<.*", "", parent["type"]["qualType"])
        yield dataclasses.replace(base, owner=found.name, name=f"base {of}", kind="base", text="base")
    fields = field_list(node, names)
    if fields:
        yield dataclasses.replace(base, owner=found.name, name="fields", kind="fields", text="; ".join(fields))
    yield from member_entities(node, found.name, names, base)


def entities(found: Declared) -> Iterator[Entity]:
    """Everything that one declaration at namespace level gives a kernel to name."""
    kind = found.node["kind"]
    scope = "::".join(name for name in found.scopes if name != "__asc_simt_vf")
    if found.node.get("parentDeclContextId") or found.node.get("isImplicit"):
        return  # a member defined out of its class, a builtin of the compiler
    if found.node.get("previousDecl") and "Function" in kind:
        return  # a definition after its declaration
    if kind == "EnumDecl":
        yield from enum_entities(found, scope)
    elif kind in ("CXXRecordDecl", "ClassTemplateDecl"):
        yield from record_entities(found, scope)
    elif kind == "FunctionTemplateDecl":
        text = template_function(found.node, {})[1]
        yield Entity(scope, "", found.name, "function template", text, found.file, found.line)
    elif kind == "FunctionDecl":
        text = function_text(found.node, {})
        takes_site = any(is_site(child) for child in children(found.node, "ParmVarDecl"))
        yield Entity(scope, "", found.name, "function", text, found.file, found.line, takes_site)
    elif kind in ("TypedefDecl", "TypeAliasDecl"):
        text = f"type {spelled(found.node['type']['qualType'], {})}"
        yield Entity(scope, "", found.name, "type", text, found.file, found.line)
    elif kind in ("VarTemplateDecl", "TypeAliasTemplateDecl"):
        text = f"template {template_parameters(found.node, {}, '$')}"
        yield Entity(scope, "", found.name, kind.removesuffix("Decl"), text, found.file, found.line)
    elif kind == "VarDecl":
        text = f"variable {spelled(found.node['type']['qualType'], {})}"
        yield Entity(scope, "", found.name, "variable", text, found.file, found.line)
