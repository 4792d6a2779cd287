// SPDX-License-Identifier: Apache-2.0
//
// Functions of a vendor's library, found at run time. Layer: framework, devices.
// Nothing of CANN is needed to build, and what is missing is said in one line with its remedy.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_LIBRARY_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_LIBRARY_H

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ascend_deepep::npu {

// What goes wrong with a device or its libraries: the text of a FabricError.
struct DeviceError : std::runtime_error {
    explicit DeviceError(const std::string& text, int error_code = kNoDeviceCode)
        : std::runtime_error(text), code(error_code) {}

    static constexpr int kNoDeviceCode = -1;  // the error is ours, not the runtime's
    int code;
};

class Library {
  public:
    // `advice` says what brings the library. Throws DeviceError.
    Library(const char* file, std::string advice);

    // The function `name`; missing ones are collected and named together by require_all().
    template <typename Function>
    void find(const char* name, Function** function) {
        *function = reinterpret_cast<Function*>(symbol(name));
    }
    void require_all() const;

  private:
    void* symbol(const char* name);

    std::string file_;
    std::string advice_;
    void* handle_;
    std::vector<std::string> missing_;
};

// Functions with the same calling convention: equal but for enumerations, which are passed as the integers they are.
// The tables of this directory spell enumerations as uint32_t or int32_t, so that they need no vendor header.
template <typename T, bool kIsEnum = std::is_enum_v<T>>
struct PassedAs {
    using Type = T;
};
template <typename T>
struct PassedAs<T, true> {
    using Type = std::underlying_type_t<T>;
};
template <typename T, bool kIsEnum>
struct PassedAs<T*, kIsEnum> {
    using Type = typename PassedAs<T>::Type*;
};
template <typename Function>
struct Signature;
template <typename Result, typename... Arguments>
struct Signature<Result(Arguments...)> {
    using Type = typename PassedAs<Result>::Type(typename PassedAs<Arguments>::Type...);
};
template <typename Ours, typename Theirs>
constexpr bool kSameCall = std::is_same_v<typename Signature<std::remove_pointer_t<Ours>>::Type,
                                          typename Signature<std::remove_pointer_t<Theirs>>::Type>;

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_LIBRARY_H
