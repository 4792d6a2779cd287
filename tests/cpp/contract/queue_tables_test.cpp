// SPDX-License-Identifier: Apache-2.0
//
// Adapters of the known queue tables: round trips, golden bytes of a published table, and what each refuses.
// Layer: tests.
#include "contract/arch35/queue_tables.h"

#include "check.h"

using namespace ascend_deepep;

namespace {

// Every field different from all others, so that an exchange of two shows.
QueueContext sample_context() {
    QueueContext c{};
    c.sq_base = 0x0000120100000000ULL;
    c.sq_doorbell = 0x0000120200000040ULL;
    c.cq_base = 0x0000120300000000ULL;
    c.cq_doorbell = 0x0000120400000080ULL;
    c.remote_base = 0x0000560000001000ULL;
    c.remote_bytes = 0x0000000512345000ULL;  // beyond 4 GiB
    c.sq_depth = 4096;
    c.cq_depth = 8192;
    c.tpn = 0x00345678;
    c.remote_segment = 0x0009ABCD;
    c.remote_token = 0xDEADBEEF;
    c.token_enable = 1;
    c.jetty_type = 2;
    c.target_hint = 0x5C;
    c.local_token = 0x13572468;
    c.remote_eid[0] = 0x01020304;
    c.remote_eid[1] = 0x05060708;
    c.remote_eid[2] = 0x090A0B0C;
    c.remote_eid[3] = 0x0D0E0F10;
    c.posted = 0xFFFFFFF0;
    c.consumed = 0xFFFFFFE0;
    return c;
}

QueueReadings readings_of(const QueueContext& c) {
    QueueReadings r{};
    r.posted = c.posted;
    r.consumed = c.consumed;
    r.local_token = c.local_token;
    r.remote_bytes = c.remote_bytes;
    std::memcpy(r.remote_eid, c.remote_eid, sizeof(r.remote_eid));
    return r;
}

constexpr QueueAddresses kAddresses = {0x1111, 0x2222, 0x3333, 0x4444, 0x5555};

template <typename Table>
Table sample_table() {
    Table table{};
    from_queue_context(sample_context(), kAddresses, &table);
    return table;
}

template <typename Table>
QueueTableFault convert(const Table& table) {
    QueueContext got{};
    return to_queue_context(table, readings_of(sample_context()), &got);
}

template <typename Table>
void check_round_trip() {
    const QueueContext want = sample_context();
    QueueContext got{};
    const QueueTableFault fault = to_queue_context(sample_table<Table>(), readings_of(want), &got);
    CHECK_EQ(fault, QueueTableFault::kNone);
    CHECK(std::memcmp(&got, &want, sizeof(got)) == 0);
}

// What the three have in common.
template <typename Table>
void check_ring_faults() {
    Table t = sample_table<Table>();
    t.sq.depth = 4095;
    CHECK_EQ(convert(t), QueueTableFault::kQueueDepth);
    t.sq.depth = 2;
    CHECK_EQ(convert(t), QueueTableFault::kQueueDepth);
    t.sq.depth = 4;
    CHECK_EQ(convert(t), QueueTableFault::kNone);
    t.sq.depth = 65536;
    CHECK_EQ(convert(t), QueueTableFault::kQueueDepth);
    t.sq.depth = t.cq.depth = 32768;
    CHECK_EQ(convert(t), QueueTableFault::kNone);
    t.cq.depth = 16384;
    CHECK_EQ(convert(t), QueueTableFault::kCqDepth);
    t = sample_table<Table>();
    t.cq.doorbell = 0;
    CHECK_EQ(convert(t), QueueTableFault::kNoRing);
    t = sample_table<Table>();
    t.sq.base = 0;
    CHECK_EQ(convert(t), QueueTableFault::kNoRing);
}

template <typename Table>
uint64_t word_at(const Table& table, size_t offset, size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const char*>(&table) + offset, bytes);
    return value;
}

}  // namespace

TEST(pointer_tables_round_trip) {
    check_round_trip<ShmemPointerQueue>();
}
TEST(inline_tables_round_trip) {
    check_round_trip<ShmemInlineQueue>();
}
TEST(hcomm_tables_round_trip) {
    check_round_trip<HcommQueue>();
}

TEST(pointer_tables_are_refused_when_unfit) {
    check_ring_faults<ShmemPointerQueue>();
    ShmemPointerQueue t = sample_table<ShmemPointerQueue>();
    t.sq.entry_shift = 7;
    CHECK_EQ(convert(t), QueueTableFault::kEntryBytes);
    t = sample_table<ShmemPointerQueue>();
    t.remote.length ^= 0x1000;
    CHECK_EQ(convert(t), QueueTableFault::kRemoteLength);
}

