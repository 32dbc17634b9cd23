/* SPDX-License-Identifier: Apache-2.0 */
/* All tensors of a reference and of a test, paired and compared in the order of the reference. */
#pragma once

#include "tensor/compare.h"
#include "tensor/reader.h"

/* Why a tensor differs; ids in ct_fault_id. */
typedef enum {
    CT_FAULT_NONE,
    CT_FAULT_OVERFLOW,
    CT_FAULT_UNDERFLOW,
    CT_FAULT_ABSORPTION,
    CT_FAULT_SATURATION,
    CT_FAULT_COARSE_SCALE,
    CT_FAULT_CANCELLATION,
    CT_FAULT_SOFTMAX_NORM,
    CT_FAULT_MASK,
    CT_FAULT_EPS,
    CT_FAULT_LAYOUT,
    CT_FAULT_CHANNELS,
    CT_FAULT_SCALE,
    CT_FAULT_SHIFT,
    CT_FAULT_PERMUTED,
    CT_FAULT_UNDEFINED,
    CT_FAULT_NAN_INPUT,
    CT_FAULT_NAN_WEIGHT,
    CT_FAULT_CONSTANT,
    CT_FAULT_TYPE, /* small and everywhere: the precision of the type */
    CT_FAULT_TF32, /* ten bits where FP32 has 23 */
    CT_FAULT_RACE,
    CT_FAULT_UNKNOWN,
    CT_N_FAULTS,
} CtFault;

typedef struct {
    CtFault fault;
    char *text;    /* a sentence with the figures (nullable) */
    char *text_zh; /* the same in Chinese */
    double share; /* of the elements concerned, 0..1 */
    double value; /* the figure that matters: largest |ref|, factor, shift ... */
} CtWhy;

const char *ct_fault_id(CtFault fault);    /* "overflow" */
/* The sentence stands in both languages side by side; both take the same arguments in the same
 * order, and the compiler checks both. */
void ct_why_set(CtWhy *out, CtFault fault, double share, double value, const char *en,
                const char *zh, ...) G_GNUC_PRINTF(5, 7) __attribute__((format(printf, 6, 7)));

typedef struct {
    char *name, *shape, *types;     /* "fp32/fp16" */
    const CtTensorItem *ref, *test; /* borrowed; NULL when missing */
    gboolean compared, reduced; /* reduced: the test's numbers are all of a 16-bit type or less */
    CtDtype effective;          /* type that the test's numbers fit into */
    gboolean untold;            /* they do not tell; `effective` is a guess */
    char *problem;              /* why it was not compared */
    char *near;                 /* missing in the test, which has this name (nullable) */
    CtComparison c;
    char *first_at, *worst_at;         /* places, nullable */
    char *op;                          /* from a graph (nullable) */
    char *node;                        /* name of the node or layer that writes it (nullable) */
    GArray *inputs;                    /* guint: steps whose outputs go in; with a graph */
    gboolean graph_input, weights_bad; /* a weight of the operation is not finite */
    gboolean bad, loss;                /* set by ct_locate */
    double input_error;
    CtWhy why;
} CtStep;

typedef struct {
    GPtrArray *steps; /* CtStep */
    GPtrArray *notes, *notes_zh; /* char *: the same in both languages */
    GPtrArray *extra; /* char *: names only in the test */
    guint n_compared, n_failed;
    gint first_bad;     /* index of a step, -1 without */
    gboolean graph;     /* inputs are known */
    gboolean layers;    /* from layer information: `node` is a layer of the engine */
    gboolean unordered; /* the order of the steps is only that of their names */
} CtSteps;

typedef struct {
    CtCompareOptions compare;
    GHashTable *map; /* reference name -> test name (nullable) */
    gboolean by_order;
    const char *ref_layout, *test_layout; /* nullable */
} CtStepOptions;

CtSteps *ct_steps_compare(const CtTensorSet *ref, const CtTensorSet *test, const CtStepOptions *o);
void ct_steps_note(CtSteps *s, const char *en, const char *zh, ...) G_GNUC_PRINTF(2, 4)
    __attribute__((format(printf, 3, 4)));
void ct_steps_free(CtSteps *s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtSteps, ct_steps_free)
/* The smallest type that holds all (of up to 4096) numbers, since dumps are often widened to fp32;
 * CT_N_DTYPES when they do not tell (all zero, whole numbers, not finite). */
CtDtype ct_effective_dtype(const CtTensor *t);
/* A name without case, separators and the endings that dumps add. */
char *ct_plain_name(const char *name);
/* Both tensors of a step, as compared. */
gboolean ct_step_load(const CtStep *step, const CtStepOptions *o, CtTensor **ref, CtTensor **test,
                      GError **error);

/* Puts the steps into the order of an ONNX graph or of layer information, and notes operations,
 * inputs and weights. */
gboolean ct_steps_use_graph(CtSteps *s, const char *path, GError **error);
/* The same for a set that is not paired. */
gboolean ct_tensor_set_order(CtTensorSet *set, const char *path, GError **error);
/* Finds the first tensor that goes wrong although its inputs are good, and why. */
void ct_locate(CtSteps *s, const CtStepOptions *o);
/* Without a reference: each step has only `test`. */
CtSteps *ct_steps_scan(const CtTensorSet *test);
