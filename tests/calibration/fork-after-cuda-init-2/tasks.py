import cupy as cp
from celery import Celery
app = Celery("sigproc", broker="redis://127.0.0.1/3")

# warm-up so that the first request is not slow (added 2024-11-18)
_w = cp.fft.rfft(cp.zeros(1 << 20, dtype=cp.float32)); cp.cuda.Device(0).synchronize()

@app.task
def spectrum(samples):
    x = cp.asarray(samples)
    return cp.abs(cp.fft.rfft(x)).get().tolist()