TEST(inline_tables_are_refused_when_unfit) {
    check_ring_faults<ShmemInlineQueue>();
    ShmemInlineQueue t = sample_table<ShmemInlineQueue>();
    t.cq.entry_bytes = 32;
    CHECK_EQ(convert(t), QueueTableFault::kEntryBytes);
    t = sample_table<ShmemInlineQueue>();
    t.remote.length = 0;
    CHECK_EQ(convert(t), QueueTableFault::kRemoteLength);
}

TEST(hcomm_tables_are_refused_when_unfit) {
    check_ring_faults<HcommQueue>();
    HcommQueue t = sample_table<HcommQueue>();
    t.sq.type = 1;  // a RoCE queue lies in the same bytes
    CHECK_EQ(convert(t), QueueTableFault::kQueueType);
    t = sample_table<HcommQueue>();
    t.sq.entry_bytes = 128;
    CHECK_EQ(convert(t), QueueTableFault::kEntryBytes);
}

// Offsets as the facts of each release give them, written down here a second time.
TEST(pointer_table_bytes_are_as_published) {
    const ShmemPointerQueue t = sample_table<ShmemPointerQueue>();
    CHECK_EQ(word_at(t.sq, 8, 8), 0x0000120100000000ULL);
    CHECK_EQ(word_at(t.sq, 16, 4), 6ULL);
    CHECK_EQ(word_at(t.sq, 20, 4), 4096ULL);
    CHECK_EQ(word_at(t.sq, 24, 8), 0x1111ULL);
    CHECK_EQ(word_at(t.sq, 32, 8), 0x2222ULL);
    CHECK_EQ(word_at(t.sq, 48, 8), 0x0000120200000040ULL);
    CHECK_EQ(word_at(t.cq, 20, 4), 8192ULL);
    CHECK_EQ(word_at(t.cq, 32, 8), 0x4444ULL);
    CHECK_EQ(word_at(t.cq, 48, 8), 0x0000120400000080ULL);
}

TEST(inline_table_bytes_are_as_published) {
    const ShmemInlineQueue t = sample_table<ShmemInlineQueue>();
    CHECK_EQ(word_at(t.sq, 8, 8), 0x0000120100000000ULL);
    CHECK_EQ(word_at(t.sq, 16, 4), 64ULL);
    CHECK_EQ(word_at(t.sq, 20, 4), 4096ULL);
    CHECK_EQ(word_at(t.sq, 24, 4), 0xFFFFFFF0ULL);
    CHECK_EQ(word_at(t.sq, 32, 4), 1ULL);
    CHECK_EQ(word_at(t.sq, 40, 8), 0x0000120200000040ULL);
    CHECK_EQ(word_at(t.cq, 28, 4), 0xFFFFFFE0ULL);
    CHECK_EQ(word_at(t.cq, 40, 8), 0x0000120400000080ULL);
    CHECK_EQ(word_at(t.remote, 0, 1), 1ULL);
    CHECK_EQ(word_at(t.remote, 1, 1), 2ULL);
    CHECK_EQ(word_at(t.remote, 2, 1), 0x5CULL);
    CHECK_EQ(word_at(t.remote, 4, 4), 0x345678ULL);
    CHECK_EQ(word_at(t.remote, 8, 4), 0x9ABCDULL);
    CHECK_EQ(word_at(t.remote, 12, 4), 0xDEADBEEFULL);
    CHECK_EQ(word_at(t.remote, 16, 4), 0x12345000ULL);
    CHECK_EQ(word_at(t.remote, 24, 8), 0x0000560000001000ULL);
    CHECK_EQ(word_at(t.remote, 32, 8), 0x5555ULL);
}

TEST(hcomm_table_bytes_are_as_published) {
    const HcommQueue t = sample_table<HcommQueue>();
    CHECK_EQ(word_at(t.sq, 0, 4), 0ULL);
    CHECK_EQ(word_at(t.sq, 8, 8), 0x0000120100000000ULL);
    CHECK_EQ(word_at(t.sq, 16, 8), 0x1111ULL);
    CHECK_EQ(word_at(t.sq, 32, 8), 0x0000120200000040ULL);
    CHECK_EQ(word_at(t.sq, 44, 4), 64ULL);
    CHECK_EQ(word_at(t.sq, 48, 4), 4096ULL);
    CHECK_EQ(word_at(t.sq, 52, 4), 0x345678ULL);
    CHECK_EQ(word_at(t.sq, 56, 4), 0x01020304ULL);
    CHECK_EQ(word_at(t.sq, 68, 4), 0x0D0E0F10ULL);
    CHECK_EQ(word_at(t.cq, 48, 4), 8192ULL);
    CHECK_EQ(hcomm_counters(0xFFFFFFF0U, 7), 0x00000007FFFFFFF0ULL);
    CHECK_EQ(hcomm_producer(0x00000007FFFFFFF0ULL), 0xFFFFFFF0U);
    CHECK_EQ(hcomm_requests(0x00000007FFFFFFF0ULL), 7U);
}
