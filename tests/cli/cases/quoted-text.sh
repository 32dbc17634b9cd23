# SPDX-License-Identifier: Apache-2.0
# Text that only speaks of an error is no error; a block of a log that a person pasted is.
fail() { echo "$1"; exit 1; }
nothing() { # FILE
    "$CUTRIAGE" diagnose --json "$1" >out
    case $? in 0 | 3) ;; *) fail "$1: taken at its word" ;; esac
}
found() { # FILE CAUSE
    "$CUTRIAGE" diagnose --json "$1" >out
    [ $? -eq 1 ] || fail "$1: not found"
    grep -q "\"cause\": \"$2\"" out || fail "$1: no $2"
}
message='CUDA error: an illegal memory access was encountered'
cat >comments.txt <<EOF
/* What the driver says, and what we make of it. */
// $message
// RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB
int from_driver(int code)
{
    if (code == 700)
        return -5; /* $message */
    return -1; // CUDA error: misaligned address
}
EOF
nothing comments.txt
cat >restart.sh <<EOF
#!/bin/sh
# When the log says "$message" the unit is restarted.
# NVRM: Xid (PCI:0000:5e:00): 79, pid=77, name=serve, GPU has fallen off the bus.
grep -q "$message" /var/log/serve.log && systemctl restart serve
EOF
nothing restart.sh
cat >history.txt <<EOF
commit 81aa03c2de7f0c6a7a1d6b1a0c2b9f7fe0d31c44
Author: Mei <mei@example.org>
Date:   Wed Apr 2 09:00:00 2025 +0200

    Report $message with the name of the kernel

    Also NCCL WARN lines, and NVRM: Xid (PCI:0000:5e:00): 79, GPU has fallen off the bus.
EOF
nothing history.txt
cat >oneline.txt <<EOF
81aa03c Report $message
77bc1de Catch CUDA out of memory. Tried to allocate more than is free
0a9b8c7 Merge branch 'xid-79'
EOF
nothing oneline.txt
cat >tests.txt <<EOF
test_text_of_700[$message] (suite.Errors) ... ok
suite/test_oom.py::test_says[RuntimeError: CUDA out of memory. Tried to allocate 1 GiB] PASSED [ 66%]
[ RUN      ] Text.$message
[       OK ] Text.$message (1 ms)
ok 4 - NVRM: Xid (PCI:0000:5e:00): 79, pid=77, name=serve, GPU has fallen off the bus.
 7/9 Test  #7: CUDA error: misaligned address .......   Passed    0.31 sec
EOF
nothing tests.txt
echo '2025-04-02 08:11:13 [信息] 测试用例 “显存不足后恢复” 通过' >tests-zh.txt
nothing tests-zh.txt
echo "2025-04-02T08:11:13.1Z suite/test_oom.py::test_says[RuntimeError: $message] PASSED [ 66%]" >ci.txt
nothing ci.txt
cat >guide.md <<EOF
# Errors

## $message

\`$message\` means that a kernel left its buffer.
If you see RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB, ask for less:

\`\`\`
RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB
\`\`\`

| Xid | text |
| --- | --- |
| 79 | GPU has fallen off the bus |
EOF
# The sentence above the block says that it shows what may happen.
nothing guide.md
echo "What does $message mean?" >question.txt
nothing question.txt
echo "请问 $message 是什么意思？" >question-zh.txt
nothing question-zh.txt
# Output of ctest and go, grep over sources, changes, rules of a monitor, a manual.
cat >ctest.txt <<EOF
    Start 2: $message
2/3 Test #2: $message ................   Passed    0.02 sec
EOF
nothing ctest.txt
cat >grep.txt <<EOF
src/errors.cc:12:    case 700: return "$message";
src/errors.py:33:    raise RuntimeError("$message")
EOF
nothing grep.txt
cat >changes.txt <<EOF
2.1.0
- fix $message when the batch is empty
- handle RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB
EOF
nothing changes.txt
cat >alerts.yaml <<EOF
alerts:
  # NVRM: Xid (PCI:0000:5e:00): 79, GPU has fallen off the bus
  - name: faults
    pattern: "$message"
EOF
nothing alerts.yaml
cat >manual.rst <<EOF
CUDA out of memory
------------------

The text RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB tells how much was asked for.
EOF
nothing manual.rst
# A patch in a mail, JUnit without a failure, what a program says of itself.
printf 'Subject: [PATCH] fix %s\n\nSeen as RuntimeError: %s\n---\n a.cu | 2 +-\n' "$message" \
    "$message" >mail.txt
nothing mail.txt
printf '<testsuite failures="0">\n<testcase name="%s" time="0.1"/>\n</testsuite>\n' "$message" >junit.xml
nothing junit.xml
printf '$ serve --help\n  --retry-on TEXT  as in "%s"\n$ strings libserve.so\n%s\n' "$message" \
    "$message" >help.txt
nothing help.txt
printf '$ serve --model a\n%s\n' "RuntimeError: $message" >run.txt
found run.txt illegal-address-kernel
# A logger that prints an exception as Python writes it is no program text.
echo "ERROR 10-09 13:21:24 engine.py:165] RuntimeError(\"$message\")" >logger.log
found logger.log illegal-address-kernel
# A post with a log in it: in a block, and without one.
cat >post.md <<EOF
### Dies after some hundred requests

Since the last update the server does not live long. What can I do?

- GPU: H100

Why does it end so?

\`\`\`
2025-04-02 08:11:13 ERROR worker 3 failed
Traceback (most recent call last):
  File "serve.py", line 12, in run
RuntimeError: $message
\`\`\`
EOF
found post.md illegal-address-kernel
# What a person lists of their own case is a claim, and counts; a guide in the same form does not.
cat >ticket.md <<EOF
# Inference dies

My server ran for months, since Monday it does not.

- Symptom: \`$message\` after some 300 requests
- GPU: L40S
EOF
found ticket.md illegal-address-kernel
sed -e '/^My/d' -e 's/Inference dies/Symptoms and remedies/' ticket.md >remedies.md
nothing remedies.md
cat >post.txt <<EOF
Since the last update the server ends with this:

RuntimeError: $message
CUDA kernel errors might be asynchronously reported at some other API call

Any idea?
EOF
found post.txt illegal-address-kernel
# A log that also holds a passed test is still a log.
cat >mixed.txt <<EOF
[       OK ] Load.Model (12 ms)
RuntimeError: $message
EOF
found mixed.txt illegal-address-kernel
