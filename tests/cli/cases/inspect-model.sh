# SPDX-License-Identifier: Apache-2.0
# inspect of engines and models says who they are; what only has the name says what it is instead.
printf 'ftrt\0\0\0\0AAAAAAAABBBBBBBB\012\015\003\011rest of the plan' >net.plan
printf 'version https://git-lfs.github.com/spec/v1\n' >lfs.engine
printf 'ftrt\0\0' >short.engine
cp "$SOURCE/tests/fuzz/corpus/model/net.onnx" net.onnx
"$CUTRIAGE" inspect net.plan net.onnx >out || exit 1
grep -qx "built by TensorRT: 10.13.3.9" out || { cat out; exit 1; }
grep -qx "opset: ai.onnx 17" out && grep -qx "input: images float32 \[batch,3,64,64\] dynamic" out || { cat out; exit 1; }
"$CUTRIAGE" inspect lfs.engine | grep -q "problem: .*Git LFS pointer" || exit 1
"$CUTRIAGE" inspect short.engine | grep -q "problem: cut" || exit 1
"$CUTRIAGE" inspect --json net.onnx >out.json && grep -q '"cutriage.model/1"' out.json || exit 1
"$CUTRIAGE" inspect --show facts --csv net.plan | grep -q "model.tensorrt,10.13.3.9" || exit 1
cat >versions.txt <<'X'
$ dpkg -l libnvinfer10
ii  libnvinfer10   10.7.0.23-1+cuda12.6   amd64   TensorRT runtime libraries
X
"$CUTRIAGE" diagnose --json net.plan versions.txt >diagnosis
grep -q trt-engine-version-mismatch diagnosis || { echo "the header is not compared"; exit 1; }
