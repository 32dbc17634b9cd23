size_t DCNv2PluginDynamic::getWorkspaceSize(const PluginTensorDesc* in, int nbIn, const PluginTensorDesc* out, int nbOut) const noexcept
{
    const int c = in[0].dims.d[1], h = out[0].dims.d[2], w = out[0].dims.d[3];
    return sizeof(float) * c * mKernel.x * mKernel.y * h * w;   // columns
}
int DCNv2PluginDynamic::enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs, void* const* outputs, void* workspace, cudaStream_t stream) noexcept
{
    const int n = in[0].dims.d[0];
    im2col_batch(stream, inputs, (float*)workspace, n, mKernel, mPad);   // all n images at once
    gemm_batch(mCublas, (float*)workspace, outputs, n);
    return 0;
}
