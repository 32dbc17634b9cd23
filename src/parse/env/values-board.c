/* SPDX-License-Identifier: Apache-2.0 */
/* Device tree, devfreq, thermal zones, hwmon and the INA3221 driver of old releases. */
#include <string.h>

#include "parse/env/system-values.h"

static char *text_of(double value, const char *unit)
{
    return g_strdup_printf("%.12g %s", value, unit);
}

static void quantity(const CtValues *v, const CtValue *of, const char *subject, const char *key,
                     double factor, const char *unit)
{
    g_autofree char *text = text_of(of->number * factor, unit);
    if (of->has_number || of->status != CT_OK)
        ct_value_number(v, of, subject, key, of->number * factor, text);
}

/* "nvidia,p3767-0003 nvidia,tegra234": board and chip. */
static void identity(const CtValues *v, const CtValue *of)
{
    if (g_str_has_suffix(of->path, "/model")) {
        ct_value_text(v, of, NULL, "host.model", of->value);
        if (strstr(of->value, "Jetson"))
            ct_value_text(v, of, NULL, "host.jetson", "yes");
        return;
    }
    g_auto(GStrv) words = g_strsplit(of->value, " ", 16);
    for (guint i = 0; words[i]; i++) {
        if (g_str_has_prefix(words[i], "nvidia,tegra")) {
            ct_value_text(v, of, NULL, "host.chip", words[i] + 7);
            ct_value_text(v, of, NULL, "host.jetson", "yes");
        } else if (i == 0 && g_str_has_prefix(words[i], "nvidia,p")) {
            ct_value_text(v, of, NULL, "host.module", words[i] + 7);
        }
    }
}

/* The GPU among the devices with a clock: by address and chip ("17000000.ga10b"), or by name. */
static gboolean gpu_device(const char *name)
{
    static const char *const words[] = {"gpu", ".ga10b", ".gv11b", ".gp10b", ".gm20b", "gpu-gpc"};
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(name, words[i]))
            return !strstr(name, "nvd");
    return FALSE;
}

static gboolean devfreq(const CtValues *v, const CtValue *of)
{
    char p[CT_VALUE_PARTS][96];
    static const struct {
        const char *name, *key;
    } clocks[] = {{"cur_freq", "gpu.clock.sm"}, {"min_freq", "gpu.clock.sm.min"},
                  {"max_freq", "gpu.clock.sm.max"}};
    if (ct_value_match(of->path, "/sys/class/devfreq/*/device/load", p) ||
        ct_value_match(of->path, "/sys/devices/gpu.0/load", p) ||
        ct_value_match(of->path, "/sys/devices/platform/gpu.0/load", p)) {
        if (of->has_number && (!strstr(of->path, "devfreq") || gpu_device(p[0])))
            ct_value_number(v, of, "gpu:0", "gpu.utilization", of->number / 1000, of->value);
        return TRUE;
    }
    if (!ct_value_match(of->path, "/sys/class/devfreq/*/*", p))
        return FALSE;
    if (!gpu_device(p[0]))
        return TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(clocks); i++)
        if (strcmp(p[1], clocks[i].name) == 0)
            quantity(v, of, "gpu:0", clocks[i].key, 1, "Hz");
    if (strcmp(p[1], "governor") == 0) {
        ct_value_text(v, of, "gpu:0", "gpu.governor", of->value);
    } else if (strcmp(p[1], "available_frequencies") == 0) {
        double most = 0, n;
        g_auto(GStrv) all = g_strsplit(of->value, " ", 200);
        for (guint i = 0; all[i]; i++)
            if (ct_str_number(ct_str_of(all[i]), &n))
                most = MAX(most, n);
        g_autofree char *text = text_of(most, "Hz");
        if (most > 0)
            ct_value_number(v, of, "gpu:0", "gpu.clock.sm.possible", most, text);
    } else if (strcmp(p[1], "min_freq") == 0 && of->has_number) {
        const CtValue *max = ct_values_beside(v, of, "max_freq");
        if (max && max->has_number) /* jetson_clocks pins the lower bound to the upper one */
            ct_value_text(v, of, NULL, "jetson-clocks", max->number == of->number ? "on" : "off");
    }
    return TRUE;
}

