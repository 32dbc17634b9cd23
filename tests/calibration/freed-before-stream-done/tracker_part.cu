void step(FrameCtx &f) {
    cudaMallocAsync(&f.d_tmp, f.tmp_bytes, f.sB);
    cudaEventRecord(f.ready, f.sB);
    cudaStreamWaitEvent(f.sA, f.ready, 0);
    iou_rows<<<f.blocks, 128, 0, f.sA>>>(f.d_box, f.d_tmp, f.n, f.d_mask);
}   // ~FrameCtx(): cudaFreeAsync(d_tmp, sB);
