// excerpt, request path
void Matcher::submit(const Request& rq, Slot& s) {
  float* scratch = nullptr;
  CK(cudaMallocAsync(&scratch, rq.n * kDim * sizeof(float), s.alloc_stream));
  CK(cudaEventRecord(s.allocated, s.alloc_stream));
  CK(cudaStreamWaitEvent(s.stream, s.allocated));
  gather<<<blocks(rq.n), 256, 0, s.stream>>>(rq.ids, table_, scratch, rq.n);
  score<<<blocks(rq.n), 256, 0, s.stream>>>(scratch, rq.query, s.out, rq.n);
  CK(cudaFreeAsync(scratch, s.alloc_stream));          // since build 1181, was s.stream
  CK(cudaMemcpyAsync(s.host, s.out, rq.n * 4, cudaMemcpyDeviceToHost, s.stream));
  CK(cudaEventRecord(s.done, s.stream));
}
// pool: release threshold 0