static gboolean memory_clock(const CtValues *v, const CtValue *of)
{
    char p[CT_VALUE_PARTS][96];
    static const struct {
        const char *pattern, *key;
    } clocks[] = {
        {"/sys/kernel/debug/bpmp/debug/clk/emc/rate", "emc.clock"},
        {"/sys/kernel/debug/bpmp/debug/clk/emc/max_rate", "emc.clock.max"},
        {"/sys/kernel/debug/clk/emc/clk_rate", "emc.clock"},
        {"/sys/kernel/debug/tegra_bwmgr/emc_rate", "emc.clock"},
        {"/sys/kernel/nvpmodel_emc_cap/emc_iso_cap", "emc.cap"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(clocks); i++)
        if (strcmp(of->path, clocks[i].pattern) == 0) {
            if (!of->has_number || of->number > 0)
                quantity(v, of, NULL, clocks[i].key, 1, "Hz");
            return TRUE;
        }
    if (ct_value_match(of->path, "/sys/kernel/debug/bpmp/debug/clk/emc/mrq_rate_locked", p)) {
        ct_value_text(v, of, NULL, "emc.override", of->number > 0 ? "on" : "off");
        return TRUE;
    }
    return FALSE;
}

/* A sensor that is switched off gives EAGAIN or -256 degrees: unknown, not cold. */
static gboolean thermal(const CtValues *v, const CtValue *of)
{
    char p[CT_VALUE_PARTS][96];
    if (ct_value_match(of->path, "/sys/class/thermal/thermal_zone*/temp", p)) {
        const CtValue *type = ct_values_beside(v, of, "type");
        const char *subject = type ? type->value : p[0];
        if (of->has_number && of->number <= -200000)
            ct_emit_fact_status(v->emit, &(CtLine){.number = of->line}, subject,
                                "board.temperature", CT_UNSUPPORTED, "off");
        else
            quantity(v, of, subject, "board.temperature", 0.001, "C");
        return TRUE;
    }
    if (ct_value_match(of->path, "/sys/class/thermal/thermal_zone*/trip_point_*_temp", p)) {
        g_autofree char *name = g_strdup_printf("trip_point_%s_type", p[1]);
        const CtValue *zone = ct_values_beside(v, of, "type"), *kind = ct_values_beside(v, of, name);
        if (kind && of->has_number && of->number > 0) {
            g_autofree char *key = g_strconcat("board.trip.", kind->value, NULL);
            quantity(v, of, zone ? zone->value : p[0], key, 0.001, "C");
        }
        return TRUE;
    }
    if (ct_value_match(of->path, "/sys/class/thermal/cooling_device*/cur_state", p)) {
        const CtValue *type = ct_values_beside(v, of, "type");
        const CtValue *max = ct_values_beside(v, of, "max_state");
        g_autofree char *text = g_strdup_printf("%s of %s", of->value, max ? max->value : "?");
        if (of->has_number)
            ct_value_number(v, of, type ? type->value : p[0], "board.cooling", of->number, text);
        return TRUE;
    }
    return g_str_has_prefix(of->path, "/sys/class/thermal/");
}

/* The name of a channel: the file `before` CHANNEL `after` beside it. */
static const char *label_of(const CtValues *v, const CtValue *of, const char *before,
                            const char *channel, char *buf, gsize size)
{
    gboolean old = g_str_has_suffix(before, "_");
    g_autofree char *name = g_strconcat(before, channel, old ? "" : "_label", NULL);
    const CtValue *label = ct_values_beside(v, of, name);
    const CtValue *chip = ct_values_beside(v, of, "name");
    if (label)
        g_strlcpy(buf, label->value, size);
    else
        g_snprintf(buf, size, "%s:%s", chip ? chip->value : "hwmon", channel);
    return buf;
}

/* INA3221: in1 is the voltage of rail 1, curr1 its current, both under in1_label. */
static gboolean hwmon(const CtValues *v, const CtValue *of)
{
    char p[CT_VALUE_PARTS][96], subject[120];
    static const struct {
        const char *pattern, *label, *key, *unit;
        double factor;
    } rows[] = {
        {"/sys/class/hwmon/hwmon*/in*_input", "in", "board.rail.voltage", "V", 0.001},
        {"/sys/class/hwmon/hwmon*/curr*_input", "in", "board.rail.current", "A", 0.001},
        {"/sys/class/hwmon/hwmon*/curr*_max", "in", "board.rail.limit.warn", "A", 0.001},
        {"/sys/class/hwmon/hwmon*/curr*_crit", "in", "board.rail.limit.critical", "A", 0.001},
        {"/sys/class/hwmon/hwmon*/power*_input", "power", "board.rail.power", "W", 1e-6},
        {"/sys/class/hwmon/hwmon*/fan*_input", "fan", "board.fan.rpm", "rpm", 1},
        {"/sys/bus/i2c/drivers/ina3221x/*/*/in_power*_input", "rail_name_", "board.rail.power", "W",
         0.001},
        {"/sys/bus/i2c/drivers/ina3221x/*/*/crit_current_limit_*", "rail_name_",
         "board.rail.limit.critical", "A", 0.001},
        {"/sys/bus/i2c/drivers/ina3221x/*/*/warn_current_limit_*", "rail_name_",
         "board.rail.limit.warn", "A", 0.001},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!ct_value_match(of->path, rows[i].pattern, p))
            continue;
        const char *channel = strstr(rows[i].pattern, "ina3221x") ? p[2] : p[1];
        quantity(v, of, label_of(v, of, rows[i].label, channel, subject, sizeof(subject)),
                 rows[i].key, rows[i].factor, rows[i].unit);
        return TRUE;
    }
    if (ct_value_match(of->path, "/sys/class/hwmon/hwmon*/curr*_*_alarm", p)) {
        if (of->has_number && of->number > 0)
            ct_value_text(v, of, label_of(v, of, "in", p[1], subject, sizeof(subject)),
                          "board.rail.alarm", p[2]);
        return TRUE;
    }
    if (ct_value_match(of->path, "/sys/class/hwmon/hwmon*/oc*_event_cnt", p)) {
        g_snprintf(subject, sizeof(subject), "oc%s", p[1]);
        if (of->has_number)
            ct_value_number(v, of, subject, "board.oc-count", of->number, of->value);
        return TRUE;
    }
    if (ct_value_match(of->path, "/sys/class/hwmon/hwmon*/pwm1", p) ||
        strcmp(of->path, "/sys/devices/pwm-fan/cur_pwm") == 0) {
        g_autofree char *text = g_strdup_printf("%.0f %%", of->number / 2.55);
        if (of->has_number && of->number <= 255)
            ct_value_number(v, of, "fan", "board.fan", of->number / 255, text);
        return TRUE;
    }
    return g_str_has_prefix(of->path, "/sys/class/hwmon/");
}

gboolean ct_value_board(const CtValues *v, const CtValue *of)
{
    if (g_str_has_prefix(of->path, "/proc/device-tree/") ||
        g_str_has_prefix(of->path, "/sys/firmware/devicetree/base/")) {
        identity(v, of);
        return TRUE;
    }
    if (strcmp(of->path, "/sys/class/dmi/id/product_name") == 0) {
        if (!ct_values_get(v, "/proc/device-tree/model"))
            ct_value_text(v, of, NULL, "host.model", of->value);
        return TRUE;
    }
    if (strcmp(of->path, "/sys/class/dmi/id/bios_version") == 0) {
        ct_value_text(v, of, NULL, "version.bios", of->value);
        return TRUE;
    }
    if (g_str_has_suffix(of->path, "/tpc_pg_mask")) {
        ct_value_text(v, of, "gpu:0", "gpu.tpc-mask", of->value);
        return TRUE;
    }
    return devfreq(v, of) || memory_clock(v, of) || thermal(v, of) || hwmon(v, of);
}
