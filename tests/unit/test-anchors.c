/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading speed depends on the anchors: each line that holds one is peeled and matched. What may
 * not be an anchor: less than five bytes, or words that stand in the logs of healthy programs. A
 * test that fails here names the anchor; a longer or rarer piece of the pattern takes its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kb/kb.h"
#include "parse/frame/signatures.h"

#define MOST_LINES 2 /* of the healthy ones below that an anchor may stand in */

static const char *const healthy[] = {
    "2026-03-01 10:00:00,001 INFO scheduler: request 3f2a91bc accepted, batch 8, queue 3, priority 1",
    "2026-03-01 10:00:00,002 DEBUG preproc: tensor images shape [8, 3, 640, 640] dtype float16",
    "2026-03-01 10:00:00,003 INFO tracker: frame 15230 of camera 4 finished, 12 items on screen",
    "2026-03-01 10:00:00,004 INFO http: GET /v2/models/detector/versions/1 200 from 10.4.1.7",
    "2026-03-01 10:00:00,005 INFO ingest: session 7c1d-22 user 1842 cached, shard 12 of 64",
    "2026-03-01 10:00:00,006 WARNING pool: 480 of 512 blocks in use, growing",
    "INFO:     10.4.1.9:51234 - \"POST /infer HTTP/1.1\" 200 OK",
    "INFO:     Application startup complete.",
    "10.4.1.9 - - [01/Mar/2026:10:00:00 +0000] \"GET /health HTTP/1.1\" 200 2 \"-\" \"curl/7.88\"",
    "I0301 10:00:01.000000 1 model_lifecycle.cc:818] successfully loaded 'detector'",
    "I0301 10:00:01.000000 1 server.cc:674] model detector version 3 has 2 instances",
    "Mar  1 10:00:01 host systemd[1]: Finished Daily apt download activities.",
    "Mar  1 10:00:01 host CRON[2211]: (root) CMD (test -x /usr/sbin/anacron)",
    "Mar  1 10:00:02 host sshd[801]: Accepted publickey for ops from 10.4.0.2 port 50122 ssh2",
    "Mar  1 10:00:02 host dockerd[700]: time=\"2026-03-01T10:00:02Z\" level=info msg=\"image pulled\"",
    "Mar  1 10:00:02 host NetworkManager[650]: <info> device (eth0): state change: ip-check",
    "[   12.400000] usb 1-2: new high-speed USB device number 4 using xhci_hcd",
    "[   12.500000] EXT4-fs (nvme0n1p1): mounted filesystem with ordered data mode",
    "[   13.100000] audit: type=1400 apparmor=\"STATUS\" operation=\"profile_load\" pid=611",
    "epoch 3 step 1200 loss 0.4312 lr 0.0003 grad 1.21 tokens 512000",
    "Epoch 4/100: train 0.231, validation 0.254, best 0.249 at epoch 3",
    "Saving checkpoint to /data/run-17/step-1200",
    "Loading weights from /models/detector/weights",
    "Dataset: 118287 images, 80 categories, 4 workers, shuffle on",
    "Using cached features for 5000 samples",
    "worker 3: processed 512 items, 0 skipped, cache hits 498",
    "camera front: 1920x1080 H.264, 25 frames a second, bitrate 4 Mbit",
    "pipeline state PLAYING, position 0:00:12, buffering 100 %",
    "thread 7 picked job 1822 from queue high",
    "config: host 0.0.0.0 port 8000 log level info reload false",
    "cleaning up 12 temporary files",
    "connected to redis://10.4.0.5:6379/0",
    "published 120 messages to topic detections",
    "consumer group lag 0, offset 918273, partition 4",
    "user 1842 logged in from 10.4.2.8",
    "batch 91: 32 images, 3 classes seen, 41 boxes kept after nms",
    "resized image 4032x3024 to 640x480, letterbox top 0 left 12",
    "scheduler: 3 jobs queued, 1 running, next wake in 250",
    "retry policy: 3 attempts, backoff 2",
    "metrics exported to http://10.4.0.9:9090",
    "garbage collection freed 1204 entries",
    "model detector: input images, output scores, version 3",
    "heartbeat 1842 from edge-7, all services green",
    "rotating log file, keeping 7 old ones",
    "lock acquired by worker 2, released after 3 steps",
    "index 120 of 4000, next page 121",
    "exporting graph to /models/detector/graph.bin",
    "building index over 120000 vectors, 16 lists",
    "starting job nightly-report with 4 tasks",
    "job nightly-report done: 4 tasks, 0 left",
};

static void check(gboolean frequency)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtKb) kb = ct_kb_open(&error);
    CtSignatures *sigs = ct_signatures_new(kb, ct_parsers(), &error);
    assert_non_null(sigs);
    guint n, bad = 0;
    const CtLiteral *literals = ct_signatures_literals(sigs, &n);
    g_autofree guint *lines = g_new0(guint, n), *last = g_new0(guint, n);
    g_autoptr(CtScanner) scanner = ct_scanner_new(literals, n);
    g_autoptr(GArray) hits = g_array_new(FALSE, FALSE, sizeof(CtHit));
    for (guint i = 0; i < G_N_ELEMENTS(healthy); i++) {
        g_array_set_size(hits, 0);
        ct_scanner_scan(scanner, healthy[i], strlen(healthy[i]), hits);
        for (guint k = 0; k < hits->len; k++) {
            guint id = g_array_index(hits, CtHit, k).id;
            lines[id] += last[id] != i + 1;
            last[id] = i + 1;
        }
    }
    for (guint i = 0; i < n; i++) {
        if (frequency ? lines[i] > MOST_LINES : literals[i].len < 5) {
            print_error("anchor '%s': %s\n", literals[i].text,
                        frequency ? "stands in healthy logs" : "shorter than five bytes");
            bad++;
        }
    }
    ct_signatures_free(sigs);
    assert_int_equal(bad, 0);
}

static void long_enough(void **state)
{
    check(FALSE);
}

static void rare_enough(void **state)
{
    check(TRUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_enough),
        cmocka_unit_test(rare_enough),
    };
    return cmocka_run_group_tests_name("anchors", tests, NULL, NULL);
}
