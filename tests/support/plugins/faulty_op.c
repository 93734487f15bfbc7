/* A plug-in with one fault, which a definition selects. Without a fault, its op Twice doubles its input. */
#include "twb_op.h"

#include <stdlib.h>

static int infer(const twb_call* call, twb_type* outputs) {
    outputs[0] = call->inputs[0];
#ifdef FAULT_SHAPE
    if (outputs[0].rank > 0) outputs[0].shape[0] = -7;
#endif
#ifdef FAULT_DTYPE
    outputs[0].dtype = TWB_F64;
#endif
    return 0;
}

static int cpu(const twb_call* call, const twb_tensor* inputs, const twb_tensor* outputs) {
    const float* x = inputs[0].data;
    float* y = outputs[0].data;
    int64_t count = 1;
    (void)call;
    for (int32_t axis = 0; axis < inputs[0].type.rank; ++axis) count *= inputs[0].type.shape[axis];
#ifdef FAULT_CRASH
    if (count == 7) *(volatile int*)16 = 1;
#endif
#ifdef FAULT_OUTSIDE
    y[count] = 0;
#endif
#ifdef FAULT_UNWRITTEN
    if (count > 1) --count;
#endif
#ifdef FAULT_INPUT
    if (count) ((float*)inputs[0].data)[0] = 0;
#endif
#ifdef FAULT_EXITS
    exit(0);
#endif
    for (int64_t i = 0; i < count; ++i) y[i] = 2 * x[i];
    return 0;
}

static const twb_port kInputs[] = {{"X", TWB_TYPES_F32, 0, 0}};
static const twb_port kOutputs[] = {{"Y", TWB_TYPES_F32, 0, 0}};
#ifdef FAULT_NAME
#define NAME "Relu"
#else
#define NAME "Twice"
#endif
static const twb_op kOps[] = {{.name = NAME, .doc = "Doubles", .inputs = kInputs, .outputs = kOutputs,
                               .input_count = 1, .output_count = 1, .infer = infer, .cpu = cpu}};

const twb_plugin* twb_plugin_entry(void) {
    static const twb_plugin plugin = {
#ifdef FAULT_VERSION
        TWB_OP_API + 1,
#else
        TWB_OP_API,
#endif
        sizeof(twb_op), "faulty", "1.0", "https://example.org/faulty", kOps, 1, 0};
    return &plugin;
}
