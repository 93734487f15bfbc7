/* With resources/sdk/op.c, a plug-in whose CUDA kernel is a function of the host: it puts its work on a stream by the
 * function that the test gives. */
#include "twb_op.h"

#include <math.h>
#include <stdlib.h>

typedef void (*enqueue_function)(void* stream, void (*work)(void*), void* data);

static enqueue_function g_enqueue;
static int g_calls, g_misaligned;

TWB_EXPORT void twb_test_set_enqueue(enqueue_function enqueue) { g_enqueue = enqueue; }
TWB_EXPORT int twb_test_calls(void) { return g_calls; }
/* Calls with a tensor that is not aligned to 64 bytes, or that has no memory. */
TWB_EXPORT int twb_test_misaligned(void) { return g_misaligned; }

struct work {
    const float* x;
    float* y;
    int64_t count;
    float limit;
};

static void run(void* data) {
    struct work* work = data;
    for (int64_t i = 0; i < work->count; ++i) work->y[i] = work->limit * tanhf(work->x[i] / work->limit);
    free(work);
}

int softclip_cuda(const twb_call* call, const twb_tensor* inputs, const twb_tensor* outputs, void* stream) {
    struct work* work = malloc(sizeof *work);
    ++g_calls;
    for (int i = 0; i < 2; ++i) {
        const void* data = (i ? outputs : inputs)[0].data;
        if (!data || (uintptr_t)data % 64) ++g_misaligned;
    }
    work->x = inputs[0].data;
    work->y = outputs[0].data;
    work->limit = (float)call->number(call, "limit");
    work->count = 1;
    for (int32_t axis = 0; axis < inputs[0].type.rank; ++axis) work->count *= inputs[0].type.shape[axis];
    if (work->limit == 77) {
        free(work);
        return call->fail(call, -1, "no kernel image is available for execution on the device");
    }
    g_enqueue(stream, run, work);
    return 0;
}
