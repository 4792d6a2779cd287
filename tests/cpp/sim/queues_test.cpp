// SPDX-License-Identifier: Apache-2.0
// Checker "queues": what stops a queue is found when it does. A driver with rings and a wire, without kernels.
// Layer: tests.
#include "queue_machine.h"

namespace ascend_deepep::test {
namespace {

constexpr uint32_t kWqes = QueueMachine::kWqes;

// What the checker has found; nothing, or of this checker.
std::string found(const QueueMachine& machine) {
    if (machine.shared.findings.empty()) return "";
    CHECK_EQ(machine.shared.findings.all().front().checker, std::string("queues"));
    return machine.shared.findings.all().front().what;
}

// Announces `count` more WQEs after `before`, and all of them complete.
void fill(QueueMachine* machine, uint32_t before, uint32_t count) {
    for (uint32_t index = before; index < before + count; ++index)
        machine->put(index);
    machine->ring(before + count);
    machine->run();
}

TEST(a_ring_of_wqes_and_the_next_one_after_its_completions) {
    QueueMachine machine(1);
    fill(&machine, 0, kWqes);
    machine.ring_cq(kWqes);
    fill(&machine, kWqes, kWqes);
    CHECK_EQ(found(machine), std::string());
}

TEST(more_than_a_ring_of_wqes_is_found) {
    QueueMachine machine(1);
    machine.ring(kWqes + 1);
    CHECK(found(machine).find("the queue of rank 0 to rank 1 stops: its doorbell announces more") != std::string::npos);
}

TEST(a_doorbell_that_moves_back_is_found) {
    QueueMachine machine(1);
    fill(&machine, 0, 2);
    CHECK_EQ(found(machine), std::string());
    machine.ring(1);
    CHECK(found(machine).find("or moves back") != std::string::npos);
}

TEST(a_cq_doorbell_past_what_was_completed_is_found) {
    QueueMachine machine(1);
    fill(&machine, 0, 2);
    machine.ring_cq(3);
    CHECK(found(machine).find("past what was completed") != std::string::npos);
}

TEST(a_cq_doorbell_that_moves_back_is_found) {
    QueueMachine machine(1);
    fill(&machine, 0, 2);
    machine.ring_cq(2);
    CHECK_EQ(found(machine), std::string());
    machine.ring_cq(1);
    CHECK(found(machine).find("its CQ doorbell moves back") != std::string::npos);
}

TEST(a_completion_without_a_free_cqe_is_found) {
    QueueMachine machine(1);
    fill(&machine, 0, kWqes);
    machine.ring_cq(kWqes - 1);  // one is not consumed
    fill(&machine, kWqes, kWqes - 1);
    CHECK_EQ(found(machine), std::string());
    fill(&machine, 2 * kWqes - 1, 1);
    CHECK(found(machine).find("a completion finds no free CQE") != std::string::npos);
}

}  // namespace
}  // namespace ascend_deepep::test
