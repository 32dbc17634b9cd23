/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts, titles and scopes, and what only looks like them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parse/frame/cut.h"

static void prompts(void **state)
{
    static const struct {
        const char *line, *command;
    } cases[] = {
        {"$ nvidia-smi -q", "nvidia-smi -q"},
        {"$ LD_LIBRARY_PATH=/opt/x ./serve --port 1", "LD_LIBRARY_PATH=/opt/x ./serve --port 1"},
        {"(venv) $ python train.py", "python train.py"},
        {"# nvidia-smi", "nvidia-smi"},
        {"# dmesg | grep NVRM", "dmesg | grep NVRM"},
        {"# cat /etc/nv_tegra_release", "cat /etc/nv_tegra_release"},
        {"% nvidia-smi -L", "nvidia-smi -L"},
        {"ops@node-7:~$ free -m", "free -m"},
        {"ops@node-7:/var/log# tail syslog", "tail syslog"},
        {"ops@node-7:~$", ""},
        {"(base) ops@node-7:~/work$ pip list", "pip list"},
        {"[root@node-7 ~]# df -h", "df -h"},
        {"root@0f9b2c3d4e5a:/workspace# trtexec --onnx=m.onnx", "trtexec --onnx=m.onnx"},
        {"bash-5.1$ id", "id"},
        {"sh-4.4# ldconfig -p", "ldconfig -p"},
        {"/app # ls /dev", "ls /dev"},
        {"~ $ env", "env"},
        {"C:\\Users\\dev> nvidia-smi.exe", "nvidia-smi.exe"},
        {"PS C:\\models> trtexec --help", "trtexec --help"},
        {"➜  models git:(main) ✗ nvidia-smi -L", "nvidia-smi -L"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        CtCut cut;
        gsize len = strlen(cases[i].line);
        if (!ct_cut_possible(cases[i].line, len) || !ct_cut_prompt(cases[i].line, len, &cut) ||
            cut.len != strlen(cases[i].command) ||
            memcmp(cut.text, cases[i].command, cut.len) != 0)
            fail_msg("%s", cases[i].line);
    }
}

static void no_prompts(void **state)
{
    static const char *const lines[] = {
        "$ 12.50 for the card", "$", "# R35 (release), REVISION: 4.1, GCID: 1, BOARD: t186ref",
        "# excerpt, app/device.py", "# install the driver first", "# python version is 3.10",
        "# cat is a program", "# docker is needed", "## Steps", "#!/bin/sh", "# gpu   sm   mem",
        "user@example.com: hello", "mail ops@node-7 about $ costs", "ops@node-7: failed",
        "model@v2: loaded", "100% done", "% of time", "C:\\Users\\dev\\a.txt", "Disk C: is full",
        "/dev/nvidia0 # char", "/usr/bin/x: not found", "(main) release $", "[ops] # 12",
        "----------", "==========", "-rw-r--r-- 1 root root 4 x", "~/.bashrc: line 3: x",
        "PSU 1 failed", ">>> import torch", "--model tiny", "git@host:repo.git",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        CtCut cut;
        if (ct_cut_prompt(lines[i], strlen(lines[i]), &cut))
            fail_msg("taken for a prompt: %s -> %.*s", lines[i], (int)cut.len, cut.text);
    }
}

static void titles(void **state)
{
    static const struct {
        const char *line, *title;
        gboolean named;
    } cases[] = {
        {"== memory", "memory", FALSE},
        {"=== Model Options ===", "Model Options", FALSE},
        {"=== nvidia-smi -q ===", "nvidia-smi -q", TRUE},
        {"### dmesg", "dmesg", TRUE},
        {"==> /var/log/syslog <==", "/var/log/syslog", TRUE},
        {"--- app.log ---", "app.log", TRUE},
        {"*** Node 3 ***", "Node 3", FALSE},
        {"===== 显卡状态 =====", "显卡状态", FALSE},
        {"##### $ uname -a", "uname -a", TRUE},
        {"========= COMPUTE-SANITIZER", "COMPUTE-SANITIZER", FALSE},
        {"--- a/src/x.c", "a/src/x.c", FALSE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        CtCut cut;
        if (!ct_cut_title(cases[i].line, strlen(cases[i].line), &cut) ||
            cut.len != strlen(cases[i].title) || memcmp(cut.text, cases[i].title, cut.len) != 0 ||
            cut.named != cases[i].named)
            fail_msg("%s -> '%.*s' named %d", cases[i].line, (int)cut.len, cut.text, cut.named);
    }
    static const char *const no[] = {"==", "======", "=x", "==x", "# one", "## two", "- item",
                                     "-- dashes", "--option value", "==============NVSMI LOG=====",
                                     "+---+", "* bullet", "> quote", "=== ===", "--- ---",
                                     "========= Invalid __global__ write of size 4 bytes"};
    for (gsize i = 0; i < G_N_ELEMENTS(no); i++) {
        CtCut cut;
        if (ct_cut_title(no[i], strlen(no[i]), &cut))
            fail_msg("taken for a title: %s -> %.*s", no[i], (int)cut.len, cut.text);
    }
}

static void scopes(void **state)
{
    static const struct {
        const char *line, *scope;
    } cases[] = {
        {"$ docker run --rm --gpus all detector:2.1 nvidia-smi", "container:detector:2.1"},
        {"$ docker run --gpus=all --name=det -v /a:/b img:1 x", "container:det"},
        {"$ sudo docker exec -it det bash -c 'ls'", "container:det"},
        {"$ docker run --name det -e A=b img", "container:det"},
        {"$ kubectl exec -n prod pod-7 -- nvidia-smi", "container:pod-7"},
        {"root@0f9b2c3d4e5a:/workspace# nvidia-smi", "container:0f9b2c3d4e5a"},
        {"$ docker ps", NULL},
        {"$ docker logs --tail 100 det", "container:det"},
        {"ops@node-7:~$ nvidia-smi", NULL},
        {"$ nvidia-smi", NULL},
        {"$ docker run", NULL},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        CtCut cut;
        assert_true(ct_cut_prompt(cases[i].line, strlen(cases[i].line), &cut));
        g_autofree char *scope = ct_cut_scope(&cut);
        if (g_strcmp0(scope, cases[i].scope) != 0)
            fail_msg("%s -> %s", cases[i].line, scope);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts),
        cmocka_unit_test(no_prompts),
        cmocka_unit_test(titles),
        cmocka_unit_test(scopes),
    };
    return cmocka_run_group_tests_name("frame-cut", tests, NULL, NULL);
}
