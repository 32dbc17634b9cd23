/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that nvidia-smi gives to things, in its three dialects (text tree, XML, query
 * properties), mapped to the keys of the vocabulary. Drivers rename (throttle -> event reasons,
 * power readings, 610's KMD version), so several names lead to one key.
 */
#include "parse/gpu/gpu-parsers.h"

#include <string.h>

typedef struct {
    const char *from, *to;
} Pair;

/* Paths in slugs, text form and XML form. A `*` in front: the last piece alone says enough, for
 * output that went through grep. */
static const Pair paths[] = {
    {"product-name", "gpu.name"},
    {"product-brand", "gpu.brand"},
    {"product-architecture", "gpu.architecture"},
    {"persistence-mode", "gpu.persistence"},
    {"addressing-mode", "gpu.addressing-mode"},
    {"mig-mode/current", "gpu.mig.mode"},
    {"mig-mode/pending", "gpu.mig.mode.pending"},
    {"mig-mode/current-mig", "gpu.mig.mode"},
    {"mig-mode/pending-mig", "gpu.mig.mode.pending"},
    {"driver-model/current", "gpu.driver-model"},
    {"driver-model/current-dm", "gpu.driver-model"},
    {"gpu-uuid", "gpu.uuid"},
    {"uuid", "gpu.uuid"},
    {"minor-number", "gpu.minor"},
    {"vbios-version", "gpu.vbios"},
    {"gsp-firmware-version", "gpu.gsp-firmware"},
    {"gpu-recovery-action", "*gpu.recovery-action"},
    {"gpu-virtualization-mode/virtualization-mode", "gpu.virtualization"},
    {"gpu-reset-status/reset-required", "*gpu.reset.required"},
    {"gpu-reset-status/drain-and-reset-recommended", "*gpu.reset.drain-recommended"},
    {"pci/bus-id", "gpu.pci"},
    {"pci/pci-bus-id", "gpu.pci"},
    {"pci/gpu-link-info/pcie-generation/max", "gpu.pcie.link.gen.max"},
    {"pci/gpu-link-info/pcie-generation/current", "gpu.pcie.link.gen.current"},
    {"pci/gpu-link-info/pcie-generation/device-max", "gpu.pcie.link.gen.device-max"},
    {"pci/gpu-link-info/pcie-generation/host-max", "gpu.pcie.link.gen.host-max"},
    {"pci/gpu-link-info/link-width/max", "gpu.pcie.link.width.max"},
    {"pci/gpu-link-info/link-width/current", "gpu.pcie.link.width.current"},
    {"pci/pci-gpu-link-info/pcie-gen/max-link-gen", "gpu.pcie.link.gen.max"},
    {"pci/pci-gpu-link-info/pcie-gen/current-link-gen", "gpu.pcie.link.gen.current"},
    {"pci/pci-gpu-link-info/pcie-gen/max-device-link-gen", "gpu.pcie.link.gen.device-max"},
    {"pci/pci-gpu-link-info/pcie-gen/max-host-link-gen", "gpu.pcie.link.gen.host-max"},
    {"pci/pci-gpu-link-info/link-widths/max-link-width", "gpu.pcie.link.width.max"},
    {"pci/pci-gpu-link-info/link-widths/current-link-width", "gpu.pcie.link.width.current"},
    {"pci/replays-since-reset", "*gpu.pcie.replays"},
    {"pci/replay-counter", "gpu.pcie.replays"},
    {"pci/replay-number-rollovers", "gpu.pcie.replay-rollovers"},
    {"pci/replay-rollover-counter", "gpu.pcie.replay-rollovers"},
    {"pci/tx-throughput", "gpu.pcie.tx"},
    {"pci/rx-throughput", "gpu.pcie.rx"},
    {"pci/tx-util", "gpu.pcie.tx"},
    {"pci/rx-util", "gpu.pcie.rx"},
    {"fan-speed", "gpu.fan"},
    {"performance-state", "gpu.performance-state"},
    {"fb-memory-usage/total", "gpu.memory.total"},
    {"fb-memory-usage/reserved", "gpu.memory.reserved"},
    {"fb-memory-usage/used", "gpu.memory.used"},
    {"fb-memory-usage/free", "gpu.memory.free"},
    {"bar1-memory-usage/total", "gpu.bar1.total"},
    {"bar1-memory-usage/used", "gpu.bar1.used"},
    {"bar1-memory-usage/free", "gpu.bar1.free"},
    {"compute-mode", "gpu.compute-mode"},
    {"utilization/gpu", "gpu.utilization"},
    {"utilization/gpu-util", "gpu.utilization"},
    {"utilization/memory", "gpu.utilization.memory"},
    {"utilization/memory-util", "gpu.utilization.memory"},
    {"utilization/encoder", "gpu.utilization.encoder"},
    {"utilization/encoder-util", "gpu.utilization.encoder"},
    {"utilization/decoder", "gpu.utilization.decoder"},
    {"utilization/decoder-util", "gpu.utilization.decoder"},
    {"ecc-mode/current", "gpu.ecc.mode"},
    {"ecc-mode/pending", "gpu.ecc.mode.pending"},
    {"ecc-mode/current-ecc", "gpu.ecc.mode"},
    {"ecc-mode/pending-ecc", "gpu.ecc.mode.pending"},
    {"retired-pages", "gpu.retired-pages"},
    {"retired-pages/single-bit-ecc", "gpu.retired-pages.single-bit"},
    {"retired-pages/double-bit-ecc", "gpu.retired-pages.double-bit"},
    {"retired-pages/pending-page-blacklist", "*gpu.retired-pages.pending"},
    {"retired-pages/pending", "gpu.retired-pages.pending"},
    {"retired-pages/multiple-single-bit-retirement/retired-count",
     "gpu.retired-pages.single-bit"},
    {"retired-pages/double-bit-retirement/retired-count", "gpu.retired-pages.double-bit"},
    {"retired-pages/pending-retirement", "gpu.retired-pages.pending"},
    {"remapped-rows", "gpu.remap"},
    {"remapped-rows/correctable-error", "gpu.remap.correctable"},
    {"remapped-rows/uncorrectable-error", "gpu.remap.uncorrectable"},
    {"remapped-rows/inactive-correctable-error", "gpu.remap.correctable-inactive"},
    {"remapped-rows/inactive-uncorrectable-error", "gpu.remap.uncorrectable-inactive"},
    {"remapped-rows/pending", "gpu.remap.pending"},
    {"remapped-rows/remapping-failure-occurred", "*gpu.remap.failure"},
    {"remapped-rows/remapped-row-corr", "gpu.remap.correctable"},
    {"remapped-rows/remapped-row-unc", "gpu.remap.uncorrectable"},
    {"remapped-rows/remapped-row-corr-inactive", "gpu.remap.correctable-inactive"},
    {"remapped-rows/remapped-row-unc-inactive", "gpu.remap.uncorrectable-inactive"},
    {"remapped-rows/remapped-row-pending", "gpu.remap.pending"},
    {"remapped-rows/remapped-row-failure", "gpu.remap.failure"},
    {"temperature/gpu-current-temp", "*gpu.temperature"},
    {"temperature/gpu-temp", "gpu.temperature"},
    {"temperature/gpu-t-limit-temp", "gpu.temperature.tlimit"},
    {"temperature/gpu-current-t-limit-temp", "gpu.temperature.tlimit"},
    {"temperature/gpu-temp-tlimit", "gpu.temperature.tlimit"},
    {"temperature/gpu-shutdown-temp", "*gpu.temperature.shutdown"},
    {"temperature/gpu-slowdown-temp", "*gpu.temperature.slowdown"},
    {"temperature/gpu-max-operating-temp", "*gpu.temperature.max-operating"},
    {"temperature/gpu-temp-max-threshold", "gpu.temperature.shutdown"},
    {"temperature/gpu-temp-slow-threshold", "gpu.temperature.slowdown"},
    {"temperature/gpu-temp-max-gpu-threshold", "gpu.temperature.max-operating"},
    {"temperature/gpu-shutdown-t-limit-temp", "gpu.temperature.shutdown-tlimit"},
    {"temperature/gpu-slowdown-t-limit-temp", "gpu.temperature.slowdown-tlimit"},
    {"temperature/gpu-max-operating-t-limit-temp", "gpu.temperature.max-operating-tlimit"},
    {"temperature/gpu-temp-max-tlimit-threshold", "gpu.temperature.shutdown-tlimit"},
    {"temperature/gpu-temp-slow-tlimit-threshold", "gpu.temperature.slowdown-tlimit"},
    {"temperature/gpu-temp-max-gpu-tlimit-threshold", "gpu.temperature.max-operating-tlimit"},
    {"temperature/gpu-target-temperature", "gpu.temperature.target"},
    {"temperature/gpu-target-temperature-specification", "gpu.temperature.target"},
    {"temperature/memory-current-temp", "*gpu.temperature.memory"},
    {"temperature/memory-temp", "gpu.temperature.memory"},
    {"temperature/memory-max-operating-temp", "gpu.temperature.memory-max-operating"},
    {"temperature/gpu-temp-max-mem-threshold", "gpu.temperature.memory-max-operating"},
    {"clocks/graphics", "gpu.clock.graphics"},
    {"clocks/sm", "gpu.clock.sm"},
    {"clocks/memory", "gpu.clock.mem"},
    {"clocks/video", "gpu.clock.video"},
    {"clocks/graphics-clock", "gpu.clock.graphics"},
    {"clocks/sm-clock", "gpu.clock.sm"},
    {"clocks/mem-clock", "gpu.clock.mem"},
    {"clocks/video-clock", "gpu.clock.video"},
    {"max-clocks/graphics", "gpu.clock.graphics.max"},
    {"max-clocks/sm", "gpu.clock.sm.max"},
    {"max-clocks/memory", "gpu.clock.mem.max"},
    {"max-clocks/graphics-clock", "gpu.clock.graphics.max"},
    {"max-clocks/sm-clock", "gpu.clock.sm.max"},
    {"max-clocks/mem-clock", "gpu.clock.mem.max"},
    {"applications-clocks/graphics", "gpu.clock.graphics.application"},
    {"applications-clocks/memory", "gpu.clock.mem.application"},
    {"applications-clocks/graphics-clock", "gpu.clock.graphics.application"},
    {"applications-clocks/mem-clock", "gpu.clock.mem.application"},
    {"fabric/state", "gpu.fabric.state"},
    {"fabric/status", "gpu.fabric.status"},
    {"fabric/cliqueid", "gpu.fabric.clique"},
    {"fabric/health/summary", "gpu.fabric.health"},
    {"fabric/health/bandwidth", "gpu.fabric.health.bandwidth"},
    {"fabric/health/route-unhealthy", "gpu.fabric.health.route-unhealthy"},
    {"fabric/health/incorrect-configuration", "gpu.fabric.health.incorrect-configuration"},
    {"max-clocks/video", "gpu.clock.video.max"},
    {"max-clocks/video-clock", "gpu.clock.video.max"},
    {"fabric/clusteruuid", "gpu.fabric.cluster"},
    {"inforom-version/img-version", "gpu.inforom.image-version"},
    {"inforom-version/pwr-object", "gpu.inforom.power-management-object"},
    {"serial-number", "gpu.serial"},
    {"serial", "gpu.serial"},
    {"gpu-pdi", "gpu.pdi"},
    {"pdi", "gpu.pdi"},
    {"cuda-compute-capability", "gpu.compute-capability"},
    {"board-id", "gpu.board-id"},
    {"multigpu-board", "gpu.multi-gpu-board"},
    {"board-part-number", "gpu.part.board"},
    {"gpu-part-number", "gpu.part.gpu"},
    {"gpu-fru-part-number", "gpu.part.fru"},
    {"fru-part-number", "gpu.part.fru"},
    {"display-mode", "gpu.display.mode"},
    {"display-attached", "gpu.display.attached"},
    {"display-active", "gpu.display.active"},
    {"accounting-mode", "gpu.accounting"},
    {"accounting-mode-buffer-size", "gpu.accounting.size"},
    {"driver-model/pending", "gpu.driver-model.pending"},
    {"driver-model/pending-dm", "gpu.driver-model.pending"},
    {"gpu-operation-mode/current", "gpu.operation-mode"},
    {"gpu-operation-mode/pending", "gpu.operation-mode.pending"},
    {"gpu-operation-mode/current-gom", "gpu.operation-mode"},
    {"gpu-operation-mode/pending-gom", "gpu.operation-mode.pending"},
    {"gpu-c2c-mode", "gpu.c2c"},
    {"c2c-mode", "gpu.c2c"},
    {"gpu-virtualization-mode/host-vgpu-mode", "gpu.virtualization.host"},
    {"gpu-virtualization-mode/vgpu-heterogeneous-mode", "gpu.virtualization.heterogeneous"},
    {"ibmnpu/relaxed-ordering-mode", "gpu.relaxed-ordering"},
    {"pci/bus", "gpu.pci-bus"},
    {"pci/device", "gpu.pci-slot"},
    {"pci/domain", "gpu.pci-domain"},
    {"pci/base-classcode", "gpu.pci-class"},
    {"pci/sub-classcode", "gpu.pci-subclass"},
    {"pci/device-id", "gpu.pci-device"},
    {"pci/pci-device-id", "gpu.pci-device"},
    {"pci/sub-system-id", "gpu.pci-subsystem"},
    {"pci/pci-sub-system-id", "gpu.pci-subsystem"},
    {"pci/gpu-link-info/pcie-generation/device-current", "gpu.pcie.link.gen.device-current"},
    {"pci/pci-gpu-link-info/pcie-gen/device-current-link-gen", "gpu.pcie.link.gen.device-current"},
    {"pci/atomic-caps-outbound", "gpu.pcie.atomics.outbound"},
    {"pci/atomic-caps-inbound", "gpu.pcie.atomics.inbound"},
    {"sparse-operation-mode", "gpu.sparse-operation-mode"},
    {"utilization/jpeg", "gpu.utilization.jpeg"},
    {"utilization/jpeg-util", "gpu.utilization.jpeg"},
    {"utilization/ofa", "gpu.utilization.ofa"},
    {"utilization/ofa-util", "gpu.utilization.ofa"},
    {"dram-encryption-mode/current", "gpu.dram-encryption"},
    {"dram-encryption-mode/pending", "gpu.dram-encryption.pending"},
    {"temperature/memory-max-operating-t-limit-temp", "gpu.temperature.memory-max-operating-tlimit"},
    {"default-applications-clocks/graphics", "gpu.clock.graphics.default"},
    {"default-applications-clocks/memory", "gpu.clock.mem.default"},
    {"deferred-clocks/memory", "gpu.clock.mem.deferred"},
    {"max-customer-boost-clocks/graphics", "gpu.clock.graphics.customer"},
    {"power-smoothing", "gpu.power.smoothing"},
    {"total-energy-consumption", "gpu.energy"},
    {"nvlink", "gpu.nvlink"},
    {"nvlink/active-links", "gpu.nvlink.active"},
    {"nvlink/inactive-links", "gpu.nvlink.inactive"},
    {"nvlink/which-are-inactive", "gpu.nvlink.inactive-list"},
    {"nvlink/slowest-link", "gpu.nvlink.speed"},
    {"nvlink/links-to-switches", "gpu.nvlink.to-switch"},
    {"nvlink/links-to-gpus", "gpu.nvlink.to-gpu"},
    {"nvlink/replay-errors", "gpu.nvlink.errors.replay"},
    {"nvlink/recovery-errors", "gpu.nvlink.errors.recovery"},
    {"nvlink/crc-errors", "gpu.nvlink.errors.crc"},
    {"index", NULL},
};

/* Blocks whose every line is a fact: the rest of the path, with dots, follows the key. */
static const Pair blocks[] = {
    {"platform-info/", "gpu.platform."},
    {"platforminfo/", "gpu.platform."},
    {"inforom-version/", "gpu.inforom."},
    {"inforom-bbx-object-flush/", "gpu.inforom.bbx-flush."},
    {"inforom-bbx-flush/", "gpu.inforom.bbx-flush."},
    {"pci/bridge-chip/", "gpu.pcie.bridge."},
    {"pci/error-counts/", "gpu.pcie.errors."},
    {"conf-compute-protected-memory-usage/", "gpu.memory.protected."},
    {"cc-protected-memory-usage/", "gpu.memory.protected."},
    {"encoder-stats/", "gpu.encoder."},
    {"fbc-stats/", "gpu.fbc."},
    {"workload-power-profiles/", "gpu.power.profiles."},
    {"power-smoothing/", "gpu.power.smoothing."},
    {"clock-policy/", "gpu.clock.policy."},
    {"fabric/health/", "gpu.fabric.health."},
    {"capabilities/", "gpu.capability."},
};

/* Last piece under any block that is called "... power readings" or lies below one. */
static const Pair power[] = {
    {"power-draw", "gpu.power"},
    {"instantaneous-power-draw", "gpu.power"},
    {"instant-power-draw", "gpu.power"},
    {"average-power-draw", "gpu.power.average"},
    {"current-power-limit", "gpu.power.limit.current"},
    {"enforced-power-limit", "gpu.power.limit.current"},
    {"requested-power-limit", "gpu.power.limit.requested"},
    {"power-limit", "gpu.power.limit.requested"},
    {"default-power-limit", "gpu.power.limit.default"},
    {"min-power-limit", "gpu.power.limit.min"},
    {"max-power-limit", "gpu.power.limit.max"},
};

static const Pair reasons[] = {
    {"gpu-idle", "idle"},
    {"display-clocks-setting", "display-clock-setting"},
    {"sw-power-capping", "sw-power-cap"},
    {"sw-therm-slowdown", "sw-thermal-slowdown"},
    {"hw-therm-slowdown", "hw-thermal-slowdown"},
    {"hw-power-braking", "hw-power-brake-slowdown"},
    {"hw-power-brake", "hw-power-brake-slowdown"},
};

static const char *lookup(const Pair *table, gsize n, const char *from)
{
    for (gsize i = 0; i < n; i++)
        if (strcmp(table[i].from, from) == 0)
            return table[i].to;
    return NULL;
}

void ct_smi_slug(CtStr name, char *out, gsize size)
{
    gsize n = 0;
    name = ct_str_strip(name);
    for (gsize i = 0; i < name.n && n + 1 < size; i++) {
        char c = name.p[i];
        if (g_ascii_isalnum(c))
            out[n++] = g_ascii_tolower(c);
        else if (n && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n && out[n - 1] == '-')
        n--;
    out[n] = '\0';
}

static const char *after(const char *text, const char *prefix)
{
    return g_str_has_prefix(text, prefix) ? text + strlen(prefix) : NULL;
}

static const char *last_piece(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *reason_key(const char *path, char buf[96])
{
    const char *leaf = last_piece(path), *rest;
    gboolean counter = strstr(path, "reasons-counters") != NULL;
    if ((rest = after(leaf, "clocks-event-reasons-counters-")) ||
        (rest = after(leaf, "clocks-event-reason-")) ||
        (rest = after(leaf, "clocks-throttle-reason-")))
        leaf = rest;
    const char *name = lookup(reasons, G_N_ELEMENTS(reasons), leaf);
    g_snprintf(buf, 96, "gpu.clock-reason%s.%s", counter ? "-counter" : "", name ? name : leaf);
    return buf;
}

static const char *ecc_key(const char *rest, char buf[96])
{
    const char *source;
    if (strcmp(rest, "aggregate/sram-threshold-exceeded") == 0)
        return "gpu.ecc.sram-threshold-exceeded";
    if ((source = after(rest, "aggregate-uncorrectable-sram-sources/sram-")))
        g_snprintf(buf, 96, "gpu.ecc.sram-source.%s", source);
    else
        g_snprintf(buf, 96, "gpu.ecc.%s", rest);
    for (char *p = buf; *p; p++)
        if (*p == '/')
            *p = '.';
    char *sec = strstr(buf, "sec-ded");
    if (sec)
        memmove(sec + 3, sec + 4, strlen(sec + 4) + 1);
    return buf;
}

/* "gpu.power.limit.max" of a part of the board -> "gpu.power.module.limit.max" */
static const char *power_part(const char *part, const char *leaf, char buf[96])
{
    const char *key = lookup(power, G_N_ELEMENTS(power), leaf);
    if (!key)
        return NULL;
    g_snprintf(buf, 96, "gpu.power.%s%s", part, key + strlen("gpu.power"));
    return buf;
}

static const char *block_key(const char *prefix, const char *rest, char buf[96])
{
    g_snprintf(buf, 96, "%s%s", prefix, rest);
    for (char *p = buf; *p; p++)
        if (*p == '/')
            *p = '.';
    return buf;
}

const char *ct_smi_key(const char *path, char buf[96])
{
    const char *rest, *key = lookup(paths, G_N_ELEMENTS(paths), path);
    if (key)
        return key[0] == '*' ? key + 1 : key;
    if (g_str_has_prefix(path, "clocks-event-reasons") ||
        g_str_has_prefix(path, "clocks-throttle-reasons"))
        return strchr(path, '/') ? reason_key(path, buf) : "gpu.clock-reason";
    if ((rest = after(path, "ecc-errors/")))
        return ecc_key(rest, buf);
    if ((rest = after(path, "remapped-rows/"))) {
        const char *bank = strrchr(last_piece(rest), '-');
        if (strchr(rest, '/') && (strstr(rest, "histogram"))) {
            g_snprintf(buf, 96, "gpu.remap.bank.%s", bank ? bank + 1 : last_piece(rest));
            return buf;
        }
        return NULL;
    }
    if (g_str_has_prefix(path, "power-readings/") || g_str_has_prefix(path, "gpu-power-readings/"))
        return lookup(power, G_N_ELEMENTS(power), last_piece(path));
    if ((rest = after(path, "gpu-memory-power-readings/")))
        return power_part("memory", rest, buf);
    if ((rest = after(path, "module-power-readings/")))
        return power_part("module", rest, buf);
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++)
        if ((rest = after(path, blocks[i].from)) && *rest)
            return block_key(blocks[i].to, rest, buf);
    if (!strchr(path, '/')) { /* grep left only the leaf */
        for (gsize i = 0; i < G_N_ELEMENTS(paths); i++)
            if (paths[i].to && paths[i].to[0] == '*' &&
                strcmp(last_piece(paths[i].from), path) == 0)
                return paths[i].to + 1;
        if (strstr(path, "slowdown") || strcmp(path, "sw-power-cap") == 0 ||
            strcmp(path, "sync-boost") == 0)
            return reason_key(path, buf);
    }
    return NULL;
}

/* ---- properties of --query-gpu ---- */

static const Pair properties[] = {
    {"name", "gpu.name"},
    {"gpu_name", "gpu.name"},
    {"uuid", "gpu.uuid"},
    {"gpu_uuid", "gpu.uuid"},
    {"pci.bus_id", "gpu.pci"},
    {"gpu_bus_id", "gpu.pci"},
    {"count", "gpu.count"},
    {"driver_version", "version.driver"},
    {"vbios_version", "gpu.vbios"},
    {"compute_cap", "gpu.compute-capability"},
    {"compute_mode", "gpu.compute-mode"},
    {"persistence_mode", "gpu.persistence"},
    {"pstate", "gpu.performance-state"},
    {"fan.speed", "gpu.fan"},
    {"memory.total", "gpu.memory.total"},
    {"memory.used", "gpu.memory.used"},
    {"memory.free", "gpu.memory.free"},
    {"memory.reserved", "gpu.memory.reserved"},
    {"utilization.gpu", "gpu.utilization"},
    {"utilization.memory", "gpu.utilization.memory"},
    {"utilization.encoder", "gpu.utilization.encoder"},
    {"utilization.decoder", "gpu.utilization.decoder"},
    {"temperature.gpu", "gpu.temperature"},
    {"temperature.memory", "gpu.temperature.memory"},
    {"temperature.gpu.tlimit", "gpu.temperature.tlimit"},
    {"power.draw", "gpu.power"},
    {"power.draw.instant", "gpu.power"},
    {"power.draw.average", "gpu.power.average"},
    {"power.limit", "gpu.power.limit.requested"},
    {"enforced.power.limit", "gpu.power.limit.current"},
    {"power.default_limit", "gpu.power.limit.default"},
    {"power.min_limit", "gpu.power.limit.min"},
    {"power.max_limit", "gpu.power.limit.max"},
    {"clocks.gr", "gpu.clock.graphics"},
    {"clocks.current.graphics", "gpu.clock.graphics"},
    {"clocks.sm", "gpu.clock.sm"},
    {"clocks.current.sm", "gpu.clock.sm"},
    {"clocks.mem", "gpu.clock.mem"},
    {"clocks.current.memory", "gpu.clock.mem"},
    {"clocks.video", "gpu.clock.video"},
    {"clocks.current.video", "gpu.clock.video"},
    {"clocks.max.gr", "gpu.clock.graphics.max"},
    {"clocks.max.graphics", "gpu.clock.graphics.max"},
    {"clocks.max.sm", "gpu.clock.sm.max"},
    {"clocks.max.mem", "gpu.clock.mem.max"},
    {"clocks.max.memory", "gpu.clock.mem.max"},
    {"clocks.applications.gr", "gpu.clock.graphics.application"},
    {"clocks.applications.graphics", "gpu.clock.graphics.application"},
    {"pcie.link.gen.current", "gpu.pcie.link.gen.current"},
    {"pcie.link.gen.gpucurrent", "gpu.pcie.link.gen.current"},
    {"pcie.link.gen.max", "gpu.pcie.link.gen.max"},
    {"pcie.link.gen.gpumax", "gpu.pcie.link.gen.device-max"},
    {"pcie.link.gen.hostmax", "gpu.pcie.link.gen.host-max"},
    {"pcie.link.width.current", "gpu.pcie.link.width.current"},
    {"pcie.link.width.max", "gpu.pcie.link.width.max"},
    {"mig.mode.current", "gpu.mig.mode"},
    {"mig.mode.pending", "gpu.mig.mode.pending"},
    {"ecc.mode.current", "gpu.ecc.mode"},
    {"ecc.mode.pending", "gpu.ecc.mode.pending"},
    {"retired_pages.single_bit_ecc.count", "gpu.retired-pages.single-bit"},
    {"retired_pages.sbe", "gpu.retired-pages.single-bit"},
    {"retired_pages.double_bit.count", "gpu.retired-pages.double-bit"},
    {"retired_pages.dbe", "gpu.retired-pages.double-bit"},
    {"retired_pages.pending", "gpu.retired-pages.pending"},
    {"remapped_rows.correctable", "gpu.remap.correctable"},
    {"remapped_rows.uncorrectable", "gpu.remap.uncorrectable"},
    {"remapped_rows.pending", "gpu.remap.pending"},
    {"remapped_rows.failure", "gpu.remap.failure"},
    {"gpu_recovery_action", "gpu.recovery-action"},
    {"reset_status.reset_required", "gpu.reset.required"},
    {"reset_status.drain_and_reset_recommended", "gpu.reset.drain-recommended"},
    {"fabric.state", "gpu.fabric.state"},
    {"fabric.status", "gpu.fabric.status"},
    {"clocks_event_reasons.active", "gpu.clock-reason"},
    {"clocks_throttle_reasons.active", "gpu.clock-reason"},
};

const char *ct_smi_property_key(const char *property, char buf[96])
{
    const char *rest, *key = lookup(properties, G_N_ELEMENTS(properties), property);
    if (key)
        return key;
    if ((rest = after(property, "ecc.errors."))) {
        /* corrected.volatile.total -> gpu.ecc.volatile.correctable; other places keep theirs. */
        gboolean bad = g_str_has_prefix(rest, "uncorrected.");
        if (!bad && !g_str_has_prefix(rest, "corrected."))
            return NULL;
        rest = strchr(rest, '.') + 1;
        gboolean aggregate = g_str_has_prefix(rest, "aggregate.");
        const char *place = strchr(rest, '.');
        if (!place)
            return NULL;
        char name[40];
        ct_smi_slug(ct_str_of(place + 1), name, sizeof(name));
        const char *word = bad ? "uncorrectable" : "correctable";
        if (strcmp(name, "sram-thresholdexceeded") == 0)
            return "gpu.ecc.sram-threshold-exceeded";
        if (strcmp(name, "total") == 0)
            g_snprintf(buf, 96, "gpu.ecc.%s.%s", aggregate ? "aggregate" : "volatile", word);
        else
            g_snprintf(buf, 96, "gpu.ecc.%s.%s-%s", aggregate ? "aggregate" : "volatile", name,
                       word);
        return buf;
    }
    if ((rest = after(property, "clocks_event_reasons_counters."))) {
        char name[64];
        ct_smi_slug(ct_str_of(rest), name, sizeof(name));
        const char *known = lookup(reasons, G_N_ELEMENTS(reasons), name);
        g_snprintf(buf, 96, "gpu.clock-reason-counter.%s", known ? known : name);
        return buf;
    }
    if ((rest = after(property, "clocks_event_reasons.")) ||
        (rest = after(property, "clocks_throttle_reasons."))) {
        char name[64];
        ct_smi_slug(ct_str_of(rest), name, sizeof(name));
        const char *known = lookup(reasons, G_N_ELEMENTS(reasons), name);
        g_snprintf(buf, 96, "gpu.clock-reason.%s", known ? known : name);
        return buf;
    }
    return NULL;
}

const char *ct_smi_metric(const char *key, const char **unit)
{
    static const struct {
        const char *key, *metric, *unit;
    } metrics[] = {
        {"gpu.memory.used", "gpu.memory.used", "bytes"},
        {"gpu.utilization", "gpu.util", "1"},
        {"gpu.utilization.memory", "gpu.memory.util", "1"},
        {"gpu.utilization.encoder", "gpu.encoder.util", "1"},
        {"gpu.utilization.decoder", "gpu.decoder.util", "1"},
        {"gpu.temperature", "gpu.temperature", "celsius"},
        {"gpu.temperature.memory", "gpu.temperature.memory", "celsius"},
        {"gpu.power", "gpu.power", "W"},
        {"gpu.clock.sm", "gpu.clock.sm", "Hz"},
        {"gpu.clock.mem", "gpu.clock.mem", "Hz"},
        {"gpu.ecc.volatile.correctable", "gpu.ecc.corrected", "count"},
        {"gpu.ecc.volatile.uncorrectable", "gpu.ecc.uncorrected", "count"},
        {"gpu.pcie.replays", "gpu.pcie.replays", "count"},
        {"gpu.clock-reason", "gpu.clock-reason", "1"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(metrics); i++) {
        if (strcmp(metrics[i].key, key) == 0) {
            *unit = metrics[i].unit;
            return metrics[i].metric;
        }
    }
    return NULL;
}
