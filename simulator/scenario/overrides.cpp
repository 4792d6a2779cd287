// SPDX-License-Identifier: Apache-2.0
// The table of settings. Layer: simulator.
#include "simulator/scenario/overrides.h"

#include <algorithm>
#include <stdexcept>

#include "simulator/scenario/draw_features.h"
#include "simulator/scenario/operations.h"
#include "simulator/scenario/values.h"

namespace ascend_deepep::simulator {
namespace {

struct Setting {
    const char* name;
    std::string (*get)(const Scenario&);
    void (*set)(Scenario*, const std::string& name, const std::string& text);
};

// A setting that is a number, by the field that `place` finds.
template <auto place>
constexpr Setting number(const char* name) {
    return {name, [](const Scenario& s) { return std::to_string(*place(const_cast<Scenario*>(&s))); },
            [](Scenario* s, const std::string& setting, const std::string& text) {
                auto* const field = place(s);
                *field = number_from<std::remove_reference_t<decltype(*field)>>(setting, text);
            }};
}

[[noreturn]] void refuse_word(const std::string& name, const std::string& text, const char* const* begin,
                              const char* const* end) {
    std::string names;
    for (const char* const* known = begin; known != end; ++known)
        names += (names.empty() ? "" : ", ") + std::string(*known);
    throw std::invalid_argument(name + " '" + text + "' is not one of " + names);
}

template <auto place>
constexpr Setting yes_or_no(const char* name) {
    return {name, [](const Scenario& s) { return std::string(*place(const_cast<Scenario*>(&s)) ? "1" : "0"); },
            [](Scenario* s, const std::string& setting, const std::string& text) {
                if (text != "0" && text != "1") throw std::invalid_argument(setting + " '" + text + "' is not 0 or 1");
                *place(s) = text == "1";
            }};
}

// A setting that is an enumerator, by its place among the names.
template <auto place, const auto& names>
constexpr Setting word(const char* name) {
    return {
        name,
        [](const Scenario& s) { return std::string(names[static_cast<size_t>(*place(const_cast<Scenario*>(&s)))]); },
        [](Scenario* s, const std::string& setting, const std::string& text) {
            auto* const field = place(s);
            const auto* const found = std::find(std::begin(names), std::end(names), text);
            if (found == std::end(names)) refuse_word(setting, text, std::begin(names), std::end(names));
            *field = static_cast<std::remove_reference_t<decltype(*field)>>(found - std::begin(names));
        }};
}

constexpr Dtype kElements[] = {Dtype::kBf16, Dtype::kFp16, Dtype::kE4m3, Dtype::kE5m2};

std::string get_dtype(const Scenario& s) {
    return element_name(s.features.dtype);
}

void set_dtype(Scenario* s, const std::string& name, const std::string& text) {
    for (Dtype dtype : kElements) {
        s->features.dtype = dtype;
        if (get_dtype(*s) == text) return;
    }
    throw std::invalid_argument(name + " '" + text + "' is not one of bf16, fp16, e4m3, e5m2");
}

std::string get_engine(const Scenario& s) {
    return s.engine == CombineEngine::kMte ? "mte" : "urma";
}

void set_engine(Scenario* s, const std::string& name, const std::string& text) {
    if (text != "mte" && text != "urma") throw std::invalid_argument(name + " '" + text + "' is not mte or urma");
    s->engine = text == "mte" ? CombineEngine::kMte : CombineEngine::kUrma;
}

std::string get_fault(const Scenario& s) {
    return std::string(sim::sim_fault_name(s.world.fault.kind));
}

void set_fault(Scenario* s, const std::string& name, const std::string& text) {
    const sim::SimFault fault = sim::sim_fault_from_name(text);
    if (fault != sim::SimFault::kCount) {
        s->world.fault.kind = fault;
        return;
    }
    std::string names;
    for (uint32_t kind = 0; kind < sim::kNumSimFaults; ++kind)
        names += (kind == 0 ? "" : ", ") + std::string(sim::sim_fault_name(static_cast<sim::SimFault>(kind)));
    throw std::invalid_argument(name + " '" + text + "' is not one of " + names);
}

std::string get_evictions(const Scenario& s) {
    return std::string(sim::evictions_name(s.world.schedule->evictions));
}

void set_evictions(Scenario* s, const std::string& name, const std::string& text) {
    for (uint32_t kind = 0; kind < static_cast<uint32_t>(sim::Evictions::kCount); ++kind) {
        s->world.schedule->evictions = static_cast<sim::Evictions>(kind);
        if (get_evictions(*s) == text) return;
    }
    throw std::invalid_argument(name + " '" + text + "' is not one of off, random, storm");
}

std::string get_operations(const Scenario& s) {
    return operations_text(s.operations);
}

void set_operations(Scenario* s, const std::string& /*name*/, const std::string& text) {
    s->operations = operations_from(text);
}

void set_second(Scenario* s, const std::string& name, const std::string& text) {
    if (text == "0") s->second.reset();
    if (text == std::string(s->second ? "1" : "0")) return;
    throw std::invalid_argument(name + " '" + text + "': 0, or 1 where the seed draws a second communicator");
}

std::string get_second_operations(const Scenario& s) {
    return s.second ? operations_text(s.second->operations) : "none";
}

void set_second_operations(Scenario* s, const std::string& name, const std::string& text) {
    if (s->second && text != "none") {
        s->second->operations = operations_from(text);
    } else if (s->second || text != "none") {
        throw std::invalid_argument(name + " '" + text + "': none without a second communicator, and only then");
    }
}

using S = Scenario*;
constexpr Setting kSettings[] = {
    number<[](S s) { return &s->world.limits.num_ranks; }>("ranks"),
    number<[](S s) { return &s->world.num_cores; }>("cores"),
    number<[](S s) { return &s->world.limits.max_tokens; }>("max_tokens"),
    number<[](S s) { return &s->num_tokens; }>("tokens"),
    number<[](S s) { return &s->world.limits.hidden; }>("max_hidden"),
    number<[](S s) { return &s->hidden; }>("hidden"),
    number<[](S s) { return &s->world.limits.num_topk; }>("max_topk"),
    number<[](S s) { return &s->num_topk; }>("topk"),
    number<[](S s) { return &s->world.limits.num_experts; }>("max_experts"),
    number<[](S s) { return &s->num_experts; }>("experts"),
    number<[](S s) { return &s->world.limits.shared_expert_num; }>("max_shared"),
    number<[](S s) { return &s->features.shared_experts; }>("shared"),
    number<[](S s) { return &s->features.shared_ranks; }>("shared_ranks"),
    number<[](S s) { return &s->world.limits.per_expert_copies; }>("room_per_expert"),
    word<[](S s) { return &s->features.copies; }, kCopiesNames>("copies"),
    word<[](S s) { return &s->features.mask; }, kMaskNames>("mask"),
    number<[](S s) { return &s->masked_one_in; }>("masked_one_in"),
    {"dtype", get_dtype, set_dtype},
    word<[](S s) { return &s->features.quant; }, kQuantNames>("quant"),
    word<[](S s) { return &s->features.scales; }, kScalesNames>("quant_scales"),
    number<[](S s) { return &s->features.scale_columns; }>("scale_columns"),
    yes_or_no<[](S s) { return &s->has_odd_values; }>("odd_values"),
    yes_or_no<[](S s) { return &s->features.has_weights; }>("weights"),
    yes_or_no<[](S s) { return &s->features.has_sums; }>("running_sums"),
    yes_or_no<[](S s) { return &s->features.is_int8; }>("combine_int8"),
    yes_or_no<[](S s) { return &s->features.sums_by_rank; }>("combine_by_rank"),
    yes_or_no<[](S s) { return &s->features.has_shared_x; }>("shared_x"),
    yes_or_no<[](S s) { return &s->features.has_performance; }>("performance"),
    number<[](S s) { return &s->world.queue_depth; }>("depth"),
    number<[](S s) { return &s->world.cq_depth; }>("cq_depth"),
    number<[](S s) { return &s->world.queues_per_peer; }>("queues"),
    yes_or_no<[](S s) { return &s->has_drawn_roles; }>("drawn_roles"),
    number<[](S s) { return &s->world.first_index; }>("first_index"),
    {"engine", get_engine, set_engine},
    {"operations", get_operations, set_operations},
    {"second", [](const Scenario& s) { return std::string(s.second ? "1" : "0"); }, set_second},
    {"second_operations", get_second_operations, set_second_operations},
    yes_or_no<[](S s) { return &s->has_survivors; }>("survivors"),
    yes_or_no<[](S s) { return &s->uses_memory_again; }>("old_memory"),
    yes_or_no<[](S s) { return &s->is_uneven; }>("uneven"),
    yes_or_no<[](S s) { return &s->is_one_hot; }>("one_hot"),
    word<[](S s) { return &s->routing; }, kRoutingNames>("routing"),
    yes_or_no<[](S s) { return &s->has_scales; }>("scales"),
    number<[](S s) { return &s->hole_one_in; }>("hole_one_in"),
    number<[](S s) { return &s->world.tag_base; }>("tag_base"),
    number<[](S s) { return &s->world.timeout_ns; }>("timeout_ns"),
    {"fault", get_fault, set_fault},
    number<[](S s) { return &s->world.fault.rank; }>("fault_rank"),
    number<[](S s) { return &s->world.fault.peer; }>("fault_peer"),
    number<[](S s) { return &s->world.fault.core; }>("fault_core"),
    number<[](S s) { return &s->world.fault.at; }>("fault_at"),
    number<[](S s) { return &s->world.fault.at_permille; }>("fault_permille"),
    number<[](S s) { return &s->world.fault.ns; }>("fault_ns"),
    yes_or_no<[](S s) { return &s->world.fault.is_silent; }>("fault_silent"),
    number<[](S s) { return &s->world.schedule->run_bits; }>("run_bits"),
    number<[](S s) { return &s->world.schedule->slow_shift; }>("slow_shift"),
    number<[](S s) { return &s->world.schedule->pipe_shift; }>("pipe_shift"),
    number<[](S s) { return &s->world.schedule->piece_units; }>("piece_units"),
    number<[](S s) { return &s->world.schedule->delivery_ns; }>("delivery_ns"),
    number<[](S s) { return &s->world.schedule->wqe_ns; }>("wqe_ns"),
    number<[](S s) { return &s->world.schedule->completion_ns; }>("completion_ns"),
    number<[](S s) { return &s->world.schedule->host_ns; }>("host_ns"),
    number<[](S s) { return &s->world.schedule->store_slots; }>("store_slots"),
    number<[](S s) { return &s->world.schedule->store_ns; }>("store_ns"),
    {"evictions", get_evictions, set_evictions},
    number<[](S s) { return &s->world.schedule->block_ns; }>("block_ns"),
};

}  // namespace

Settings settings_of(const Scenario& scenario) {
    Settings result;
    for (const Setting& setting : kSettings)
        result.emplace_back(setting.name, setting.get(scenario));
    return result;
}

void apply_settings(const Settings& settings, Scenario* scenario) {
    for (const auto& [name, value] : settings) {
        const auto* const found = std::find_if(std::begin(kSettings), std::end(kSettings),
                                               [&name = name](const Setting& known) { return name == known.name; });
        if (found == std::end(kSettings)) {
            std::string names;
            for (const Setting& known : kSettings)
                names += (names.empty() ? "" : ", ") + std::string(known.name);
            throw std::invalid_argument("'" + name + "' is no setting: it is one of " + names);
        }
        found->set(scenario, name, value);
    }
}

}  // namespace ascend_deepep::simulator
