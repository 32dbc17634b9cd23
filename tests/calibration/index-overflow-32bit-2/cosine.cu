__global__ void cosine_scale(float* __restrict__ s, const float* __restrict__ norm, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    int k = row * n + col;
    s[k] /= norm[row] * norm[col];
}
