// SPDX-License-Identifier: Apache-2.0
// The fabric as the twin's machine sees it: which accesses are legal, what is counted, what each fault does, and who is
// taken for lost. Layer: tests. Two or three ranks of one process, each with its own view of all windows.
#include "twin/fabric/fabric.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "check.h"
#include "tests/cpp/fabric/world.h"
#include "tests/cpp/rule_check.h"
#include "twin/runtime/flag_access.h"

namespace {

using namespace ascend_deepep;
using namespace ascend_deepep::twin;
using namespace ascend_deepep::fabric_test;

// Rank 0 puts WQE number `index` into its ring for `peer` and rings: block `slot` of its send buffer to `offset`.
void write_by_wqe(World& world, uint32_t peer, uint32_t index, uint32_t slot, uint64_t offset) {
    Fabric& fabric = *world.ranks[0];
    const QueueContext& q = fabric.engine().context(peer);
    const uint64_t remote = q.remote_base + offset;
    const uint64_t local = reinterpret_cast<uint64_t>(world.window(0, 0) + world.offset(WindowRegion::kSendBuffer)) +
                           slot * world.layout.token_slot_bytes;
    uint32_t words[16] = {wqe_control_word(wqe_owner(index, q.sq_depth), q.jetty_type, q.token_enable),
                          wqe_opcode_word(WqeOpcode::kWrite, q.target_hint),
                          wqe_transport_word(q.tpn),
                          wqe_segment_word(q.remote_segment),
                          q.remote_eid[0],
                          q.remote_eid[1],
                          q.remote_eid[2],
                          q.remote_eid[3],
                          q.remote_token,
                          0,
                          static_cast<uint32_t>(remote),
                          static_cast<uint32_t>(remote >> 32),
                          world.layout.token_slot_bytes,
                          q.local_token,
                          static_cast<uint32_t>(local),
                          static_cast<uint32_t>(local >> 32)};
    std::memcpy(reinterpret_cast<uint8_t*>(q.sq_base) + (index % q.sq_depth) * kWqeBytes, words, sizeof(words));
    CHECK(fabric.device_store(reinterpret_cast<void*>(q.sq_doorbell), index + 1, 4));
}

uint32_t status_of(World& world, uint32_t peer, uint32_t index) {
    const QueueContext& q = world.ranks[0]->engine().context(peer);
    return cqe_status(reinterpret_cast<const uint32_t*>(q.cq_base + (index % q.cq_depth) * kCqeBytes)[0]);
}

// A token copy of rank 0, staged in its send buffer.
std::vector<uint8_t> stage(World& world, uint32_t slot, uint8_t byte) {
    const uint32_t bytes = world.layout.token_slot_bytes;
    const std::vector<uint8_t> copy = block(byte, kTag, bytes / kBlockBytes);
    std::memcpy(world.window(0, 0) + world.offset(WindowRegion::kSendBuffer, uint64_t{slot} * bytes), copy.data(),
                bytes);
    return copy;
}

TEST(fabric_carries_a_token_copy_and_counts_it) {
    World world(2);
    world.ranks[0]->begin(OperationKind::kDispatch, {});
    const std::vector<uint8_t> copy = stage(world, 3, 0x77);
    const uint64_t at = world.offset(WindowRegion::kDispatchHalf1);
    write_by_wqe(world, 1, 0, 3, at);
    CHECK_EQ(status_of(world, 1, 0), 0U);
    CHECK(std::memcmp(world.window(1, 1) + at, copy.data(), copy.size()) == 0);
    CHECK_EQ(load_wake_word(&world.ranks[1]->windows().shared(1).wake_word), 0U);
    world.ranks[0]->end();
    CHECK_EQ(load_wake_word(&world.ranks[1]->windows().shared(1).wake_word), 1U);
    const Traffic traffic = world.ranks[0]->traffic();
    CHECK_EQ(traffic.copies, 1U);
    CHECK_EQ(traffic.bytes_dispatch, copy.size());
    CHECK_EQ(traffic.wqes_dispatch, 1U);
    CHECK_EQ(traffic.doorbells_dispatch, 1U);
    CHECK_EQ(traffic.bytes_control + traffic.bytes_combine + traffic.rows + traffic.doorbells_combine, 0U);
}

TEST(fabric_counts_rows_and_control_messages_by_region) {
    World world(2);
    Fabric& fabric = *world.ranks[0];
    fabric.begin(OperationKind::kCombine, {});
    const std::vector<uint8_t> one = block(1);
    for (uint32_t row = 0; row < 3; ++row) {
        fabric.window_write(
            world.window(0, 1) + world.offset(WindowRegion::kCombineHalf0, row * world.layout.row_slot_bytes),
            one.data(), one.size());
    }
    fabric.window_write(world.window(0, 1) + world.offset(WindowRegion::kControlRing), one.data(), one.size());
    fabric.window_write(world.window(0, 1) + world.offset(WindowRegion::kAbort), one.data(), one.size());
    // An own row is no traffic.
    fabric.window_write(world.window(0, 0) + world.offset(WindowRegion::kCombineHalf0), one.data(), one.size());
    fabric.end();
    const Traffic traffic = fabric.traffic();
    CHECK_EQ(traffic.rows, 3U);
    CHECK_EQ(traffic.bytes_combine, 3U * 512U);
    CHECK_EQ(traffic.bytes_control, 1024U);
    CHECK_EQ(traffic.copies, 0U);
}

TEST(fabric_refuses_a_wqe_into_a_region_that_is_not_the_peers_to_give) {
    World world(2);
    world.ranks[0]->begin(OperationKind::kDispatch, {});
    stage(world, 0, 1);
    write_by_wqe(world, 1, 0, 0, world.offset(WindowRegion::kControlPage));
    CHECK_EQ(status_of(world, 1, 0), static_cast<uint32_t>(CqeStatus::kRemoteAccess));
    CHECK_EQ(world.window(1, 1)[0], 0);
}

TEST(fabric_knows_the_memory_of_a_call) {
    World world(2);
    Fabric& fabric = *world.ranks[0];
    std::vector<uint8_t> tensor(100), other(100);
    fabric.begin(OperationKind::kDispatch, {{tensor.data(), tensor.size()}});
    fabric.check_access(tensor.data(), 100, true);
    fabric.check_access(tensor.data() + 99, 1, false);
    fabric.check_access(world.window(0, 0), 64, true);
    fabric.check_access(reinterpret_cast<void*>(fabric.engine().context(1).sq_base), 64, true);
    CHECK_REFUSED(rules::kGmKnownRange, fabric.check_access(tensor.data() + 99, 2, false));
    CHECK_REFUSED(rules::kGmKnownRange, fabric.check_access(other.data(), 1, true));
    fabric.end();
    CHECK_REFUSED(rules::kGmKnownRange, fabric.check_access(tensor.data(), 1, false));
}

TEST(fabric_in_steps_delivers_between_rounds) {
    World world(2, true);
    Fabric& fabric = *world.ranks[0];
    fabric.begin(OperationKind::kDispatch, {});
    const std::vector<uint8_t> copy = stage(world, 0, 9);
    const uint64_t at = world.offset(WindowRegion::kDispatchHalf0);
    write_by_wqe(world, 1, 0, 0, at);
    CHECK_EQ(load_tag(world.window(1, 1) + at + kBlockDataBytes), 0U);
    fabric.step();
    CHECK_EQ(load_tag(world.window(1, 1) + at + kBlockDataBytes), kTag);
}

struct FaultRun {
    World world{3};
    std::vector<uint8_t> copy;
    uint64_t at;
    // Two token copies of rank 0 to rank 1, both the same; the fault strikes the second one.
    explicit FaultRun(FaultKind kind, uint64_t seed = 1) {
        world.ranks[0]->begin(OperationKind::kDispatch, {});
        world.ranks[0]->fault().arm(kind, seed, 1);
        copy = stage(world, 0, 0x3C);
        at = world.offset(WindowRegion::kDispatchHalf0);
        write_by_wqe(world, 1, 0, 0, at);
        CHECK(!world.ranks[0]->fault().fired());
        write_by_wqe(world, 1, 1, 0, at + copy.size());
        CHECK(world.ranks[0]->fault().fired());
        CHECK(std::memcmp(world.window(1, 1) + at, copy.data(), copy.size()) == 0);
        write_by_wqe(world, 1, 2, 0, at + 2 * copy.size());
        CHECK(std::memcmp(world.window(1, 1) + at + 2 * copy.size(), copy.data(), copy.size()) == 0);
    }
    const uint8_t* struck() { return world.window(1, 1) + at + copy.size(); }
};

TEST(fault_drop_wqe_completes_and_moves_nothing) {
    FaultRun run(FaultKind::kDropWqe);
    CHECK_EQ(status_of(run.world, 1, 1), 0U);
    CHECK_EQ(load_tag(run.struck() + kBlockDataBytes), 0U);
    CHECK_EQ(run.struck()[0], 0);
}

TEST(fault_flip_bit_changes_one_bit_of_the_smallest_hidden_state) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        FaultRun run(FaultKind::kFlipBit, seed);
        uint32_t bits = 0, first = 0;
        for (uint32_t i = 0; i < run.copy.size(); ++i) {
            const uint8_t difference = static_cast<uint8_t>(run.struck()[i] ^ run.copy[i]);
            if (difference != 0) first = i;
            bits += static_cast<uint32_t>(__builtin_popcount(difference));
        }
        CHECK_EQ(bits, 1U);
        CHECK(first < 128);
    }
}

