// SPDX-License-Identifier: Apache-2.0
// Rules of windows: each one broken, and its legal neighbour. Layer: tests. A test is called rule_ and the rule's name.
#include "tests/cpp/fabric/world.h"
#include "tests/cpp/rule_check.h"

namespace {

using namespace ascend_deepep;
using namespace ascend_deepep::fabric_test;
namespace rules = ascend_deepep::twin::rules;

struct Put {
    World world{2};
    Fabric& fabric = *world.ranks[0];
    std::vector<uint8_t> two = block(1, kTag, 2);
    uint8_t* peer = world.window(0, 1);
    uint8_t* half = peer + world.offset(WindowRegion::kDispatchHalf0);
};

TEST(rule_put_whole_blocks) {
    Put put;
    CHECK_REFUSED(rules::kPutWholeBlocks, put.fabric.window_write(put.half, put.two.data(), 480));
    CHECK_REFUSED(rules::kPutWholeBlocks, put.fabric.window_write(put.half + 32, put.two.data(), 512));
    CHECK_REFUSED(rules::kPutWholeBlocks, put.fabric.window_write(put.half, put.two.data(), 1000));
    put.fabric.window_write(put.half, put.two.data(), 1024);
    CHECK_EQ(put.half[0], 1);
}

TEST(rule_put_region) {
    Put put;
    CHECK_REFUSED(rules::kPutRegion, put.fabric.window_write(put.peer, put.two.data(), 512));
    uint8_t* send_buffer = put.peer + put.world.offset(WindowRegion::kSendBuffer);
    CHECK_REFUSED(rules::kPutRegion, put.fabric.window_write(send_buffer, put.two.data(), 512));
    put.fabric.window_write(put.peer + put.world.offset(WindowRegion::kControlRing), put.two.data(), 512);
}

TEST(rule_put_inside) {
    Put put;
    uint8_t* last = put.peer + put.world.layout.total_bytes - 512;
    CHECK_REFUSED(rules::kPutInside, put.fabric.window_write(last, put.two.data(), 1024));
    uint8_t* own_last = put.world.window(0, 0) + put.world.layout.total_bytes - 512;
    CHECK_REFUSED(rules::kPutInside, put.fabric.window_write(own_last, put.two.data(), 1024));
    put.fabric.window_write(own_last, put.two.data(), 512);
}

TEST(rule_own_window_only) {
    Put put;
    uint8_t back[512];
    CHECK_REFUSED(rules::kOwnWindowOnly, put.fabric.window_read(back, put.half, 512));
    uint8_t* own_end = put.world.window(0, 0) + put.world.layout.total_bytes;
    CHECK_REFUSED(rules::kOwnWindowOnly, put.fabric.window_read(back, own_end - 32, 64));
    // The first piece lies in the own window, the last one does not.
    CHECK_REFUSED(rules::kOwnWindowOnly, put.fabric.window_read_pieces({back, own_end - 64, 64, 64, 2, 64}));
    put.fabric.window_read(back, own_end - 32, 32);
}

// What the fabric tells a launch about its windows is what single words are checked against.
TEST(words_of_windows_are_those_of_the_map) {
    Put put;
    const WindowMap map = put.fabric.window_map();
    const uint8_t* own = put.world.window(0, 0);
    require_own_window(map, own, 8, true);
    require_own_window(map, own + put.world.layout.total_bytes - 8, 8, false);
    require_own_window(map, &put, 8, true);  // no window at all
    CHECK_REFUSED(rules::kWindowRange, require_own_window(map, own + put.world.layout.total_bytes - 4, 8, false));
    CHECK_REFUSED(rules::kPeerWindow, require_own_window(map, put.peer, 8, true));
    CHECK_REFUSED(rules::kPeerWindow, require_own_window(map, put.peer + put.world.layout.total_bytes - 8, 8, false));
    const WindowMap other = put.world.ranks[1]->window_map();
    CHECK_REFUSED(rules::kPeerWindow, require_own_window(other, put.world.window(1, 0), 8, false));
}

}  // namespace
