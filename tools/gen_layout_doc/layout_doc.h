// SPDX-License-Identifier: Apache-2.0
//
// The text of docs/layout.md. Layer: tools. A test compares it with the file, so the file cannot fall behind.
#ifndef ASCEND_DEEPEP_TOOLS_GEN_LAYOUT_DOC_LAYOUT_DOC_H
#define ASCEND_DEEPEP_TOOLS_GEN_LAYOUT_DOC_LAYOUT_DOC_H

#include <sstream>
#include <stdexcept>

#include "contract/arch35/cqe.h"
#include "contract/arch35/wqe.h"
#include "tools/gen_layout_doc/fields.h"

namespace ascend_deepep::layout_doc {

inline void write_structure(std::ostream& out, const Structure& s) {
    out << "\n### " << s.name << ", " << s.bytes << " B\n\n" << s.meaning << "\n\n";
    out << "| offset | bytes | field | meaning |\n|---:|---:|---|---|\n";
    size_t expected = 0;
    for (const Field& f : s.fields) {
        if (f.offset != expected) {
            throw std::logic_error(std::string(s.name) + " has a gap before " + f.name + ": add the missing field");
        }
        expected = f.offset + f.bytes;
        out << "| " << f.offset << " | " << f.bytes << " | `" << f.name << "` | " << f.meaning << " |\n";
    }
    if (expected != s.bytes) throw std::logic_error(std::string(s.name) + " has fields behind the last one listed");
}

inline void write_limits(std::ostream& out) {
    out << "\n## Limits\n\n| limit | value |\n|---|---:|\n"
        << "| ranks | " << kMaxRanks << " |\n| experts | " << kMaxExperts << " |\n| local experts x ranks | "
        << kMaxBlocksPerRank << " |\n| tokens per rank and call | " << kMaxTokens << " |\n| top-k | " << kMaxTopk
        << " |\n| shared experts | " << kMaxSharedExperts << " |\n| hidden | " << kMinHidden << " to " << kMaxHidden
        << ", multiples of " << kHiddenMultiple << " |\n| cores | " << kMinCores << " to " << kMaxCores << " |\n"
        << "| queue depth | " << kMinQueueDepth << " to " << kMaxQueueDepth << ", powers of two |\n";
}

inline void write_blocks(std::ostream& out) {
    out << "\n## Blocks\n\nEvery remote write is whole " << kBlockBytes << " B blocks: " << kBlockDataBytes
        << " B of data, then a flag area of " << kFlagBytes << " B whose first 8 B are the tag of the operation.\n"
        << "Data byte `p` of a slot lies at `p / " << kBlockDataBytes << " * " << kBlockBytes << " + p % "
        << kBlockDataBytes << "`; the flag area of block `b` at `b * " << kBlockBytes << " + " << kBlockDataBytes
        << "`.\n";
}

inline void write_tokens(std::ostream& out) {
    out << "\n## Token copies (dispatch) and rows (combine)\n\n"
        << "A token copy is the hidden state, then at `header_offset` the header. A combine row is the hidden state.\n"
        << "Offsets count data bytes; strides count whole blocks.\n\n"
        << "| hidden | entries | payload bytes | header offset | header bytes | first header block | blocks | "
        << "slot bytes | row blocks | row slot bytes |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    for (const uint32_t hidden : {64U, 80U, 1024U, 1040U, 2048U, 4096U, 7168U, 8192U}) {
        for (const uint32_t entries : {1U, 8U, 16U}) {
            const TokenLayout t = token_layout(hidden * kElementBytes, 0, entries, 0);
            out << "| " << hidden << " | " << entries << " | " << t.payload_bytes << " | " << t.header_offset << " | "
                << t.header_bytes << " | " << t.first_header_block << " | " << t.blocks << " | " << t.slot_bytes
                << " | " << row_layout(hidden, false).blocks << " | " << row_slot_bytes(hidden) << " |\n";
        }
    }
}

inline const char* region_meaning(WindowRegion region) {
    switch (region) {
        case WindowRegion::kControlPage:
            return "control page | ControlPage";
        case WindowRegion::kControlRing:
            return "control ring | [source][slot] control messages";
        case WindowRegion::kAbort:
            return "abort | [source] one block: ErrorRecord";
        case WindowRegion::kSendBuffer:
            return "send buffer | [send slot] staged copies";
        case WindowRegion::kDispatchHalf0:
            return "dispatch half 0 | [source][n] token copies received";
        case WindowRegion::kDispatchHalf1:
            return "dispatch half 1 | the same";
        case WindowRegion::kCombineHalf0:
            return "combine half 0 | [token][column] rows received";
        case WindowRegion::kCombineHalf1:
            return "combine half 1 | the same";
        case WindowRegion::kCombineStaging:
            return "combine staging | [peer][ring slot] rows on their way out (URMA)";
        case WindowRegion::kCount:
            break;
    }
    throw std::logic_error("a window region has no text");
}