TEST(fault_stale_flag_leaves_the_data_and_an_older_tag) {
    FaultRun run(FaultKind::kStaleFlag);
    CHECK_EQ(load_tag(run.struck() + kBlockDataBytes), kTag - 1);
    CHECK(std::memcmp(run.struck(), run.copy.data(), kBlockDataBytes) == 0);
}

TEST(fault_late_flag_shows_a_tag_without_its_data) {
    FaultRun run(FaultKind::kLateFlag);
    CHECK_EQ(load_tag(run.struck() + kBlockDataBytes), kTag);
    for (uint32_t i = 0; i < 128; ++i)
        CHECK_EQ(run.struck()[i], 0xC3);
}

TEST(fault_swap_slots_writes_into_another_sources_slot) {
    FaultRun run(FaultKind::kSwapSlots);
    CHECK_EQ(load_tag(run.struck() + kBlockDataBytes), 0U);
    const uint64_t source_bytes = 8 * run.copy.size();
    CHECK(std::memcmp(run.struck() + source_bytes, run.copy.data(), run.copy.size()) == 0);
}

TEST(fault_bad_cqe_moves_nothing_and_says_so) {
    FaultRun run(FaultKind::kBadCqe);
    CHECK_EQ(status_of(run.world, 1, 1), static_cast<uint32_t>(CqeStatus::kRemoteAccess));
    CHECK_EQ(load_tag(run.struck() + kBlockDataBytes), 0U);
}

