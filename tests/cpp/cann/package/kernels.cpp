// SPDX-License-Identifier: Apache-2.0
//
// A kernel module for the twin whose kernels are the entries of the operator package: tiling data without addresses,
// and tensors as arguments in the order of the registered definition. Layer: tests, C++17 as all kernels.
#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "combine/kernel.h"
#include "dispatch/kernel.h"
#include "op_host/cann/arguments.h"
#include "twin/runtime/kernel_table.h"

// What CANN's build of a package reads off the entries; the twin has no use for it.
#define REGISTER_TILING_DEFAULT(tiling_struct) static_assert(sizeof(tiling_struct) % sizeof(uint64_t) == 0)
#define KERNEL_TASK_TYPE_DEFAULT(type) static_assert(true)
#include "package/combine_v2.cpp"
#include "package/dispatch_v2.cpp"

using namespace ascend_deepep;

namespace {

using Tensors = std::map<std::string, uint64_t*>;  // where the tiling data holds each address

std::atomic<uint64_t> num_entries{0};

template <typename Entry, size_t... kIndices>
void call(Entry* entry, const std::vector<GM_ADDR>& arguments, std::index_sequence<kIndices...> /*indices*/) {
    entry(arguments[kIndices]...);
}

// No memory is there. A framework may give a tensor without elements any address, and a refused call has tensors of any
// size: entries must use neither.
constexpr uint64_t kNowhere = 8;

// Moves the addresses out of a core's copy of the tiling data into arguments, by name.
template <typename Arguments, typename Tiling, typename... Types>
void call_entry(void (*entry)(Types...), Tiling& tiling, const Tensors& tensors) {
    std::vector<GM_ADDR> arguments;
    const auto take = [&](const char* name) {
        const auto found = tensors.find(name);
        const uint64_t address = found == tensors.end() ? 0 : std::exchange(*found->second, 0);
        arguments.push_back((GM_ADDR)(tiling.common.is_refused != 0 || address == 0 ? kNowhere : address));
    };
    for (const auto& row : cann::inputs<Arguments>())
        take(row.name);
    for (const auto& row : cann::outputs<Arguments>())
        take(row.name);
    arguments.push_back(nullptr);  // workspace
    arguments.push_back((GM_ADDR)&tiling);
    if (arguments.size() != sizeof...(Types)) std::terminate();  // the entry has another number of parameters
    ++num_entries;
    call(entry, arguments, std::make_index_sequence<sizeof...(Types)>{});
}

// An address of the tiling data that the package's tiling leaves as a mark: 1 where the tensor is there.
class Marked {
  public:
    explicit Marked(uint64_t& field) : address_(field != 0 ? field : kNowhere) { field = field != 0 ? 1 : 0; }
    uint64_t* address() { return &address_; }

  private:
    uint64_t address_;
};

void dispatch_by_package(uint8_t* address) {
    static DispatchTiling copies[kMaxCores];
    DispatchTiling& t = copies[AscendC::GetBlockIdx()];
    std::memcpy(&t, address, sizeof(t));
    Marked mask(t.common.x_active_mask), waits(t.common.performance_info);
    call_entry<cann::DispatchArguments>(&dispatch_v2, t,
                                        {{"x", &t.x},
                                         {"expert_ids", &t.expert_ids},
                                         {"scales", &t.scales},
                                         {"x_active_mask", mask.address()},
                                         {"expert_scales", &t.expert_scales},
                                         {"performance_info", waits.address()},
                                         {"expand_x", &t.expand_x},
                                         {"dynamic_scales", &t.dynamic_scales},
                                         {"expand_scales", &t.expand_scales},
                                         {"assist_info_for_combine", &t.assist_info},
                                         {"ep_recv_counts", &t.ep_recv_counts},
                                         {"expert_token_nums", &t.expert_token_nums}});
}

void combine_by_package(uint8_t* address) {
    static CombineTiling copies[kMaxCores];
    CombineTiling& t = copies[AscendC::GetBlockIdx()];
    std::memcpy(&t, address, sizeof(t));
    Marked weights(t.expert_scales), mask(t.common.x_active_mask), shared(t.shared_expert_x);
    Marked waits(t.common.performance_info);
    call_entry<cann::CombineArguments>(&combine_v2, t,
                                       {{"expand_x", &t.expand_x},
                                        {"expert_ids", &t.expert_ids},
                                        {"assist_info_for_combine", &t.assist_info},
                                        {"ep_send_counts", &t.ep_send_counts},
                                        {"expert_scales", weights.address()},
                                        {"x_active_mask", mask.address()},
                                        {"shared_expert_x", shared.address()},
                                        {"performance_info", waits.address()},
                                        {"x_out", &t.x_out}});
}

}  // namespace

extern "C" __attribute__((visibility("default"))) uint64_t num_package_entries() {
    return num_entries;
}

extern "C" __attribute__((visibility("default"))) const twin::KernelTable* ascend_deepep_kernel_table() {
    static constexpr twin::KernelTable kTable = {twin::kKernelTableAbi, "Fast", &dispatch_by_package,
                                                 &combine_by_package};
    return &kTable;
}
