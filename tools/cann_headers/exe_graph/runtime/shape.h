// SPDX-License-Identifier: Apache-2.0
//
// Stand-in (tools/cann_headers/README.md): shapes.
#ifndef ASCEND_DEEPEP_CANN_HEADERS_SHAPE_H
#define ASCEND_DEEPEP_CANN_HEADERS_SHAPE_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace gert {

class Shape {
  public:
    Shape() = default;
    Shape(const std::initializer_list<int64_t>& sizes) : sizes_(sizes) {}

    size_t GetDimNum() const { return sizes_.size(); }
    int64_t GetDim(size_t axis) const { return axis < sizes_.size() ? sizes_[axis] : 0; }
    int64_t GetShapeSize() const {
        int64_t elements = 1;
        for (const int64_t size : sizes_)
            elements *= size;
        return elements;
    }
    void SetDimNum(size_t count) { sizes_.resize(count); }
    Shape& AppendDim(int64_t size) {
        sizes_.push_back(size);
        return *this;
    }
    bool operator==(const Shape& other) const { return sizes_ == other.sizes_; }

  private:
    std::vector<int64_t> sizes_;
};

// As the operator was given it, and as the memory holds it: the same for format ND.
struct StorageShape {
    const Shape& GetOriginShape() const { return shape; }
    const Shape& GetStorageShape() const { return shape; }

    Shape shape;
};

}  // namespace gert

#endif  // ASCEND_DEEPEP_CANN_HEADERS_SHAPE_H
