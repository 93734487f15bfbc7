/* A plug-in that was built with the first header of the interface, whose twb_op ends before `cuda`. Its ops lie
 * side by side, so a program that reads that field finds the name of the next op. */
#include "twb_op.h"

#include <math.h>
#include <string.h>

static int infer(const twb_call* call, twb_type* outputs) {
    outputs[0] = call->inputs[0];
    return 0;
}

static int cpu(const twb_call* call, const twb_tensor* inputs, const twb_tensor* outputs) {
    const float limit = (float)call->number(call, "limit");
    const float* x = inputs[0].data;
    float* y = outputs[0].data;
    int64_t count = 1;
    for (int32_t axis = 0; axis < inputs[0].type.rank; ++axis) count *= inputs[0].type.shape[axis];
    for (int64_t i = 0; i < count; ++i) y[i] = limit * tanhf(x[i] / limit);
    return 0;
}

static const twb_port kInputs[] = {{"X", TWB_TYPES_F32, 0, "T"}};
static const twb_port kOutputs[] = {{"Y", TWB_TYPES_F32, 0, "T"}};
static const twb_attribute kAttributes[] = {{"limit", "Largest value", TWB_NUMBER, 0, 1.0, 0, NULL, 0, 0}};

static const twb_op kOps[] = {{.name = "SoftclipA", .doc = "Limits", .inputs = kInputs, .outputs = kOutputs,
                               .attributes = kAttributes, .input_count = 1, .output_count = 1, .attribute_count = 1,
                               .infer = infer, .cpu = cpu},
                              {.name = "SoftclipB", .doc = "Limits", .inputs = kInputs, .outputs = kOutputs,
                               .attributes = kAttributes, .input_count = 1, .output_count = 1, .attribute_count = 1,
                               .infer = infer, .cpu = cpu}};

enum { kOldSize = offsetof(twb_op, cuda) };

const twb_plugin* twb_plugin_entry(void) {
    static _Alignas(8) char ops[2 * kOldSize];
    static const twb_plugin plugin = {TWB_OP_API, kOldSize, "older", "1.0", NULL, (const twb_op*)ops, 2, 0};
    for (int i = 0; i < 2; ++i) memcpy(ops + i * kOldSize, &kOps[i], kOldSize);
    return &plugin;
}
