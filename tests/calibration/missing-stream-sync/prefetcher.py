class Prefetcher:
    def __init__(self, loader):
        self.it = iter(loader); self.side = torch.cuda.Stream(); self._load()
    def _load(self):
        try: x, y = next(self.it)
        except StopIteration: self.nxt = None; return
        with torch.cuda.stream(self.side):
            x = x.pin_memory().to("cuda", non_blocking=True)
            y = y.pin_memory().to("cuda", non_blocking=True)
            self.nxt = (normalize_(x), y)
    def next(self):
        batch = self.nxt
        self._load()
        return batch
