// from line 16
__global__ void hist256(const unsigned char* img, unsigned int* out, int n) {
  __shared__ unsigned int bins[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[img[i]], 1u);
  // merge into the block's bins of the previous tile
  bins[threadIdx.x & 255] += carry(threadIdx.x);

  // write back
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    atomicAdd(&out[b], bins[b]);
}
