// SPDX-License-Identifier: Apache-2.0
//
// Reads the arguments of a boxed call and describes them for op_host. Layer: framework.
// The order of reading is the order of the schemas in schema.h.
#include <torch/csrc/stable/ops.h>

#include <algorithm>

#include "framework/ops/arguments.h"
#include "op_host/quant.h"

namespace ascend_deepep::ops {
namespace {

using torch::stable::detail::to;

constexpr uint64_t kDispatchArguments = 27;
constexpr uint64_t kCombineArguments = 31;

class StackReader {
  public:
    explicit StackReader(StableIValue* stack) : next_(stack) {}

    template <class... T>
    void all(T&... values) {
        ((values = to<T>(*next_++)), ...);
    }

  private:
    StableIValue* next_;
};

// torch's ScalarType::Float8_e8m0fnu; the stable interface has no getter for it.
constexpr int32_t kE8m0Code = 44;

struct DtypeEntry {
    int32_t code;
    Dtype dtype;
};

const std::array<DtypeEntry, 13>& dtype_entries() {
    static const std::array<DtypeEntry, 13> entries{{
        {aoti_torch_dtype_bfloat16(), Dtype::kBf16},
        {aoti_torch_dtype_float16(), Dtype::kFp16},
        {aoti_torch_dtype_float32(), Dtype::kFp32},
        {aoti_torch_dtype_int32(), Dtype::kInt32},
        {aoti_torch_dtype_int64(), Dtype::kInt64},
        {aoti_torch_dtype_int16(), Dtype::kInt16},
        {aoti_torch_dtype_int8(), Dtype::kInt8},
        {aoti_torch_dtype_uint8(), Dtype::kUint8},
        {aoti_torch_dtype_bool(), Dtype::kBool},
        {aoti_torch_dtype_float64(), Dtype::kFp64},
        {aoti_torch_dtype_float8_e4m3fn(), Dtype::kE4m3},
        {aoti_torch_dtype_float8_e5m2(), Dtype::kE5m2},
        {kE8m0Code, Dtype::kE8m0},
    }};
    return entries;
}

Dtype dtype_of(const Tensor& tensor) {
    const int32_t code = dtype_code(tensor);
    for (const DtypeEntry& entry : dtype_entries()) {
        if (entry.code == code) return entry.dtype;
    }
    return Dtype::kOther;
}

int32_t code_of(Dtype dtype) {
    for (const DtypeEntry& entry : dtype_entries()) {
        if (entry.dtype == dtype) return entry.code;
    }
    return aoti_torch_dtype_float32();
}

bool is_floating(Dtype dtype) {
    return dtype == Dtype::kBf16 || dtype == Dtype::kFp16 || dtype == Dtype::kFp32 || dtype == Dtype::kFp64 ||
           dtype == Dtype::kE4m3 || dtype == Dtype::kE5m2 || dtype == Dtype::kE8m0 || dtype == Dtype::kOther;
}

// Would torch record a gradient through this tensor now? The stable ABI has no getter, so ask autograd itself: an alias
// is a leaf unless autograd recorded its making. With gradients off nothing is lost, and nothing is refused.
bool records_gradient(const Tensor& tensor) {
    std::array<StableIValue, 1> stack{torch::stable::detail::from(tensor)};
    STABLE_TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::alias", "", stack.data(), TORCH_ABI_VERSION));
    STABLE_TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::is_leaf", "", stack.data(), TORCH_ABI_VERSION));
    return !to<bool>(stack[0]);
}

op_host::DeviceType device_type(int32_t code) {
    if (code == aoti_torch_device_type_cpu()) return op_host::DeviceType::kCpu;
    if (code == aoti_torch_device_type_privateuse1()) return op_host::DeviceType::kNpu;
    if (code == aoti_torch_device_type_meta()) return op_host::DeviceType::kMeta;
    return op_host::DeviceType::kOther;
}

op_host::TensorDevice device_of(const Tensor& tensor) {
    int32_t code = 0;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(tensor.get(), &code));
    op_host::TensorDevice device{device_type(code), 0};
    if (device.type == op_host::DeviceType::kNpu) {
        STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(tensor.get(), &device.index));
    }
    return device;
}

class Describer {
  public:
    Describer() : grad_is_enabled_(aoti_torch_grad_mode_is_enabled()) {}

    op_host::TensorInfo operator()(const Tensor& tensor) const {
        op_host::TensorInfo info;
        info.is_present = true;
        info.dtype = dtype_of(tensor);
        const auto sizes = tensor.sizes();
        info.shape.assign(sizes.begin(), sizes.end());
        info.device = device_of(tensor);
        info.requires_grad = grad_is_enabled_ && is_floating(info.dtype) && records_gradient(tensor);
        return info;
    }
    // Of a tensor that is written: an expanded one has a single element, whatever its size.
    op_host::TensorInfo written(const OptionalTensor& tensor) const {
        op_host::TensorInfo info = (*this)(tensor);
        for (size_t axis = 0; axis < info.shape.size(); ++axis) {
            if (tensor->strides()[axis] == 0 && info.shape[axis] > 1) info.shape[axis] = 1;
        }
        return info;
    }
    op_host::TensorInfo operator()(const OptionalTensor& tensor) const {
        return tensor ? (*this)(*tensor) : op_host::TensorInfo{};
    }

  private:
    bool grad_is_enabled_;
};

}  // namespace

Tensor empty_tensor(std::initializer_list<int64_t> shape, int32_t dtype, int32_t device_type, int32_t device_index) {
    const std::array<int64_t, 2> strides{shape.size() == 2 ? std::max<int64_t>(shape.begin()[1], 1) : 1, 1};
    AtenTensorHandle handle = nullptr;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<int64_t>(shape.size()), shape.begin(),
                                                           strides.data(), dtype, device_type, device_index, &handle));
    return Tensor(handle);
}

