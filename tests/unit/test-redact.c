/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collect/redact.h"

static const guint8 key[CT_REDACT_KEY] = {1, 2, 3, 4};

static char *clean(const char *text)
{
    g_autoptr(CtRedact) r = ct_redact_new(key);
    ct_redact_learn(r, CT_REDACT_USER, "annika");
    ct_redact_learn(r, CT_REDACT_HOST, "rack4-node17");
    ct_redact_look(r, text, strlen(text));
    return ct_redact_text(r, text, strlen(text), NULL);
}

/* What must not survive, and the line it stands in. */
static void test_secrets_go(void **state)
{
    static const struct {
        const char *line, *secret;
    } planted[] = {
        {"HF_TOKEN=hf_QwErTyUiOpAsDfGhJkLzXcVbNm", "hf_QwErTyUiOpAsDfGhJkLzXcVbNm"},
        {"WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef"},
        {"export AWS_SECRET_ACCESS_KEY='wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE'", "wJalrXUtnFEMI"},
        {"AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"},
        {"NGC_API_KEY=nvapi-abcdefghijklmnopqrstuvwxyz012345", "nvapi-abcdefghij"},
        {"POSTGRES_PASSWORD=tr0ub4dor&3", "tr0ub4dor"},
        {"PGPASS=s3same!", "s3same"},
        {"python serve.py --password hunter2-long --port 80", "hunter2-long"},
        {"./app --api-key=zzTopSecret99", "zzTopSecret99"},
        {"curl -H 'Authorization: Bearer abcdef0123456789abcdef'", "abcdef0123456789abcdef"},
        {"\"auth_token\": \"q9w8e7r6t5y4\"", "q9w8e7r6t5y4"},
        {"git clone https://bob:glpw12345678@git.example.org/x.git", "glpw12345678"},
        {"OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuvwxyz0123", "sk-proj-abcdefg"},
        {"token ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789"},
        {"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl", "eyJzdWIi"},
        {"/home/annika/models/x.onnx", "annika"},
        {"/home/zhang.wei/run.py", "zhang.wei"},
        {"C:\\Users\\Petra\\x.log", "Petra"},
        {"root@rack4-node17:~# ls", "rack4-node17"},
        {"mail to petra.k@example.org now", "petra.k"},
        {"mail to petra.k@example.org now", "example.org"},
        {"Nov 30 22:25:32 edge-box-3 kernel: NVRM: x", "edge-box-3"},
        {"2025-11-30T22:25:32+00:00 edge-box-4 kernel: x", "edge-box-4"},
        {"Linux lab-pc-9 5.15.0-91-generic #101-Ubuntu SMP x86_64", "lab-pc-9"},
        {"HOSTNAME=trainer-0a", "trainer-0a"},
        {"inet 192.168.17.4/24 brd 192.168.17.255", "192.168.17.4"},
        {"triton at 10.24.0.7, trt on 10.24.0.7", "10.24.0.7"},
        {"pool 10.24.0.7-10.24.0.90 of node", "10.24.0.7"},
        {"pool 10.24.0.7-10.24.0.90 of node", "10.24.0.90"},
        {"trt=10.24.0.7:8001", "10.24.0.7"},
        {"connect to 10.24.0.7 failed", "10.24.0.7"},
        {"NCCL INFO NET/Socket : Using [0]eth0:10.1.2.3<0>", "10.1.2.3"},
        {"MASTER_ADDR=172.20.3.4", "172.20.3.4"},
        {"server at 203.0.113.77:8000", "203.0.113.77"},
        {"inet6 fe80::5054:ff:fe12:3456/64", "fe80::5054"},
        {"listen [2400:cb00:2048:1::c629:d7a2]:80", "2400:cb00"},
        {"link/ether 52:54:00:ab:cd:ef brd ff:ff:ff:ff:ff:ff", "52:54:00:ab:cd:ef"},
        {"    Serial Number                         : 1652921047311", "1652921047311"},
        {"NVRM: GPU serial number is 0324018045603.", "0324018045603"},
        {"GPU 0: NVIDIA A100 (UUID: GPU-4f1c2d3e-5a6b-7c8d-9e0f-1a2b3c4d5e6f)", "4f1c2d3e"},
        {"MIG 1g.10gb Device 0: (UUID: MIG-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9)", "0a1b2c3d-4e5f"},
        {"0::/system.slice/docker-"
         "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.scope",
         "9f86d081884c"},
        {"/kubepods.slice/kubepods-pod1b2c3d4e_5f60_7182_93a4_b5c6d7e8f901.slice", "1b2c3d4e_5f60"},
        {"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabcd\n-----END RSA PRIVATE KEY-----", "MIIEow"},
        {"user annika started it", "annika"},
        {"curl -u bob:s3cretpw https://x.example.org", "s3cretpw"},
        {"sshpass -p Pl4nted! ssh a", "Pl4nted!"},
        {"AccountName=x;AccountKey=Zm9vYmFyYmF6cXV4Cg==", "Zm9vYmFy"},
        {"https://x.blob.example.org/c?sv=2022&sig=abcDEF0123456%2Bxyz", "abcDEF0123456"},
        {"post to https://hooks.slack.com/services/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",
         "zXcVbNmAs"},
        {"https://discord.com/api/webhooks/112233445566778899/aBcDeFgHiJkLmNoP0123456789", "aBcDeFgH"},
        {"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=Zk93kfm20dkcm3k2", "Zk93kfm20"},
        {"mysql -h db1 -uroot -pWinter7Rain shop", "Winter7Rain"},
        {"['mysqldump', '-uroot', '-pWinter7Rain']", "Winter7Rain"},
        {"redis-cli -a Winter7Rain ping", "Winter7Rain"},
        {"docker login -u bob -p Winter7Rain reg.example.org", "Winter7Rain"},
        {"sqlcmd -S db1 -U sa -P Winter7Rain", "Winter7Rain"},
        {"ldapsearch -x -D cn=admin -w Winter7Rain", "Winter7Rain"},
        {"server --key kq81LLmz72Tw --port 80", "kq81LLmz72Tw"},
        {"['serve.py', '--api-key', 'kq81LLmz72Tw']", "kq81LLmz72Tw"},
        {"oauth ya29.a0Xq81LLmz72TwbCdEfGhIjK", "a0Xq81LL"},
        {"charge with sk_live_9Kd83mDk2Lq0Zz71", "9Kd83mDk2"},
        {"bot 5566778899:AAGd83mDk2Lq0Zz71kq81LLmz72TwXyZabc", "AAGd83mDk2"},
        {"https://api.telegram.org/bot5566778899:AAGd83mDk2Lq0Zz71kq81LLmz72TwXyZabc/getMe",
         "AAGd83mDk2"},
        {"Driver={ODBC Driver 18};Server=db1;Uid=sa;Pwd=Winter7Rain;", "Winter7Rain"},
        {"UID=sa;PWD=Winter7Rain;", "Winter7Rain"},
        {"{\"auths\": {\"reg.example.org\": {\"auth\": \"Ym9iOldpbnRlclJhaW5z\"}}}", "Ym9iOldp"},
        {"aws_secret_access_key = kD83mDk2/Lq0Zz71kq81LLmz72Tw+yZab", "kD83mDk2"},
        {"GET /v1/x?access_token=kD83mDk2Lq0Zz71&page=2", "kD83mDk2Lq"},
        {"密码：Winter7Rain", "Winter7Rain"},
        {"数据库密码为 “Winter7Rain”", "Winter7Rain"},
        {"令牌 = Winter7Rain", "Winter7Rain"},
        {"0::/docker/7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730", "7d865e959b24"},
        {"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/docker"
         "/7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730,task_memcg=/docker/"
         "7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730,task=python3",
         "7d865e959b24"},
        {"/kubepods/cri-containerd-7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730.scope",
         "7d865e959b24"},
        {"container 7d865e959b24 exited with 137", "7d865e959b24"},
        {"CONTAINER_ID=7d865e959b24", "7d865e959b24"},
        {"HOSTNAME=7d865e959b24", "7d865e959b24"},
        {"7d865e959b246       0f1e2d3c4b5a6       2 hours ago   Running   serve", "7d865e959b246"},
        {"\"Id\": \"7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730\"", "7d865e959b24"},
        {"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset="
         "7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730,mems_allowed=0",
         "7d865e959b24"},
        {"curl -ubob:s3cretpw https://x.example.org", "s3cretpw"},
        {"app -token kD83mDk2Lq0Zz71 -v", "kD83mDk2Lq"},
        {"password：Winter7Rain", "Winter7Rain"},
        {"- name: DB_PASSWORD\n  value: Winter7Rain", "Winter7Rain"},
        {"\"name\": \"HF_TOKEN\",\n\"value\": \"kD83mDk2Lq0Zz71\"", "kD83mDk2Lq"},
        {"Authorization: token kD83mDk2Lq0Zz71", "kD83mDk2Lq"},
        {"curl -H 'Cookie: session=abc123; id=kD83mDk2Lq0Zz71' x", "kD83mDk2Lq"},
        {"machine db1 login bob password kD83mDk2Lq0Zz71", "kD83mDk2Lq"},
        {"redis://:kD83mDk2Lq0Zz71@db1:6379/0", "kD83mDk2Lq"},
        {"jdbc:mysql://db1/x?user=bob&password=kD83mDk2Lq0Zz71&ssl=1", "kD83mDk2Lq"},
        {"7d865e959b24   triton:24.05   \"/opt/serve\"   2 hours ago   Up 2 hours", "7d865e959b24"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(planted); i++) {
        g_autofree char *out = clean(planted[i].line);
        if (strstr(out, planted[i].secret))
            print_error("left in: %s\n", out);
        assert_null(strstr(out, planted[i].secret));
    }
}

/* Lines that must come out as they went in. */
static void test_values_stay(void **state)
{
    static const char *const lines[] = {
        "TensorRT 10.3.0.26 built with CUDA 12.5",
        "libnvinfer.so.10.3.0.26 => /usr/lib/x86_64-linux-gnu/libnvinfer.so.10.3.0.26",
        "ii  libcudnn8  8.9.7.29-1+cuda12.2 amd64",
        "ii  libnvinfer10 10.3.0.30-1+cuda12.5 arm64",
        "nvidia-cudnn-cu12==8.9.2.26",
        "tensorrt 10.0.1.6",
        "Version: 10.3.0.26",
        "TRT_VERSION=10.3.0.26",
        "TENSORRT_ROOT=/opt/TensorRT-10.3.0.26",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024",
        "VBIOS Version : 96.00.89.00.01",
        "Video BIOS: \t 92.00.a0.00.05",
        "GPU 00000000:3B:00.0",
        "/sys/bus/pci/devices/0000:3b:00.0/vendor: 0x10de",
        "NVRM: Xid (PCI:0000:17:00): 79, pid=1234, name=python, GPU has fallen off the bus.",
        "CPU@40.5C gpu@47.1C PMIC@100C 35%@729 VDD_IN 4976mW/4976mW",
        "memcpy@GLIBC_2.14 and foo@@CUDA_12",
        "getty@tty1.service loaded active running",
        "user@1000.service active",
        "max_new_tokens=512 num_tokens: 4096 TOKENIZERS_PARALLELISM=false",
        "PWD=/workspace OLDPWD=/tmp",
        "KEY_LENGTH=2048 token_limit=100000",
        "127.0.0.1:8000 0.0.0.0 ::1 localhost",
        "build-id=1f3a9c2b4d5e6f708192a3b4c5d6e7f801234567 size=1024",
        "sha256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "c10::cuda::CUDAException at::native::add std::vector<int>::push_back",
        "/home/ubuntu/app.py /home/nvidia/x /root/y",
        "12:34:56 up 61 days",
        "2024-01-01 12:00:00 INFO loader: ready",
        "serial8250: ttyS0 at I/O 0x3f8",
        "Serial: 8250/16550 driver, 4 ports",
        "R36 (release), REVISION: 4.7, GCID: 42132812, BOARD: generic",
        "nvidia-l4t-core 36.4.7-20250918154033",
        "RAM 3503/7337MB (lfb 7x1MB) SWAP 430/3668MB (cached 1MB) CPU [11%@729,13%@729]",
        "00000000-0000-0000-0000-000000000000",
        "deadbeef:cafe 0x7f1234567890",
        "AUTHOR=someone authors: several",
        "pass: 3 fail: 0",
        "docker run -u 1000:1000 --user 0:0 -p 8000:8000 image:tag",
        "[TRT] running pass: fuse_conv_relu",
        "eos_token: <|endoftext|> bos_token = '<s>' pad_token_id: 0",
        "model.json key: layers.0.weight",
        "NCCL_IB_PKEY=0 CUDA_DEVICE_ORDER=PCI_BUS_ID",
        "| Memory | Pass |",
        "GPU0 X NV18 NV18 SYS 0-47,96-143 0",
        "1 2 3.4 5.6.7 8.9.10",
        "nccl version 2.20.5+cuda12.4",
        "Driver Version: 535.161.08   CUDA Version: 12.2",
        "Linux version 6.18.5 (builder) (gcc 13.2.0) #1 SMP PREEMPT\nfile.version kernel version",
        "2025-11-30T22:25:32+00:00 version engine: built\nTensorRT version 10",
        "libnvinfer.so.10.3.0.30\n[INFO] 10.3.0.30",
        ">>> print(trt.__version__)\n10.13.3.9\nName: tensorrt\nVersion: 10.13.3.9",
        "inference server with TensorRT 10.13.3.9", "server version: 10.13.3.9",
        "docker run -p 8000:8000 -p8443:8443 nginx",
        "- name: MODEL_NAME\n  value: resnet50v2", "docker run -u1000:1000 -e A=b image:t2",
        "docker run -u app:video --user app:render image", "tool -units:metric",
        "gst-launch -token-count 5 -pass two-pass -key value",
        "usb usb1: SerialNumber: 3530000.xhci\ntegra-xusb 3530000.xusb: USB2 port 0",
        "3130000.serial: ttyTHS3 at MMIO 0x3130000 (irq = 40)",
        "mysql -P 3306 -u root", "mkdir -p build/a7 && ssh -p 2222 x", "zip -r a.zip b",
        "trtexec --key server.pem --key=/etc/ssl/a.key",
        "sha256:7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730",
        "image sha256:7d865e959b24 pulled by docker", "commit 7d865e959b24 of cuda-samples",
        "build-id 7d865e959b24", "密码错误", "密钥文件：/etc/ssl/a.key", "pwd=/workspace Pwd: /tmp",
        "12345678:99 1234567890:12", "GET /v2/models?key=name&page=2", "\"auth\": \"none\"",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *out = clean(lines[i]);
        assert_string_equal(out, lines[i]);
    }
}

static void test_same_thing_same_stand_in(void **state)
{
    g_autofree char *out = clean("ssh petra@lab-12\n/home/petra/a\nGPU-4f1c2d3e-5a6b-7c8d-9e0f-"
                                 "1a2b3c4d5e6f\nGPU-4f1c2d3e-5a6b-7c8d-9e0f-1a2b3c4d5e6f\n");
    g_auto(GStrv) lines = g_strsplit(out, "\n", -1);
    g_autofree char *user = g_strndup(lines[0] + 4, strlen("user-00000000"));
    assert_true(g_str_has_prefix(user, "user-"));
    assert_non_null(strstr(lines[1], user));
    assert_string_equal(lines[2], lines[3]);
    assert_true(g_str_has_prefix(lines[2], "GPU-"));
    assert_int_equal(strlen(lines[2]), 40);
}

/* A case that was redacted when it was taken is shared later: nothing changes twice. */
static void test_twice_is_once(void **state)
{
    const char *text = "ssh petra@lab-12 HF_TOKEN=hf_QwErTyUiOpAsDfGhJkLzXcVbNm\n"
                       "inet 192.168.17.4/24 52:54:00:ab:cd:ef fe80::5054:ff:fe12:3456\n";
    g_autofree char *once = clean(text), *twice = clean(once);
    assert_string_equal(once, twice);
}

static void same_again(const char *text, const char *const *kept)
{
    const guint8 other[CT_REDACT_KEY] = {9};
    g_autofree char *once = clean(text), *twice = clean(once);
    assert_string_equal(once, twice);
    g_autoptr(CtRedact) r = ct_redact_new(other);
    ct_redact_look(r, once, strlen(once));
    g_autofree char *elsewhere = ct_redact_text(r, once, strlen(once), NULL);
    assert_string_equal(once, elsewhere);
    assert_int_equal(ct_redact_count(r), 0);
    for (; *kept; kept++)
        assert_null(strstr(once, *kept));
}

/* Also what keeps its shape is known again, by any key. */
static void test_shapes_are_known_again(void **state)
{
    static const char *const kept[] = {"4f1c2d3e", "0324018045603", "7d865e959b24", "1b2c3d4e", NULL};
    same_again("GPU-4f1c2d3e-5a6b-7c8d-9e0f-1a2b3c4d5e6f MIG-GPU-4F1C2D3E-5A6B-7C8D-9E0F-1A2B3C4D5E6F\n"
               "Serial Number : 0324018045603\nserial: 1421519A12345\n"
               "/docker/7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730\n"
               "container 7d865e959b24\nkubepods-pod1b2c3d4e_5f60_7182_93a4_b5c6d7e8f901.slice\n"
               "USER=petrosyan HOSTNAME=lab-12 kg@lab-12\n",
               kept);
}

/* The short id begins the long one, in the stand-ins too; an id of a pod is one in both spellings. */
static void test_forms_of_one_thing(void **state)
{
    g_autofree char *out =
        clean("/docker/7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730\n"
              "container 7d865e959b24\n"
              "pod1b2c3d4e_5f60_7182_93a4_b5c6d7e8f901\npod1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901\n");
    g_auto(GStrv) lines = g_strsplit(out, "\n", -1);
    assert_int_equal(strlen(lines[0]), 8 + 64);
    assert_memory_equal(lines[0] + 8, lines[1] + 10, 12);
    assert_string_equal(g_strdelimit(lines[2], "_", '-'), lines[3]);
}

/* A value of four numbers is what its key says. */
static void test_versions_by_key(void **state)
{
    static const struct {
        const char *key, *value;
        gboolean stays;
    } facts[] = {
        {"version.tensorrt", "10.3.0.30", TRUE},   {"version.tensorrt", "10.13.3.9", TRUE},
        {"package.libnvinfer10", "10.3.0.30", TRUE}, {"module-version.x", "192.168.4.2", TRUE},
        {"env.MASTER", "10.3.0.77", FALSE},        {NULL, "10.3.0.77", FALSE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(facts); i++) {
        g_autoptr(CtRedact) r = ct_redact_new(key);
        gsize len = strlen(facts[i].value);
        ct_redact_look_at(r, facts[i].key, facts[i].value, len);
        g_autofree char *out = ct_redact_value(r, facts[i].key, facts[i].value, len, NULL);
        assert_int_equal(strcmp(out, facts[i].value) == 0, facts[i].stays);
        /* What was a version once is one wherever no word says otherwise. */
        g_autofree char *line = g_strconcat("[INFO] ", facts[i].value, NULL);
        g_autofree char *bare = ct_redact_text(r, line, strlen(line), NULL);
        assert_int_equal(strcmp(bare, line) == 0, facts[i].stays);
        g_autofree char *peer = g_strconcat("connect to ", facts[i].value, NULL);
        g_autofree char *gone = ct_redact_text(r, peer, strlen(peer), NULL);
        assert_string_not_equal(gone, peer);
    }
}

/* A host that is called as the vocabulary is costs the case more than its name tells. */
static void test_vocabulary_is_no_host(void **state)
{
    g_autoptr(CtRedact) r = ct_redact_new(key);
    const char *text = "HOSTNAME=zram\nzram is full";
    ct_redact_look(r, text, strlen(text));
    ct_redact_look_at(r, "zram.size", "4", 1);
    g_autofree char *out = ct_redact_text(r, text, strlen(text), NULL);
    assert_string_equal(out, text);
}

/* A name that is given away late goes from what stands before it too. */
static void test_learns_from_behind(void **state)
{
    g_autofree char *out = clean("started by petrosyan\nUSER=petrosyan\n");
    assert_null(strstr(out, "petrosyan"));
}

static void test_keys_differ(void **state)
{
    const guint8 other[CT_REDACT_KEY] = {9};
    g_autoptr(CtRedact) a = ct_redact_new(key), b = ct_redact_new(other);
    const char *text = "/home/petra/x";
    g_autofree char *x = ct_redact_text(a, text, strlen(text), NULL);
    g_autofree char *y = ct_redact_text(b, text, strlen(text), NULL);
    assert_string_not_equal(x, y);
}

static void test_bytes_of_any_kind(void **state)
{
    g_autoptr(CtRedact) r = ct_redact_new(key);
    g_autofree char *noise = g_malloc(65536);
    guint32 seed = 7;
    for (int i = 0; i < 65536; i++)
        noise[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
    ct_redact_look(r, noise, 65536);
    g_autofree char *out = ct_redact_text(r, noise, 65536, NULL);
    assert_non_null(out);
    gsize len;
    g_autofree char *none = ct_redact_text(r, "", 0, &len);
    assert_int_equal(len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets_go),
        cmocka_unit_test(test_values_stay),
        cmocka_unit_test(test_same_thing_same_stand_in),
        cmocka_unit_test(test_twice_is_once),
        cmocka_unit_test(test_shapes_are_known_again),
        cmocka_unit_test(test_forms_of_one_thing),
        cmocka_unit_test(test_versions_by_key),
        cmocka_unit_test(test_vocabulary_is_no_host),
        cmocka_unit_test(test_learns_from_behind),
        cmocka_unit_test(test_keys_differ),
        cmocka_unit_test(test_bytes_of_any_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
