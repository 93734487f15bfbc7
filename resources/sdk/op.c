/* The op Softclip: Y = limit * tanh(X / limit), a plug-in of Tensor Workbench. */
#include "twb_op.h"

#include <math.h>

static int infer(const twb_call* call, twb_type* outputs) {
    outputs[0] = call->inputs[0];
    return 0;
}

static int64_t elements(const twb_type* type) {
    int64_t count = 1;
    for (int32_t axis = 0; axis < type->rank; ++axis) count *= type->shape[axis];
    return count;
}

static int cpu(const twb_call* call, const twb_tensor* inputs, const twb_tensor* outputs) {
    const float limit = (float)call->number(call, "limit");
    const float* x = inputs[0].data;
    float* y = outputs[0].data;
    const int64_t count = elements(&inputs[0].type);
    for (int64_t i = 0; i < count; ++i) y[i] = limit * tanhf(x[i] / limit);
    return 0;
}

static void cost(const twb_call* call, const twb_type* outputs, double* flops, double* bytes) {
    (void)call;
    *flops = 10.0 * (double)elements(outputs);
    *bytes = 8.0 * (double)elements(outputs);
}

#ifdef TWB_WITH_CUDA /* the CUDA kernel, in a file of its own that nvcc compiles */
int softclip_cuda(const twb_call* call, const twb_tensor* inputs, const twb_tensor* outputs, void* stream);
#else
#define softclip_cuda NULL
#endif

/* dX = dY * (1 - (Y / limit)^2) */
static void gradient(twb_gradient* g) {
    const uint32_t y = g->output(g, 0), limit = g->constant(g, y, g->call->number(g->call, "limit"));
    const uint32_t ratio = g->add(g, "Div", (uint32_t[]){y, limit}, 2);
    const uint32_t square = g->add(g, "Mul", (uint32_t[]){ratio, ratio}, 2);
    const uint32_t slope = g->add(g, "Sub", (uint32_t[]){g->constant(g, y, 1), square}, 2);
    g->give(g, 0, g->add(g, "Mul", (uint32_t[]){g->output_gradient(g, 0), slope}, 2));
}

static const twb_port kInputs[] = {{"X", TWB_TYPES_F32, 0, "T"}};
static const twb_port kOutputs[] = {{"Y", TWB_TYPES_F32, 0, "T"}};
static const twb_attribute kAttributes[] = {
    {"limit", "Largest absolute value of the result", TWB_NUMBER, 1, 1.0, 0, NULL, 1e-6, 1e6}};

static const twb_op kOps[] = {{.name = "Softclip", .doc = "Limits each element smoothly", .formula = "Y = l · tanh(X / l)",
                               .inputs = kInputs, .outputs = kOutputs, .attributes = kAttributes,
                               .input_count = 1, .output_count = 1, .attribute_count = 1,
                               .infer = infer, .cpu = cpu, .cost = cost, .gradient = gradient, .cuda = softclip_cuda}};

const twb_plugin* twb_plugin_entry(void) {
    static const twb_plugin plugin = {TWB_OP_API, sizeof(twb_op), "softclip", "1.0", "https://example.org/softclip", kOps, 1, 0};
    return &plugin;
}
