__global__ void causal_pad_cl(const bf16* __restrict__ x, bf16* __restrict__ y, int T, int H, int W, int C, int pad) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  int total = (T + pad) * H * W * C;
  if (idx >= total && total > 0) return;
  int c = idx % C; int p = idx / C;
  int w = p % W; p /= W; int h = p % H; int t = p / H;
  int ts = max(t - pad, 0);
  y[idx] = x[((ts * H + h) * W + w) * C + c];
}
