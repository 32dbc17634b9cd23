/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a board tells without NVML: identity, power mode and its caps, clocks, temperatures and
 * trip points, power rails and their over-current counters, fan. Serial numbers are not read.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/live/live.h"

static void values(CtLive *live, const char *const *patterns)
{
    for (; *patterns; patterns++) {
        g_autoptr(GPtrArray) all = ct_live_glob(live, *patterns);
        for (guint i = 0; i < all->len; i++)
            ct_live_value(live, NULL, g_ptr_array_index(all, i));
    }
}

static void section(CtLive *live, const char *path, const char *command,
                    const char *const *patterns)
{
    ct_live_begin(live, path, command);
    values(live, patterns);
    ct_live_end(live, CT_OK, NULL);
}

/* The first of the two that is there; one is a link to the other on a running machine. */
static void tree_values(CtLive *live)
{
    static const char *const folders[] = {"/proc/device-tree", "/sys/firmware/devicetree/base"};
    for (gsize i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *model = g_strconcat(folders[i], "/model", NULL);
        g_autofree char *compatible = g_strconcat(folders[i], "/compatible", NULL);
        if (!ct_live_exists(live, model) && !ct_live_exists(live, compatible))
            continue;
        ct_live_value(live, NULL, model);
        ct_live_value(live, NULL, compatible);
        return;
    }
}

static void identity(CtLive *live)
{
    static const char *const patterns[] = {
        "/sys/devices/soc0/family", "/sys/devices/soc0/machine", "/sys/devices/soc0/soc_id",
        "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name",
        "/sys/class/dmi/id/board_name", "/sys/class/dmi/id/bios_version", NULL};
    ct_live_begin(live, "board identity",
                  "grep -asH . /proc/device-tree/model /sys/class/dmi/id/*");
    tree_values(live);
    values(live, patterns);
    ct_live_end(live, CT_OK, NULL);
    ct_live_file(live, "/etc/nv_tegra_release", 0, FALSE);
    ct_live_file(live, "/run/nvidia-gpu-driver-active", 0, FALSE);
}

/* "pmode:0002 fmode:quiet" -> 2; -1 when it says nothing. */
static int active_mode(CtLive *live)
{
    g_autofree char *text = ct_live_line(live, "/var/lib/nvpmodel/status");
    const char *at = text ? strstr(text, "pmode:") : NULL;
    return at && g_ascii_isdigit(at[6]) ? (int)strtol(at + 6, NULL, 10) : -1;
}

static int number_after(const char *line, const char *word)
{
    const char *at = strstr(line, word);
    return at && g_ascii_isdigit(at[strlen(word)]) ? (int)strtol(at + strlen(word), NULL, 10) : -1;
}

