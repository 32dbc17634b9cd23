/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/live/live.h"

#define CT_COLLECTOR(name) extern const CtCollector ct_collector_##name;
#include "collect/live/collectors.def"
#undef CT_COLLECTOR

static const CtCollector *const collectors[] = {
#define CT_COLLECTOR(name) &ct_collector_##name,
#include "collect/live/collectors.def"
#undef CT_COLLECTOR
    NULL,
};

const CtCollector *const *ct_collectors(void)
{
    return collectors;
}
