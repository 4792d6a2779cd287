// SPDX-License-Identifier: Apache-2.0
// Tensors are bytes, as they lie in memory. Layer: simulator.
#include "simulator/binding/oracle.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>

#include "simulator/scenario/draw_features.h"
#include "simulator/scenario/oracle.h"
#include "simulator/scenario/runner.h"

namespace ascend_deepep::simulator {
namespace {

namespace py = pybind11;

template <typename T>
py::bytes bytes_of(const std::vector<T>& data) {
    return {reinterpret_cast<const char*>(data.data()), data.size() * sizeof(T)};
}

template <typename T>
std::vector<T> vector_of(const std::string& bytes) {
    std::vector<T> data(bytes.size() / sizeof(T));
    if (!data.empty()) std::memcpy(data.data(), bytes.data(), data.size() * sizeof(T));
    return data;
}

Dtype half_from(const std::string& name) {
    for (Dtype dtype : {Dtype::kBf16, Dtype::kFp16}) {
        if (name == element_name(dtype)) return dtype;
    }
    throw py::value_error("dtype '" + name + "' is not bf16 or fp16");
}

Quant quant_from(const std::string& name) {
    const auto* const found = std::find(std::begin(kQuantNames), std::end(kQuantNames), name);
    const auto quant = static_cast<Quant>(found - std::begin(kQuantNames));
    if (quant == Quant::kNone || quant == Quant::kCount)
        throw py::value_error("no quantisation is named '" + name + "'");
    return quant;
}

std::vector<float> floats_of(Dtype dtype, const std::string& bytes) {
    std::vector<float> values;
    for (uint16_t bits : vector_of<uint16_t>(bytes))
        values.push_back(half_value(dtype, bits));
    return values;
}

py::tuple quantise_row(const std::string& name, const std::string& dtype, const std::string& x,
                       const std::string& factors) {
    const Quant quant = quant_from(name);
    std::vector<float> u = floats_of(half_from(dtype), x);
    const std::vector<float> by = vector_of<float>(factors);
    for (size_t h = 0; h < u.size() && !by.empty(); ++h)
        u[h] = u[h] * by[by.size() == 1 ? 0 : h];
    QuantisedRow row = quantise(quant, u);
    make_canonical(quant, &row.values, &row.scales);
    return py::make_tuple(bytes_of(row.values), bytes_of(row.scales));
}

py::bytes combine_int8(const std::string& name, const std::string& y) {
    const Dtype dtype = half_from(name);
    std::vector<float> row = floats_of(dtype, y);
    pass_as_int8(dtype, &row);
    std::vector<uint16_t> bits;
    for (float value : row)
        bits.push_back(half_bits(dtype, value));
    return bytes_of(bits);
}

py::dict batch_dict(const Batch& batch) {
    const Features& f = batch.features;
    py::dict dict;
    dict["tokens"] = batch.num_tokens;
    dict["topk"] = batch.num_topk;
    dict["hidden"] = batch.hidden;
    dict["experts"] = batch.num_experts;
    dict["dtype"] = element_name(f.dtype);
    dict["combine_dtype"] = element_name(combine_dtype(f));
    dict["quant"] = kQuantNames[static_cast<uint32_t>(f.quant)];
    dict["quant_scales"] = kScalesNames[static_cast<uint32_t>(f.scales)];
    dict["mask_kind"] = kMaskNames[static_cast<uint32_t>(f.mask)];
    dict["shared"] = py::make_tuple(f.shared_experts, f.shared_ranks);
    dict["running_sums"] = f.has_sums;
    dict["combine_int8"] = f.is_int8;
    dict["combine_by_rank"] = f.sums_by_rank;
    dict["expert_ids"] = bytes_of(batch.expert_ids);
    dict["x"] = is_one_byte(f.dtype) ? bytes_of(batch.x_bytes) : bytes_of(batch.x);
    dict["scales"] = bytes_of(batch.scales);
    dict["mask"] = bytes_of(batch.mask);
    dict["weights"] = bytes_of(batch.weights);
    dict["factors"] = bytes_of(batch.factors);
    dict["travelling"] = bytes_of(batch.travelling);
    dict["shared_x"] = bytes_of(batch.shared_x);
    return dict;
}

py::dict dispatch_dict(const Features& f, ExpectedRows want) {
    if (f.quant != Quant::kNone) make_canonical(f.quant, &want.bytes, &want.scales);
    py::dict dict;
    dict["rows"] = has_byte_rows(f) ? bytes_of(want.bytes) : bytes_of(want.rows);
    dict["scales"] = bytes_of(want.scales);
    dict["weights"] = bytes_of(want.weights);
    dict["triples"] = bytes_of(want.triples);
    dict["counts"] = bytes_of(want.counts);
    dict["token_nums"] = bytes_of(want.token_nums);
    return dict;
}

// The experts' outputs of a rank, in the order of its rows, as they leave the experts.
py::bytes expert_rows(const std::vector<Batch>& batches, const ExpectedRows& rows) {
    std::vector<uint16_t> bits;
    for (size_t at = 0; at < rows.triples.size(); at += 3) {
        const Batch& batch = batches[static_cast<size_t>(rows.triples[at])];
        const auto token = static_cast<size_t>(rows.triples[at + 1]),
                   column = static_cast<size_t>(rows.triples[at + 2]);
        const int expert = expert_of(batch, static_cast<int>(batch.num_experts), token, column);
        for (float value : expert_row(batch, token, column, expert))
            bits.push_back(half_bits(combine_dtype(batch.features), value));
    }
    return bytes_of(bits);
}

py::dict oracle(uint64_t seed, const Settings& settings, uint32_t round) {
    SeedOptions options;
    options.settings = settings;
    Inputs inputs(channel_of(make_scenario(seed, options), 0));
    const std::vector<Batch>& batches = inputs.round(round);
    py::list given, dispatched, outputs, combined;
    for (const Batch& batch : batches) {
        const ExpectedRows rows =
            expected_dispatch(batches, static_cast<int>(batch.num_experts), static_cast<int>(batch.rank));
        given.append(batch_dict(batch));
        dispatched.append(dispatch_dict(batch.features, rows));
        outputs.append(expert_rows(batches, rows));
        combined.append(bytes_of(expected_combine(batch)));
    }
    py::dict dict;
    dict["batches"] = given;
    dict["dispatch"] = dispatched;
    dict["experts"] = outputs;
    dict["combine"] = combined;
    return dict;
}

}  // namespace

void bind_oracle(py::module_& module) {
    module.def("quantise", &quantise_row, py::arg("quant"), py::arg("dtype"), py::arg("x"),
               py::arg("factors") = py::bytes());
    module.def("combine_int8", &combine_int8, py::arg("dtype"), py::arg("y"));
    module.def("oracle", &oracle, py::arg("seed"), py::kw_only(), py::arg("settings") = Settings{},
               py::arg("round") = 1);
}

}  // namespace ascend_deepep::simulator
