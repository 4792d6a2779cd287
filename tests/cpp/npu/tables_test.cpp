// SPDX-License-Identifier: Apache-2.0
// What is found at run time: vendor libraries, queue tables of known and unknown releases, ranges of the heap. Layer:
// tests.
#include "framework/npu/library.h"
#include "npu_ranks.h"

namespace ascend_deepep::test {
namespace {

using npu::DeviceError;

enum Policy : uint32_t { kSome };
using LikeAVendor = int(void** memory, size_t bytes, Policy policy);
using WithAnOutEnum = int(void* event, Policy* status);
using WithAnotherWidth = int(void** memory, uint32_t bytes, Policy policy);
static_assert(npu::kSameCall<LikeAVendor*, decltype(npu::Acl::malloc)>);
static_assert(npu::kSameCall<WithAnOutEnum*, decltype(npu::Acl::query_event)>);
static_assert(!npu::kSameCall<WithAnotherWidth*, decltype(npu::Acl::malloc)>);

TEST(a_missing_library_is_told_with_its_remedy) {
    CHECK_THROWS(DeviceError, "libno_such_vendor.so", npu::Library("libno_such_vendor.so", "install it"));
    CHECK_THROWS(DeviceError, "; install it", npu::Library("libno_such_vendor.so", "install it"));
}

TEST(missing_functions_are_named_together) {
    npu::Library library("libc.so.6", "install a newer release");
    int (*function)(int) = nullptr;
    library.find("abs", &function);
    library.require_all();
    CHECK_EQ(function(-3), 3);
    library.find("no_such_function", &function);
    library.find("nor_this", &function);
    CHECK_THROWS(DeviceError, "libc.so.6 lacks no_such_function, nor_this; install a newer release",
                 library.require_all());
}

TEST(heap_ranges_find_gaps) {
    npu::HeapRanges ranges(100);
    CHECK_EQ(ranges.first_free(40), 0U);
    ranges.take(0, 40);
    ranges.take(60, 20);
    CHECK_EQ(ranges.first_free(20), 40U);
    CHECK_EQ(ranges.first_free(21), 100U);  // nowhere
    CHECK_EQ(ranges.top(), 80U);
    ranges.release(0);
    CHECK_EQ(ranges.first_free(50), 0U);
    ranges.release(60);
    CHECK_EQ(ranges.top(), 0U);
    CHECK_EQ(ranges.first_free(101), 100U);
}

op_host::Status creation_with(const Rank& rank, FakeDevice& device, TableRelease release) {
    device.fabric()->publish(release);
    return creation_error(npu_options(rank), rank.all_gather());
}

TEST(tables_of_both_known_releases_work) {
    for (const TableRelease release : {TableRelease::kInline, TableRelease::kPointer}) {
        run_npu_ranks(2, [&](const Rank& rank, FakeDevice& device) {
            device.fabric()->publish(release);
            const auto communicator = npu_communicator(rank);
            const auto round = enqueue_round(*communicator, 16, 1);
            check_ok(communicator->synchronize());
            CHECK(round->x_out == round->x);
        });
    }
}

TEST(tables_of_other_releases_are_refused_on_all_ranks) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        op_host::Status status = creation_with(rank, device, TableRelease::kUnknown);
        CHECK(contains(status.message, "queue structures of 72 and 48 bytes are of no known release"));
        status = creation_with(rank, device, rank.rank() == 0 ? TableRelease::kInline : TableRelease::kNone);
        CHECK(contains(status.message, "there are no UDMA queues"));
        CHECK_EQ(status.record.root, 1U);
        // Nothing of the two tries is left.
        CHECK_EQ(device.counts.allocations.load(), 0);
        check_ok(creation_with(rank, device, TableRelease::kInline));
    });
}

TEST(another_users_aclshmem_is_left_alone) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice&) {
        npu::ShmemUniqueId id{};
        fake_shmem().get_unique_id(&id);
        npu::ShmemAttributes attributes{};
        attributes.engines = npu::kShmemEngineUdma;
        attributes.bootstrap = &id;
        CHECK_EQ(fake_shmem().init(npu::kShmemInitUniqueId, &attributes), 0);
        CHECK(contains(creation_error(npu_options(rank), rank.all_gather()).message,
                       "aclshmem is in use by other code of this process"));
        CHECK_EQ(fake_shmem().init_status(), npu::kShmemInitialized);
    });
}

}  // namespace
}  // namespace ascend_deepep::test