/* The configuration names all modes; the block of the active one says what it caps. */
static void power_mode(CtLive *live)
{
    g_autofree char *text = NULL;
    CtStatus status = ct_live_read(live, "/etc/nvpmodel.conf", CT_LIVE_MAX_FILE, &text, NULL);
    int mode = active_mode(live);
    if (!text) {
        static const char *const active[] = {"/var/lib/nvpmodel/status", NULL};
        if (status != CT_ABSENT)
            ct_live_missing(live, "/etc/nvpmodel.conf", "cat /etc/nvpmodel.conf", status, NULL);
        section(live, "/var/lib/nvpmodel", "grep -sH . /var/lib/nvpmodel/status", active);
        return;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", 8000);
    for (guint i = 0; lines[i] && mode < 0; i++) /* never set: the default holds */
        if (strstr(lines[i], "PM_CONFIG"))
            mode = number_after(lines[i], "DEFAULT=");
    gboolean in_block = FALSE;
    g_autofree char *title = g_strdup_printf("/etc/nvpmodel.conf, mode %d", mode);
    ct_live_begin(live, title, "cat /etc/nvpmodel.conf");
    for (guint i = 0; lines[i]; i++) {
        const char *line = g_strstrip(lines[i]);
        if (*line == '<')
            in_block = strstr(line, "POWER_MODEL") && number_after(line, "ID=") == mode;
        if (in_block && *line && *line != '#' && *line != '<')
            ct_live_printf(live, "%s\n", line);
        else if (*line == '<' && (strstr(line, "POWER_MODEL") || strstr(line, "PM_CONFIG")))
            ct_live_printf(live, in_block ? "%s ACTIVE\n" : "%s\n", line);
    }
    ct_live_end(live, CT_OK, NULL);
}

static void clocks(CtLive *live)
{
    static const char *const patterns[] = {
        "/sys/class/devfreq/*/cur_freq", "/sys/class/devfreq/*/min_freq",
        "/sys/class/devfreq/*/max_freq", "/sys/class/devfreq/*/governor",
        "/sys/class/devfreq/*/available_frequencies", "/sys/class/devfreq/*/device/load",
        NULL};
    /* Where the folder of the class was not copied, and files that no class has. */
    static const char *const devices[] = {
        "/sys/devices/*.g*/devfreq/*/*_freq", "/sys/devices/*.g*/devfreq/*/governor",
        "/sys/devices/*.g*/devfreq/*/available_frequencies",
        "/sys/devices/platform/*.g*/devfreq/*/*_freq",
        "/sys/devices/platform/*.g*/devfreq/*/governor",
        "/sys/devices/platform/*.g*/devfreq/*/available_frequencies",
        "/sys/devices/platform/bus@0/*.gpu/devfreq/*/*_freq", NULL};
    static const char *const more[] = {
        "/sys/devices/gpu.0/load", "/sys/devices/gpu.0/railgate_enable",
        "/sys/devices/gpu.0/tpc_pg_mask", "/sys/devices/platform/gpu.0/load",
        "/sys/devices/platform/gpu.0/railgate_enable", "/sys/devices/platform/gpu.0/tpc_pg_mask",
        "/sys/devices/17000000.g*/railgate_enable", "/sys/devices/17000000.g*/tpc_pg_mask",
        "/sys/devices/platform/17000000.g*/railgate_enable",
        "/sys/devices/platform/bus@0/17000000.gpu/tpc_pg_mask",
        "/sys/devices/57000000.gpu/railgate_enable",
        "/sys/kernel/actmon_avg_activity/mc_all", "/sys/kernel/nvpmodel_emc_cap/emc_iso_cap",
        "/sys/kernel/debug/bpmp/debug/clk/emc/rate",
        "/sys/kernel/debug/bpmp/debug/clk/emc/max_rate",
        "/sys/kernel/debug/bpmp/debug/clk/emc/mrq_rate_locked",
        "/sys/kernel/debug/clk/override.emc/clk_rate", "/sys/kernel/debug/clk/emc/clk_rate",
        "/sys/kernel/debug/tegra_bwmgr/emc_rate", NULL};
    ct_live_begin(live, "/sys/class/devfreq", "grep -sH . /sys/class/devfreq/*/*");
    values(live, patterns);
    if (!ct_live_exists(live, "/sys/class/devfreq"))
        values(live, devices);
    values(live, more);
    ct_live_end(live, CT_OK, NULL);
    if (ct_live_exists(live, "/etc/nv_tegra_release") && !ct_live_sysroot(live) &&
        !ct_live_exists(live, "/sys/kernel/debug/bpmp"))
        ct_live_missing(live, "/sys/kernel/debug/bpmp/debug/clk/emc/rate",
                        "sudo cat /sys/kernel/debug/bpmp/debug/clk/emc/rate", CT_DENIED,
                        "the memory clock is for root");
}

static void temperatures(CtLive *live)
{
    static const char *const patterns[] = {
        "/sys/class/thermal/thermal_zone*/type", "/sys/class/thermal/thermal_zone*/temp",
        "/sys/class/thermal/thermal_zone*/trip_point_*_type",
        "/sys/class/thermal/thermal_zone*/trip_point_*_temp",
        "/sys/class/thermal/cooling_device*/type", "/sys/class/thermal/cooling_device*/cur_state",
        "/sys/class/thermal/cooling_device*/max_state", NULL};
    static const char *const virtual[] = {
        "/sys/devices/virtual/thermal/thermal_zone*/type",
        "/sys/devices/virtual/thermal/thermal_zone*/temp",
        "/sys/devices/virtual/thermal/thermal_zone*/trip_point_*_type",
        "/sys/devices/virtual/thermal/thermal_zone*/trip_point_*_temp",
        "/sys/devices/virtual/thermal/cooling_device*/type",
        "/sys/devices/virtual/thermal/cooling_device*/cur_state",
        "/sys/devices/virtual/thermal/cooling_device*/max_state", NULL};
    section(live, "/sys/class/thermal", "grep -sH . /sys/class/thermal/*/*",
            ct_live_exists(live, "/sys/class/thermal") ? patterns : virtual);
}

static void rails(CtLive *live)
{
    static const char *const patterns[] = {
        "/sys/class/hwmon/hwmon*/name", "/sys/class/hwmon/hwmon*/in*_label",
        "/sys/class/hwmon/hwmon*/in*_input", "/sys/class/hwmon/hwmon*/curr*_input",
        "/sys/class/hwmon/hwmon*/curr*_max", "/sys/class/hwmon/hwmon*/curr*_crit",
        "/sys/class/hwmon/hwmon*/curr*_alarm", "/sys/class/hwmon/hwmon*/power*_input",
        "/sys/class/hwmon/hwmon*/power*_label", "/sys/class/hwmon/hwmon*/fan*_input",
        "/sys/class/hwmon/hwmon*/rpm", "/sys/class/hwmon/hwmon*/pwm*",
        "/sys/class/hwmon/hwmon*/oc*_event_cnt", "/sys/class/hwmon/hwmon*/oc*_throt_en",
        "/sys/bus/i2c/drivers/ina3221x/*/iio:device*/rail_name_*",
        "/sys/bus/i2c/drivers/ina3221x/*/iio:device*/in_power*_input",
        "/sys/bus/i2c/drivers/ina3221x/*/iio:device*/crit_current_limit_*",
        "/sys/bus/i2c/drivers/ina3221x/*/iio:device*/warn_current_limit_*",
        "/sys/bus/i2c/drivers/ina3221x/*/iio_device/rail_name_*",
        "/sys/devices/pwm-fan/target_pwm", "/sys/devices/pwm-fan/cur_pwm",
        "/sys/devices/pwm-fan/temp_control", "/sys/devices/platform/pwm-fan/hwmon/hwmon*/pwm1",
        NULL};
    static const char *const drivers[] = {
        "/sys/bus/i2c/drivers/ina3221/*/hwmon/hwmon*/name",
        "/sys/bus/i2c/drivers/ina3221/*/hwmon/hwmon*/in*_label",
        "/sys/bus/i2c/drivers/ina3221/*/hwmon/hwmon*/in*_input",
        "/sys/bus/i2c/drivers/ina3221/*/hwmon/hwmon*/curr*_*",
        "/sys/devices/platform/soctherm-oc-event/hwmon/hwmon*/oc*_event_cnt", NULL};
    ct_live_begin(live, "/sys/class/hwmon", "grep -sH . /sys/class/hwmon/*/*");
    values(live, patterns);
    if (!ct_live_exists(live, "/sys/class/hwmon"))
        values(live, drivers);
    ct_live_end(live, CT_OK, NULL);
}

static void nvmap(CtLive *live)
{
    static const char path[] = "/sys/kernel/debug/nvmap/iovmm/clients";
    CtStatus status = ct_live_file(live, path, 262144, FALSE);
    if (status == CT_ABSENT && !ct_live_sysroot(live) && ct_live_exists(live, "/dev/nvmap"))
        ct_live_missing(live, path, "sudo cat /sys/kernel/debug/nvmap/iovmm/clients", CT_DENIED,
                        "GPU memory of each process is for root");
}

static void run(CtLive *live)
{
    identity(live);
    power_mode(live);
    clocks(live);
    temperatures(live);
    rails(live);
    nvmap(live);
}

const CtCollector ct_collector_board = {
    .id = "board",
    .layer = "hardware",
    .title = "board identity, power mode, clocks, temperatures, power rails",
    .run = run,
};
