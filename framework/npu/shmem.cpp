// SPDX-License-Identifier: Apache-2.0
//
// The table from libshmem.so. Layer: framework, devices.
#include "framework/npu/shmem.h"

namespace ascend_deepep::npu {
namespace {

Shmem load_shmem() {
    Library library("libshmem.so",
                    "install aclshmem (cann-shmem) for Ascend 950 with UDMA and put it on LD_LIBRARY_PATH");
    Shmem shmem{};
    library.find("aclshmemx_init_status", &shmem.init_status);
    library.find("aclshmemx_get_uniqueid", &shmem.get_unique_id);
    library.find("aclshmemx_set_attr_uniqueid_args", &shmem.set_unique_id);
    library.find("aclshmemx_set_conf_store_tls", &shmem.set_tls);
    library.find("aclshmemx_init_attr", &shmem.init);
    library.find("aclshmem_finalize", &shmem.finalize);
    library.find("aclshmem_malloc", &shmem.malloc);
    library.find("aclshmem_free", &shmem.free);
    library.find("aclshmem_ptr", &shmem.address_of);
    library.require_all();
    return shmem;
}

const char* code_text(int code) {
    switch (code) {
        case -1:
            return "bad parameter";
        case -2:
            return "value out of range";
        case -3:
            return "shared memory";
        case -4:
            return "internal";
        case -5:
            return "not initialised";
        case -6:
            return "bootstrap: look at SHMEM_UID_SOCK_IFNAME and the network between the ranks";
        case -7:
        case -10:
            return "time-out: a rank did not come";
        case -8:
            return "out of memory";
        case -9:
        case -11:
            return "a library it needs is missing";
        case -100:
            return "not supported by this build";
        default:
            return "unknown";
    }
}

}  // namespace

const Shmem& shmem_library() {
    static const Shmem shmem = load_shmem();
    return shmem;
}

void require_shmem(int code, const char* function) {
    if (code == 0) return;
    throw DeviceError(std::string(function) + " failed with code " + std::to_string(code) + " (" + code_text(code) +
                      "); SHMEM_LOG_LEVEL and SHMEM_LOG_TO_STDOUT show more");
}

}  // namespace ascend_deepep::npu