int32_t dtype_code(const Tensor& tensor) {
    int32_t code = 0;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(tensor.get(), &code));
    return code;
}

std::array<OutputSpec, 7> output_specs(const DispatchArguments& a, const op_host::DispatchShapes& s) {
    const int32_t f32 = aoti_torch_dtype_float32();
    const int32_t i32 = aoti_torch_dtype_int32();
    const bool is_pass = a.quant_mode == op_host::kQuantPass;
    // Elements that pass through keep the caller's dtype, a carrier of bytes too.
    const int32_t rows_dtype = is_pass ? dtype_code(a.x) : code_of(s.expand_dtype);
    const bool passes_scales = s.passes_scales;
    const int32_t scales_dtype = passes_scales ? dtype_code(*a.scales) : code_of(s.scale_dtype);
    const bool has_scales = passes_scales || a.quant_mode >= op_host::kQuantPerToken;
    return {{{s.capacity_rows, s.hidden, rows_dtype, false},
             {s.dynamic_scales, s.scale_columns, scales_dtype, !has_scales},
             {s.assist_info, 0, i32, false},
             {s.expert_token_nums, 0, aoti_torch_dtype_int64(), false},
             {s.ep_recv_counts, 0, i32, false},
             {s.tp_recv_counts, 0, i32, true},
             {s.expand_scales, 0, f32, !s.has_expert_scales}}};
}

DispatchArguments read_dispatch(StableIValue* stack, uint64_t num_arguments) {
    STD_TORCH_CHECK(num_arguments == kDispatchArguments, "dispatch_v2 has ", kDispatchArguments, " arguments, got ",
                    num_arguments);
    DispatchArguments a;
    op_host::CommonAttributes& c = a.attributes;
    StackReader read(stack);
    read.all(a.x, a.expert_ids, a.group_ep, c.ep_world_size, c.ep_rank_id, c.moe_expert_num);
    read.all(a.scales, a.x_active_mask, a.expert_scales, a.elastic_info, a.performance_info);
    read.all(c.group_tp, c.tp_world_size, c.tp_rank_id, c.expert_shard_type, c.shared_expert_num,
             c.shared_expert_rank_num, a.quant_mode, c.global_bs, a.expert_token_nums_type, c.comm_alg);
    read.all(c.zero_expert_num, c.copy_expert_num, c.const_expert_num, a.y_dtype, a.x_dtype, a.scales_dtype);
    return a;
}

CombineArguments read_combine(StableIValue* stack, uint64_t num_arguments) {
    STD_TORCH_CHECK(num_arguments == kCombineArguments, "combine_v2 has ", kCombineArguments, " arguments, got ",
                    num_arguments);
    CombineArguments a;
    op_host::CommonAttributes& c = a.attributes;
    StackReader read(stack);
    read.all(a.expand_x, a.expert_ids, a.assist_info_for_combine, a.ep_send_counts, a.expert_scales);
    read.all(a.group_ep, c.ep_world_size, c.ep_rank_id, c.moe_expert_num);
    read.all(a.tp_send_counts, a.x_active_mask, a.expand_scales, a.shared_expert_x, a.elastic_info, a.ori_x);
    read.all(a.const_expert_alpha_1, a.const_expert_alpha_2, a.const_expert_v, a.performance_info);
    read.all(c.group_tp, c.tp_world_size, c.tp_rank_id, c.expert_shard_type, c.shared_expert_num,
             c.shared_expert_rank_num, c.global_bs, a.comm_quant_mode, c.comm_alg);
    read.all(c.zero_expert_num, c.copy_expert_num, c.const_expert_num);
    return a;
}

op_host::DispatchCall describe(const DispatchArguments& a, op_host::TensorDevice device) {
    const Describer info;
    op_host::DispatchCall call;
    call.device = device;
    call.x = info(a.x);
    call.expert_ids = info(a.expert_ids);
    call.scales = info(a.scales);
    call.x_active_mask = info(a.x_active_mask);
    call.expert_scales = info(a.expert_scales);
    call.elastic_info = info(a.elastic_info);
    call.performance_info = info.written(a.performance_info);
    call.attributes = a.attributes;
    call.quant_mode = a.quant_mode;
    call.expert_token_nums_type = a.expert_token_nums_type;
    call.y_dtype = a.y_dtype;
    call.x_dtype = a.x_dtype;
    call.scales_dtype = a.scales_dtype;
    return call;
}

op_host::CombineCall describe(const CombineArguments& a, op_host::TensorDevice device) {
    const Describer info;
    op_host::CombineCall call;
    call.device = device;
    call.expand_x = info(a.expand_x);
    call.expert_ids = info(a.expert_ids);
    call.assist_info_for_combine = info(a.assist_info_for_combine);
    call.ep_send_counts = info(a.ep_send_counts);
    call.expert_scales = info(a.expert_scales);
    call.tp_send_counts = info(a.tp_send_counts);
    call.x_active_mask = info(a.x_active_mask);
    call.expand_scales = info(a.expand_scales);
    call.shared_expert_x = info(a.shared_expert_x);
    call.elastic_info = info(a.elastic_info);
    call.ori_x = info(a.ori_x);
    call.const_expert_alpha_1 = info(a.const_expert_alpha_1);
    call.const_expert_alpha_2 = info(a.const_expert_alpha_2);
    call.const_expert_v = info(a.const_expert_v);
    call.performance_info = info.written(a.performance_info);
    call.attributes = a.attributes;
    call.comm_quant_mode = a.comm_quant_mode;
    return call;
}

}  // namespace ascend_deepep::ops
