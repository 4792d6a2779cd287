// SPDX-License-Identifier: Apache-2.0
//
// Numbers of cores that a caller gives: reading and checking them. Layer: op_host. Their texts stand here, as no peer
// renders them.
#include <algorithm>
#include <charconv>

#include "op_host/check_rows.h"
#include "op_host/roles.h"
#include "op_host/text.h"

namespace ascend_deepep::op_host {
namespace {

struct RoleName {
    const char* name;
    uint32_t RoleCounts::* count;
};
constexpr RoleName kRoles[] = {{"stage", &RoleCounts::stage},
                               {"wqe_builder", &RoleCounts::wqe_builder},
                               {"doorbell", &RoleCounts::doorbell},
                               {"cumsum", &RoleCounts::cumsum}};
constexpr const char* kForm =
    "pass stage, wqe_builder, doorbell and cumsum with their cores, or some of them: 'stage=8,doorbell=1'";

Status refused(int64_t got, int64_t limit, const std::string& message) {
    Status status;
    status.refusal = make_refusal(Field::kNone, Code::kOutOfRange, got, limit);
    status.message = message;
    return status;
}

// `word`: name=number.
Status parse_role(const std::string& all, const std::string& word, RoleCounts* counts) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    for (const RoleName& role : kRoles) {
        if (name != role.name || equals == std::string::npos) continue;
        uint32_t value = 0;
        const char* const end = word.data() + word.size();
        const auto [read, error] = std::from_chars(word.data() + equals + 1, end, value);
        if (error != std::errc() || read != end || value < 1 || value > kMaxCores) {
            return refused(value, kMaxCores,
                           text("roles = '", all, "': ", role.name, " = '", word.substr(equals + 1),
                                "' is no number from 1 to ", kMaxCores, ": every role has a core at least"));
        }
        if (counts->*role.count != 0) {
            return refused(value, 1, text("roles = '", all, "' names ", role.name, " twice: ", kForm));
        }
        counts->*role.count = value;
        return Status{};
    }
    return refused(0, 0, text("roles = '", all, "': '", word, "' is not a role with a number of cores: ", kForm));
}

std::string given(const RoleCounts& counts) {
    std::string names;
    for (const RoleName& role : kRoles) {
        if (counts.*role.count == 0) continue;
        names += text(names.empty() ? "" : ", ", role.name, " = ", counts.*role.count);
    }
    return names;
}

}  // namespace

Status parse_roles(const std::string& text, RoleCounts* counts) {
    *counts = RoleCounts{};
    Status status;
    size_t first = 0;
    while (status.ok() && first < text.size()) {
        const size_t comma = std::min(text.find(',', first), text.size());
        status = parse_role(text, text.substr(first, comma - first), counts);
        first = comma + 1;
    }
    return status;
}

Status check_roles(const RoleCounts& counts, uint32_t num_cores, uint32_t num_ranks, uint32_t queues_per_peer) {
    const uint32_t queues = (num_ranks - 1) * queues_per_peer;
    const uint32_t most_of_queues = std::max(1U, queues);
    for (const RoleName& role : {kRoles[1], kRoles[2]}) {
        if (counts.*role.count <= most_of_queues) continue;
        return refused(counts.*role.count, most_of_queues,
                       text("roles: ", role.name, " = ", counts.*role.count, " is above ", most_of_queues,
                            ": a queue to a peer has one such core, and num_ranks = ", num_ranks,
                            " with queues_per_peer = ", queues_per_peer, " make ", queues,
                            "; pass fewer, or raise queues_per_peer"));
    }
    if (counts.cumsum > num_ranks) {
        return refused(counts.cumsum, num_ranks,
                       text("roles: cumsum = ", counts.cumsum, " is above num_ranks = ", num_ranks,
                            ": a rank's messages are read by one such core; pass fewer"));
    }
    uint32_t sum = 0, unnamed = 0;
    for (const RoleName& role : kRoles) {
        sum += counts.*role.count;
        unnamed += counts.*role.count == 0 ? 1 : 0;
    }
    if (sum + unnamed > num_cores) {
        return refused(sum + unnamed, num_cores,
                       text("roles: ", given(counts), " come to ", sum + unnamed, " cores",
                            unnamed != 0 ? ", with one for each other role," : "", " and num_cores is ", num_cores,
                            ": pass fewer, or raise num_cores"));
    }
    if (unnamed == 0 && sum != num_cores) {
        return refused(sum, num_cores,
                       text("roles: ", given(counts), " come to ", sum, " cores and num_cores is ", num_cores,
                            ": leave a role out, which then takes the rest, or pass num_cores = ", sum));
    }
    return Status{};
}

}  // namespace ascend_deepep::op_host