TEST(fault_drop_control_loses_one_control_message) {
    World world(2);
    Fabric& fabric = *world.ranks[0];
    fabric.begin(OperationKind::kDispatch, {});
    fabric.fault().arm(FaultKind::kDropControl, 0, 1);
    const std::vector<uint8_t> one = block(4);
    uint8_t* ring = world.window(0, 1) + world.offset(WindowRegion::kControlRing);
    for (uint32_t i = 0; i < 3; ++i)
        fabric.window_write(ring + i * 512, one.data(), 512);
    CHECK_EQ(ring[0], 4);
    CHECK_EQ(ring[512], 0);
    CHECK_EQ(ring[1024], 4);
}

TEST(faults_have_names_and_seeds_place_them) {
    CHECK_EQ(fault_names().size(), 7U);
    for (const std::string& name : fault_names())
        CHECK(fault_from_name(name) != FaultKind::kNone);
    CHECK(fault_from_name("drop") == FaultKind::kNone);
    bool seen[5] = {};
    for (uint64_t seed = 0; seed < 100; ++seed)
        seen[fault_event(seed, 5)] = true;
    for (bool is_seen : seen)
        CHECK(is_seen);
}

uint64_t abort_word(Fabric& fabric) {
    return load_tag(&fabric.control_page().abort_word.word);
}
constexpr uint64_t kLost = static_cast<uint64_t>(Code::kPeerLost) << 32;

