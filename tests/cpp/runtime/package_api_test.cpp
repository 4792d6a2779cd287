// SPDX-License-Identifier: Apache-2.0
//
// The function an operator package asks for a communicator: limits, machine, engine, and its refusals. Layer:
// tests.
#include "framework/runtime/package_api.h"

#include <dlfcn.h>

#include "ranks.h"

using namespace ascend_deepep;
using namespace ascend_deepep::test;

namespace {

op_host::PackageMachineFunction exported() {
    void* library = ::dlopen(op_host::kPackageMachineLibrary, RTLD_NOW | RTLD_NOLOAD);
    CHECK(library != nullptr);
    void* symbol = ::dlsym(library, op_host::kPackageMachineSymbol);
    CHECK(symbol == reinterpret_cast<void*>(&ascend_deepep_package_machine));
    return reinterpret_cast<op_host::PackageMachineFunction>(symbol);
}

struct Answer {
    int result = -1;
    CommunicatorLimits limits{};
    op_host::Machine machine{};
    CombineEngine engine = CombineEngine::kMte;
};

Answer ask(const char* group_ep, const char* target = "twin") {
    Answer answer;
    answer.result = exported()(group_ep, target, &answer.limits, &answer.machine, &answer.engine);
    return answer;
}

}  // namespace

TEST(a_package_finds_the_communicator_by_its_name) {
    run_ranks(2, [](const Rank& rank) {
        CommunicatorOptions options = rank.options("named");
        options.combine_engine = CombineEngine::kUrma;
        const auto communicator = Communicator::create(options, rank.all_gather());
        const Answer answer = ask("named");
        CHECK_EQ(answer.result, int{op_host::kMachineFound});
        CHECK(std::memcmp(&answer.limits, &options.limits, sizeof(answer.limits)) == 0);
        CHECK_EQ(answer.machine.rank, rank.rank());
        CHECK_EQ(answer.machine.num_cores, options.num_cores);
        CHECK_EQ(answer.machine.timeout_cycles, uint64_t{options.timeout_ms} * op_host::kCyclesPerMs);
        CHECK(answer.machine.window_table != 0 && answer.machine.queue_table != 0 && answer.machine.workspace != 0);
        CHECK_EQ(answer.engine, CombineEngine::kUrma);
        CHECK_EQ(ask("another").result, int{op_host::kMachineUnknown});
        const Answer device = ask("named", "ascend950");
        CHECK_EQ(device.result, int{op_host::kMachineOther});
        CHECK_EQ(device.machine.window_table, 0ULL);
        rank.barrier();
        communicator->close();
        CHECK_EQ(communicator->machine().window_table, 0ULL);
        const Answer closed = ask("named");
        CHECK_EQ(closed.result, int{op_host::kMachineUnknown});
        CHECK_EQ(closed.machine.window_table, 0ULL);
    });
}

TEST(a_broken_communicator_is_not_given_to_a_package) {
    run_ranks(2, [](const Rank& rank) {
        CommunicatorOptions options = rank.options("breaks");
        options.timeout_ms = 300;
        const auto communicator = Communicator::create(options, rank.all_gather());
        if (rank.rank() == 0) {  // alone in an operation that the other rank never enters
            op_host::Status reason;
            reason.refusal.code = Code::kOutOfRange;
            CHECK(!communicator->refuse(OperationKind::kDispatch, reason).ok());
            CHECK_EQ(ask("breaks").result, int{op_host::kMachineBroken});
            CHECK_EQ(ask("breaks").machine.window_table, 0ULL);
        }
        rank.barrier();
    });
}
