// SPDX-License-Identifier: Apache-2.0
//
// The table of comm_alg words. Layer: op_host.
#include "op_host/comm_alg.h"

#include <algorithm>
#include <cstring>

namespace ascend_deepep::op_host {
namespace {

constexpr CommAlg kCommAlgs[] = {
    {"", Code::kOk, ""},
    {"fullmesh_v2", Code::kOk, ""},
    {"fullmesh_dedup", Code::kOk, ""},
    {"fullmesh_v1", Code::kOk, "", CopyMode::kPerExpert},
    {"hierarchy", Code::kOutOfRange, "it is for ranks in several meshes; this library drives one full mesh"},
    {"ccu", Code::kOutOfRange, "it runs on the collective communication unit, which this library does not drive"},
};
constexpr CommAlg kUnknownWord = {nullptr, Code::kOutOfRange, "no such algorithm"};
constexpr size_t kPackedBytes = 2 * sizeof(int64_t);

char printable(char c) {
    return c >= ' ' && c <= '~' ? c : '?';
}

}  // namespace

const CommAlg* find_comm_alg(const std::string& word) {
    for (const CommAlg& alg : kCommAlgs) {
        if (word == alg.word) return &alg;
    }
    return &kUnknownWord;
}

std::string legal_comm_algs() {
    std::string list;
    for (const CommAlg& alg : kCommAlgs) {
        if (alg.code != Code::kOk) continue;
        if (!list.empty()) list += ", ";
        list += '"' + std::string(alg.word) + '"';
    }
    return list;
}

void pack_word(const std::string& word, Refusal* refusal) {
    char bytes[kPackedBytes] = {};
    for (size_t i = 0; i < std::min(word.size(), kPackedBytes); ++i)
        bytes[i] = printable(word[i]);
    std::memcpy(&refusal->got, bytes, sizeof(refusal->got));
    std::memcpy(&refusal->limit, bytes + sizeof(refusal->got), sizeof(refusal->limit));
}

std::string unpack_word(const Refusal& refusal) {
    char bytes[kPackedBytes + 1] = {};
    std::memcpy(bytes, &refusal.got, sizeof(refusal.got));
    std::memcpy(bytes + sizeof(refusal.got), &refusal.limit, sizeof(refusal.limit));
    std::string word;
    for (const char* c = bytes; *c != '\0'; ++c)
        word += printable(*c);
    return word;
}

}  // namespace ascend_deepep::op_host
