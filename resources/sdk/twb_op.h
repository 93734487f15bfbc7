/* Ops of Tensor Workbench in a shared library, in C or C++.
 *
 * A plug-in exports one function, twb_plugin_entry(), which returns its ops. It is compiled against this header alone
 * and stays usable with later versions of the program: structs grow only at their end, and each table that a plug-in
 * returns states the size of its entries.
 *
 * `twb new-op NAME` writes a plug-in to start from. The program loads the libraries in
 * ~/.local/share/tensor-workbench/ops and those that TWB_OPS names. Before it loads one for the first time, it runs
 * each kernel in a process of its own, with guard pages and canaries around its tensors.
 *
 * No function of a plug-in may throw a C++ exception into the program. Kernels may be called from several threads.
 *
 * A kernel for NVIDIA GPUs is optional: without one, the op runs on the CPU and on simulated GPUs only. Link the CUDA
 * runtime statically, so that the plug-in loads on machines without CUDA (`twb new-op --cuda` does).
 */
#ifndef TWB_OP_H
#define TWB_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A program refuses a plug-in of another version. */
#define TWB_OP_API 1

#define TWB_MAX_RANK 16

/* Element types. The values never change. */
enum {
    TWB_F32 = 0, TWB_F64, TWB_F16, TWB_BF16, TWB_I8, TWB_I16, TWB_I32, TWB_I64,
    TWB_U8, TWB_U16, TWB_U32, TWB_U64, TWB_BOOL
};
/* Sets of element types: bits 1 << TWB_F32 and so on. */
#define TWB_TYPES_F32 (1u << TWB_F32)
#define TWB_TYPES_FLOAT (1u << TWB_F32 | 1u << TWB_F64)
#define TWB_TYPES_ANY 0x1fffu

/* A size that is known only at run time. Only infer() sees it. */
#define TWB_UNKNOWN_SIZE (-1)

typedef struct {
    int32_t dtype;
    int32_t rank; /* 0: a scalar */
    int64_t shape[TWB_MAX_RANK];
} twb_type;

/* Row-major and without gaps. `data` is aligned to 64 bytes; it is not null, even without elements. */
typedef struct {
    twb_type type;
    void* data;
} twb_tensor;

/* One call of an op. */
typedef struct twb_call twb_call;
struct twb_call {
    uint32_t size; /* of this struct in the program */
    uint32_t input_count;
    uint32_t output_count;
    uint32_t reserved;
    const twb_type* inputs;
    /* Attributes of the node, with defaults. The name must be one of the op's. */
    double (*number)(const twb_call*, const char* name);
    int64_t (*integer)(const twb_call*, const char* name); /* of a flag: 0 or 1 */
    const char* (*text)(const twb_call*, const char* name);
    size_t (*integers)(const twb_call*, const char* name, const int64_t** values);
    /* Reports an error: the sentence is shown at the node. `input` is the port concerned, -1 for the whole node.
     * Returns 1, for `return call->fail(call, 0, "…");`. */
    int (*fail)(const twb_call*, int input, const char* sentence);
};

/* The backward pass of one node. Numbers above 0 stand for tensors of the graph, 0 for none. */
typedef struct twb_gradient twb_gradient;
struct twb_gradient {
    uint32_t size;
    uint32_t input_count;
    const twb_call* call;
    uint32_t (*input)(twb_gradient*, uint32_t port);
    uint32_t (*output)(twb_gradient*, uint32_t port);
    uint32_t (*output_gradient)(twb_gradient*, uint32_t port);
    int (*is_wanted)(twb_gradient*, uint32_t input);
    /* Adds a node of any op, which must have no required attributes; returns its first output. */
    uint32_t (*add)(twb_gradient*, const char* op, const uint32_t* inputs, uint32_t count);
    uint32_t (*constant)(twb_gradient*, uint32_t like, double value); /* a scalar of the dtype of `like` */
    void (*give)(twb_gradient*, uint32_t input, uint32_t gradient);
};

enum { TWB_PORT_OPTIONAL = 1 };

typedef struct {
    const char* name; /* "X" */
    uint32_t types;   /* the accepted element types */
    uint32_t flags;
    const char* same; /* ports with an equal name here have equal element types: "T"; may be null */
} twb_port;

enum { TWB_NUMBER = 0, TWB_INTEGER, TWB_FLAG, TWB_TEXT, TWB_INTEGERS };

typedef struct {
    const char* name;
    const char* doc;
    int32_t kind;
    int32_t has_limits; /* `minimum` and `maximum` count */
    double number;      /* default of TWB_NUMBER */
    int64_t integer;    /* default of TWB_INTEGER and TWB_FLAG */
    const char* text;   /* default of TWB_TEXT; null: empty */
    double minimum, maximum;
} twb_attribute;

typedef struct {
    const char* name; /* begins with a capital letter; must differ from the program's own ops */
    const char* doc;  /* one line */
    const char* formula; /* may be null */
    const twb_port* inputs;
    const twb_port* outputs;
    const twb_attribute* attributes;
    uint32_t input_count, output_count, attribute_count;
    uint32_t reserved;
    /* Sets the types of all outputs from those of the inputs; 0 if well. Sizes may be unknown. */
    int (*infer)(const twb_call*, twb_type* outputs);
    /* Writes all elements of all outputs, and nothing else; 0 if well. */
    int (*cpu)(const twb_call*, const twb_tensor* inputs, const twb_tensor* outputs);
    /* The work of one call. Null: one FLOP per element of the outputs, and the bytes of all tensors. */
    void (*cost)(const twb_call*, const twb_type* outputs, double* flops, double* bytes);
    /* Adds the ops of the vector-Jacobian product. Null: the op has no gradient. */
    void (*gradient)(twb_gradient*);
    /* Like cpu(), for one NVIDIA GPU, which is the current device of the thread. The tensors are in its memory. Submits
     * its work to `stream`, a cudaStream_t, and returns without waiting for it. It may use neither other streams nor
     * memory that does not live until the work is done; the arguments live until it returns. The launches may be captured
     * as a CUDA graph and repeated with the same attributes. Null: no kernel. A plug-in that was built before
     * this field existed has none. */
    int (*cuda)(const twb_call*, const twb_tensor* inputs, const twb_tensor* outputs, void* stream);
} twb_op;

typedef struct {
    uint32_t api;         /* TWB_OP_API */
    uint32_t op_size;     /* sizeof(twb_op) */
    const char* name;     /* of the plug-in: the section in the palette */
    const char* version;  /* "1.2" */
    const char* homepage; /* where to get it; may be null */
    const twb_op* ops;
    uint32_t op_count;
    uint32_t reserved;
} twb_plugin;

#if defined(_WIN32)
#define TWB_EXPORT __declspec(dllexport)
#else
#define TWB_EXPORT __attribute__((visibility("default")))
#endif

/* The plug-in's only exported function. The result lives as long as the library. */
TWB_EXPORT const twb_plugin* twb_plugin_entry(void);
typedef const twb_plugin* (*twb_plugin_entry_function)(void);

#ifdef __cplusplus
}
#endif

#endif
