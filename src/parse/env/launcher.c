/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of prompts that start several processes on one machine: torchrun, accelerate,
 * deepspeed, mpirun, srun. Says how many; lines of scripts and of `set -x` are read by signatures.
 */
#include <string.h>

#include "parse/common/scan.h"

#define MAX_RANKS 4096

static const struct {
    const char *program;
    const char *options[4]; /* the first that is given counts */
} launchers[] = {
    {"torchrun", {"--nproc_per_node", "--nproc-per-node", "--nproc_per-node", NULL}},
    {"torch.distributed.run", {"--nproc_per_node", "--nproc-per-node", NULL}},
    {"torch.distributed.launch", {"--nproc_per_node", "--nproc-per-node", NULL}},
    {"accelerate", {"--num_processes", "--num-processes", NULL}},
    {"deepspeed", {"--num_gpus", "--num-gpus", NULL}},
    {"mpirun", {"-np", "-n", "--np", NULL}},
    {"mpiexec", {"-np", "-n", "--np", NULL}},
    {"srun", {"--ntasks-per-node", "--ntasks", "-n", NULL}},
};

static void command_line(const char *command, const CtLine *line, CtEmit *emit)
{
    for (gsize i = 0; i < G_N_ELEMENTS(launchers); i++) {
        if (!ct_command_runs(command, launchers[i].program))
            continue;
        for (const char *const *o = launchers[i].options; *o; o++) {
            CtStr value;
            gint64 n;
            if (!ct_command_option(command, *o, &value))
                continue;
            if (ct_text_int(value.p, value.n, &n) && n > 0 && n <= MAX_RANKS)
                ct_emit_number(emit, line, NULL, "launcher.ranks", (double)n, NULL);
            return;
        }
    }
}

static int never(const CtSniff *sniff)
{
    return 0;
}

const CtParser ct_parser_launcher = {
    .id = "launcher",
    .summary = "commands that start several processes",
    .doc = "torchrun, accelerate, deepspeed, mpirun and srun in prompts: the fact launcher.ranks, "
           "how many processes are started on this machine.",
    .sniff = never,
    .command = command_line,
};
