// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/operations.h"

#include <algorithm>
#include <stdexcept>

#include "simulator/scenario/values.h"

namespace ascend_deepep::simulator {
namespace {

constexpr const char* kActNames[] = {"good", "host-refuses", "bad-ids", "foreign-tag", "foreign-triple", "other-call"};
constexpr uint32_t kNumActs = sizeof(kActNames) / sizeof(kActNames[0]);
static_assert(kNumActs == static_cast<uint32_t>(Act::kOtherCall) + 1, "an act has no name");

[[noreturn]] void refuse(const std::string& word, const std::string& why) {
    throw std::invalid_argument("operations: '" + word + "' " + why);
}

// "@1" behind the name of an act.
void read_act(const std::string& word, const std::string& text, Operation* operation) {
    const size_t at = text.find('@');
    const std::string name = text.substr(0, at);
    const auto* const found = std::find(kActNames, kActNames + kNumActs, name);
    if (found == kActNames + kNumActs) {
        std::string names;
        for (const char* known : kActNames)
            names += (names.empty() ? "" : ", ") + std::string(known);
        refuse(word, "has no known act: it is one of " + names);
    }
    operation->act = static_cast<Act>(found - kActNames);
    if (operation->act == Act::kGood) return;
    if (at == std::string::npos) refuse(word, "does not say which rank acts, such as D:bad-ids@1");
    operation->actor = number_from<uint32_t>("operations", text.substr(at + 1));
    if (operation->kind == OperationKind::kDispatch && operation->act > Act::kBadIds) {
        refuse(word, "is a dispatch, and the act " + name + " is one of a combine");
    }
}

Operation read_operation(const std::string& word, uint32_t* last_round) {
    Operation operation{};
    const size_t colon = word.find(':');
    const std::string head = word.substr(0, colon);
    if (head.empty() || (head[0] != 'D' && head[0] != 'C') || (head[0] == 'D' && head.size() > 1)) {
        refuse(word, "is no operation: D, C, C2, D:bad-ids@1, ... separated by commas");
    }
    operation.kind = head[0] == 'D' ? OperationKind::kDispatch : OperationKind::kCombine;
    if (colon != std::string::npos) read_act(word, word.substr(colon + 1), &operation);
    if (operation.kind == OperationKind::kDispatch) {
        operation.round = operation.act == Act::kGood ? ++*last_round : *last_round;
        return operation;
    }
    operation.round = head.size() > 1 ? number_from<uint32_t>("operations", head.substr(1)) : *last_round;
    if (operation.round == 0 || operation.round > *last_round) refuse(word, "combines no good dispatch before it");
    return operation;
}

}  // namespace

std::string operations_text(const std::vector<Operation>& operations) {
    std::string text;
    uint32_t last_round = 0;
    for (const Operation& operation : operations) {
        if (!text.empty()) text += ',';
        if (operation.kind == OperationKind::kDispatch) {
            text += 'D';
            if (operation.act == Act::kGood) ++last_round;
        } else {
            text += 'C';
            if (operation.round != last_round) text += std::to_string(operation.round);
        }
        if (operation.act == Act::kGood) continue;
        text +=
            std::string(":") + kActNames[static_cast<uint32_t>(operation.act)] + '@' + std::to_string(operation.actor);
    }
    return text;
}

std::vector<Operation> operations_from(const std::string& text) {
    std::vector<Operation> operations;
    uint32_t last_round = 0;
    size_t start = 0;
    while (start <= text.size()) {
        const size_t comma = std::min(text.find(',', start), text.size());
        operations.push_back(read_operation(text.substr(start, comma - start), &last_round));
        start = comma + 1;
    }
    return operations;
}

}  // namespace ascend_deepep::simulator
