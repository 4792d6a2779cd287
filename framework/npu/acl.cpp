// SPDX-License-Identifier: Apache-2.0
//
// The table from libascendcl.so. Layer: framework, devices.
#include "framework/npu/acl.h"

namespace ascend_deepep::npu {
namespace {

Acl load_acl() {
    Library library("libascendcl.so", "install CANN 9.0 or newer and source its set_env.sh");
    Acl acl{};
    library.find("aclrtMalloc", &acl.malloc);
    library.find("aclrtFree", &acl.free);
    library.find("aclrtMallocHost", &acl.malloc_host);
    library.find("aclrtFreeHost", &acl.free_host);
    library.find("aclrtMemcpy", &acl.memcpy);
    library.find("aclrtMemcpyAsync", &acl.memcpy_async);
    library.find("aclrtMemset", &acl.memset);
    library.find("aclrtCreateEventExWithFlag", &acl.create_event);
    library.find("aclrtDestroyEvent", &acl.destroy_event);
    library.find("aclrtRecordEvent", &acl.record_event);
    library.find("aclrtQueryEventStatus", &acl.query_event);
    library.find("aclrtStreamWaitEvent", &acl.stream_wait_event);
    library.find("aclrtCreateStream", &acl.create_stream);
    library.find("aclrtDestroyStreamForce", &acl.destroy_stream);
    library.find("aclrtSynchronizeStreamWithTimeout", &acl.synchronize_stream);
    library.find("aclrtGetDevice", &acl.get_device);
    library.find("aclrtSetDevice", &acl.set_device);
    library.find("aclrtGetDeviceInfo", &acl.get_device_info);
    library.find("aclmdlRICaptureGetInfo", &acl.capture_info);
    library.find("aclmdlRICaptureThreadExchangeMode", &acl.exchange_capture_mode);
    library.find("aclGetRecentErrMsg", &acl.recent_error);
    library.require_all();
    return acl;
}

}  // namespace

const Acl& acl_runtime() {
    static const Acl acl = load_acl();
    return acl;
}

void require_acl(const Acl& acl, int code, const char* function) {
    if (code == kAclSuccess) return;
    const char* detail = acl.recent_error();
    std::string text = std::string(function) + " failed with ACL error " + std::to_string(code);
    if (detail != nullptr && *detail != '\0') text += ": " + std::string(detail);
    throw DeviceError(text, code);
}

RelaxedCapture::RelaxedCapture(const Acl& acl, bool is_capturing) : acl_(acl), is_capturing_(is_capturing) {
    if (is_capturing_) require_acl(acl_, acl_.exchange_capture_mode(&mode_), "aclmdlRICaptureThreadExchangeMode");
}

RelaxedCapture::~RelaxedCapture() {
    if (is_capturing_) acl_.exchange_capture_mode(&mode_);  // the mode it gave is legal, and a destructor tells nobody
}

}  // namespace ascend_deepep::npu
