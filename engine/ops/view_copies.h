#pragma once

#include "backends/kernel.h"

#include <functional>

namespace twb {

/// Copies between views of one dtype and shape: copyElements on the host, a launch on a GPU.
using CopyViews = std::function<void(const TensorView& from, const TensorView& to)>;

// The ops that only copy views, written for either kind of copy.

void reshapeViews(const KernelContext& ctx, const CopyViews& copy);
void transposeViews(const KernelContext& ctx, const CopyViews& copy);
void concatViews(const KernelContext& ctx, const CopyViews& copy);
void expandViews(const KernelContext& ctx, const CopyViews& copy);
void tileViews(const KernelContext& ctx, const CopyViews& copy);
void sliceViews(const KernelContext& ctx, const CopyViews& copy);
void splitViews(const KernelContext& ctx, const CopyViews& copy);
void depthToSpaceViews(const KernelContext& ctx, const CopyViews& copy);
void spaceToDepthViews(const KernelContext& ctx, const CopyViews& copy);

} // namespace twb