inline const char* region_meaning(WorkspaceRegion region) {
    switch (region) {
        case WorkspaceRegion::kHeaders:
            return "headers | [token] header and entries, in wire format";
        case WorkspaceRegion::kDestinations:
            return "destinations | [rank][copies per source] u32 send slots, ascending";
        case WorkspaceRegion::kNumCopies:
            return "copies | [rank] u32";
        case WorkspaceRegion::kExpertRows:
            return "expert rows | [rank][its experts] u32 pairs";
        case WorkspaceRegion::kLiveIds:
            return "live ids | [token][num_topk + 1] i32 after the mask";
        case WorkspaceRegion::kRefusals:
            return "refusals | [1 + core] Refusal: own, then those seen";
        case WorkspaceRegion::kRecvRows:
            return "received rows | [source][local expert] u32";
        case WorkspaceRegion::kRecvInfo:
            return "received info | [source] {copies, tokens}";
        case WorkspaceRegion::kBlockBase:
            return "block base | [local expert][source] u32, exclusive prefix";
        case WorkspaceRegion::kPartials:
            return "partials | combine by rank: [rank] u32 returned";
        case WorkspaceRegion::kOwnRows:
            return "own rows | combine: [token][column] u32 row of expand_x";
        case WorkspaceRegion::kCount:
            break;
    }
    throw std::logic_error("a workspace region has no text");
}

template <typename RegionId, size_t kCount>
void write_regions(std::ostream& out, const Region (&regions)[kCount], uint64_t total_bytes) {
    out << "| offset | bytes | region | contents |\n|---:|---:|---|---|\n";
    for (size_t i = 0; i < kCount; ++i) {
        out << "| " << regions[i].offset << " | " << regions[i].bytes << " | "
            << region_meaning(static_cast<RegionId>(i)) << " |\n";
    }
    out << "| " << total_bytes << " | | end | |\n";
}

inline void write_window(std::ostream& out) {
    const CommunicatorLimits limits{8, 128, 7168, 8, 256, 0};
    out << "\n## Window and workspace\n\nBoth depend on the communicator's maxima only. Regions of the window start at "
        << "multiples of " << kPageBytes << " B, those of the workspace at multiples of " << kWorkspaceAlign << " B.\n"
        << "As an example: " << limits.num_ranks << " ranks, " << limits.max_tokens << " tokens, hidden "
        << limits.hidden << ", top-" << limits.num_topk << ", " << limits.num_experts << " experts.\n\n### Window\n\n";
    const WindowLayout window = window_layout(limits);
    write_regions<WindowRegion>(out, window.regions, window.total_bytes);
    out << "\n### Workspace\n\n";
    const WorkspaceLayout workspace = workspace_layout(limits);
    write_regions<WorkspaceRegion>(out, workspace.regions, workspace.total_bytes);
}

inline const char* word_meaning(WqeWord word) {
    switch (word) {
        case WqeWord::kControl:
            return "place order 17:16, completion 21, token enable 28, jetty type 30:29, owner 31";
        case WqeWord::kOpcode:
            return "target hint 7:0, opcode 15:8";
        case WqeWord::kTransport:
            return "transport path 23:0, number of scatter elements 31:24";
        case WqeWord::kSegment:
            return "remote segment 19:0";
        case WqeWord::kRemoteEid:
            return "remote endpoint id, four words";
        case WqeWord::kRemoteToken:
            return "remote token";
        case WqeWord::kUdf:
            return "0";
        case WqeWord::kRemoteLow:
            return "remote address, low word";
        case WqeWord::kRemoteHigh:
            return "remote address, high word";
        case WqeWord::kLength:
            return "bytes";
        case WqeWord::kLocalToken:
            return "local token";
        case WqeWord::kLocalLow:
            return "local address, low word";
        case WqeWord::kLocalHigh:
            return "local address, high word";
    }
    return nullptr;
}

inline void write_queue_words(std::ostream& out) {
    out << "\n## Queue elements\n\n### WQE of a WRITE, " << kWqeBytes
        << " B\n\n| word | contents (bits) |\n|---:|---|\n";
    for (uint32_t word = 0; word < kWqeWords; ++word) {
        const char* meaning = word_meaning(static_cast<WqeWord>(word));
        if (meaning != nullptr) out << "| " << word << " | " << meaning << " |\n";
    }
    out << "\nOwner is 1 on the first pass of the ring and inverts on each.\n\n### CQE, " << kCqeBytes
        << " B\n\nWord 0: owner " << kCqeOwnerBit << ", opcode " << kCqeOpcodeShift + 2 << ":" << kCqeOpcodeShift
        << ", substatus " << kCqeSubstatusShift + 7 << ":" << kCqeSubstatusShift << ", status " << kCqeStatusShift + 7
        << ":" << kCqeStatusShift << ". Word 1: entry index 15:0.\n"
        << "An element is new when its owner differs from the parity of the consumer's pass of the ring.\n";
}

inline std::string layout_doc() {
    std::ostringstream out;
    out << "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        << "<!-- Made by tools/gen_layout_doc/generate.sh from op_kernel/contract. Do not edit. -->\n"
        << "# Layout\n\nLayout ABI " << kLayoutAbi << ". All numbers are little endian.\n";
    write_limits(out);
    write_blocks(out);
    write_tokens(out);
    write_structure(out, token_header());
    write_structure(out, token_entry());
    write_window(out);
    write_queue_words(out);
    out << "\n## Structures\n";
    for (const Structure& s :
         {control_header(), call_signature(), refusal(), error_record(), control_page(), operation_state(),
          operation_outcome(), core_cell(), queue_context(), assist_trailer(), row_chain()}) {
        write_structure(out, s);
    }
    return out.str();
}

}  // namespace ascend_deepep::layout_doc

#endif  // ASCEND_DEEPEP_TOOLS_GEN_LAYOUT_DOC_LAYOUT_DOC_H
