// SPDX-License-Identifier: Apache-2.0
//
// The largest calls of a communicator pass its checks, and no larger one does. Layer: tests.
#include "op_host/largest_calls.h"

#include "check.h"
#include "op_host/check.h"
#include "op_host/quant.h"

using namespace ascend_deepep;
using namespace ascend_deepep::op_host;

namespace {

constexpr CommunicatorLimits kLimits = {4, 16, 1040, 4, 12, 1};

CallChoices choices_of(int64_t quant_mode, Dtype x, std::optional<Dtype> y) {
    CallChoices choices;
    choices.shared_expert_rank_num = 1;
    choices.quant_mode = quant_mode;
    choices.x_dtype = x;
    choices.y_dtype = y;
    return choices;
}

struct Kind {
    int64_t quant_mode;
    Dtype x;
    std::optional<Dtype> y;
    Dtype rows;             // of expand_x
    int64_t scale_columns;  // of dynamic_scales
};

const Kind kKinds[] = {
    {kQuantPass, Dtype::kBf16, {}, Dtype::kBf16, 0},
    {kQuantPass, Dtype::kE4m3, {}, Dtype::kE4m3, 9},
    {kQuantStatic, Dtype::kFp16, Dtype::kInt8, Dtype::kInt8, 0},
    {kQuantPerToken, Dtype::kBf16, {}, Dtype::kInt8, 0},
    {kQuantPerGroup, Dtype::kBf16, Dtype::kE5m2, Dtype::kE5m2, 9},
    {kQuantMx, Dtype::kBf16, Dtype::kE4m3, Dtype::kE4m3, 34},
};

}  // namespace

TEST(largest_calls_of_every_quantisation_are_legal) {
    for (const Kind& kind : kKinds) {
        CallChoices choices = choices_of(kind.quant_mode, kind.x, kind.y);
        for (choices.rank = 0; choices.rank < 4; ++choices.rank) {
            DispatchShapes shapes;
            const DispatchCall dispatch = largest_dispatch(kLimits, choices);
            const Status sent = check_dispatch(kLimits, choices.rank, dispatch, &shapes);
            CHECK_EQ(sent.message, std::string());
            CHECK_EQ(shapes.expand_dtype, kind.rows);
            CHECK_EQ(shapes.scale_columns, kind.scale_columns);
            // The shared expert's rank gets a row of each token; the others four experts' rows of all.
            CHECK_EQ(shapes.capacity_rows, choices.rank == 0 ? 16 * 4 : 16 * 4 * 4);
            const Status back = check_combine(kLimits, choices.rank, largest_combine(kLimits, choices, shapes));
            CHECK_EQ(back.message, std::string());
        }
    }
}

TEST(one_token_more_is_refused) {
    CommunicatorLimits more = kLimits;
    ++more.max_tokens;
    const CallChoices choices = choices_of(kQuantPass, Dtype::kBf16, {});
    const Status status = check_dispatch(kLimits, 0, largest_dispatch(more, choices), nullptr);
    CHECK_EQ(status.refusal.field, Field::kNumTokens);
}

TEST(copies_per_expert_are_made_where_there_is_room) {
    CommunicatorLimits wide = kLimits;
    wide.per_expert_copies = 1;
    const CallChoices choices = choices_of(kQuantPass, Dtype::kBf16, {});
    CHECK_EQ(quant_plan(largest_dispatch(wide, choices)).copy_mode, CopyMode::kPerExpert);
    CHECK_EQ(quant_plan(largest_dispatch(kLimits, choices)).copy_mode, CopyMode::kPerRank);
    CHECK(check_dispatch(wide, 0, largest_dispatch(wide, choices), nullptr).ok());
    wide.combine_reduce = 1;
    CHECK_EQ(check_dispatch(wide, 0, largest_dispatch(wide, choices), nullptr).refusal.field, Field::kCombineReduce);
}