// Idle rounds until rank 0 gives up, at most two seconds.
uint64_t wait_for_abort(World& world) {
    Fabric& fabric = *world.ranks[0];
    fabric.begin(OperationKind::kDispatch, {});
    for (int i = 0; i < 2000 && abort_word(fabric) == 0; ++i)
        fabric.idle();
    fabric.end();
    return abort_word(fabric);
}

pid_t sleeping_child() {
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    return child;
}

TEST(a_killed_peer_ends_the_operation) {
    const pid_t child = sleeping_child();
    World world(3, false, child);
    Fabric& fabric = *world.ranks[0];
    fabric.begin(OperationKind::kDispatch, {});
    for (int i = 0; i < 300; ++i)
        fabric.idle();
    CHECK_EQ(abort_word(fabric), 0U);
    fabric.end();
    ::kill(child, SIGKILL);
    CHECK_EQ(wait_for_abort(world), kLost | 3U);
    ::waitpid(child, nullptr, 0);
}

TEST(a_peer_that_had_finished_the_operation_is_not_missed) {
    const pid_t child = sleeping_child();
    World world(2, false, child);
    ControlPage& theirs = world.ranks[1]->control_page();
    theirs.state.sequence = 1;  // it has finished number 0, in which this rank still is
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    Fabric& fabric = *world.ranks[0];
    fabric.begin(OperationKind::kDispatch, {});
    for (int i = 0; i < 300; ++i)
        fabric.idle();
    CHECK_EQ(abort_word(fabric), 0U);
    fabric.end();
    fabric.control_page().state.sequence = 1;  // the next one needs it
    CHECK_EQ(wait_for_abort(world), kLost | 2U);
}

TEST(a_peer_that_closed_or_failed_ends_the_operation) {
    World closed(2);
    closed.ranks[1]->set_state(OwnerState::kClosed);
    CHECK_EQ(wait_for_abort(closed), kLost | 2U);
    World failed(2);
    failed.ranks[1]->set_state(OwnerState::kFailed);
    failed.ranks[1]->set_state(OwnerState::kClosed);
    CHECK_EQ(wait_for_abort(failed), (static_cast<uint64_t>(Code::kPeerAborted) << 32) | 2U);
    // A broken one has posted its own abort message, which names the root.
    World broken(2);
    broken.ranks[1]->control_page().state.is_broken = 1;
    broken.ranks[1]->set_state(OwnerState::kClosed);
    Fabric& fabric = *broken.ranks[0];
    fabric.begin(OperationKind::kDispatch, {});
    for (int i = 0; i < 300; ++i)
        fabric.idle();
    CHECK_EQ(abort_word(fabric), 0U);
}

TEST(an_abort_asked_for_by_another_thread_ends_the_operation) {
    World world(2);
    world.ranks[0]->request_abort();
    CHECK_EQ(wait_for_abort(world), (static_cast<uint64_t>(Code::kPeerAborted) << 32) | 1U);
}

}  // namespace
